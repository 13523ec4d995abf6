package mobilebert.runtime;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** Promise: the same card, probability and label as the Python runtime; a changed folder is refused. */
public final class ArtefactTest {
  @Rule public final TemporaryFolder temporary = new TemporaryFolder();

  @Test
  public void probabilitiesAndLabelsEqualThePythonRuntime() throws Exception {
    for (Map<String, Object> row : Golden.rows("decisions.json")) {
      File folder = temporary.newFolder();
      Files.writeText(new File(folder, "io.json"), Json.write(row.get("card")));
      ArtefactCard card = ArtefactCard.read(folder);
      double[] logits = Golden.doubles(row.get("logits"));
      float[] floats = new float[logits.length];
      for (int i = 0; i < floats.length; i++) {
        floats[i] = (float) logits[i];
      }
      float got = card.decision.score(floats, (String) row.get("text_a"), (String) row.get("text_b"));
      double expected = Golden.number(row.get("probability"));
      assertEquals(expected, got, Math.ulp((float) expected));
      assertEquals(row.get("label"), card.decision.label((float) expected));
    }
  }

  @Test
  public void bucketsAreRead() throws Exception {
    File folder = temporary.newFolder();
    Map<String, Object> card = card();
    widen(card);
    card.put("buckets", Json.parse("[{\"seq_len\": 16, \"signature\": \"s16\"}, {\"seq_len\": 32, \"signature\": null}]"));
    Files.writeText(new File(folder, "io.json"), Json.write(card));
    ArtefactCard read = ArtefactCard.read(folder);
    assertArrayEquals(new int[] {16, 32}, read.lengths());
    assertEquals("s16", read.buckets().get(0).signature);
    assertNull(read.buckets().get(1).signature);
    assertEquals(32, read.seqLen);
  }

  @Test
  public void bucketsThatCannotBeAreRefused() throws Exception {
    File folder = temporary.newFolder();
    Map<String, Object> card = card();
    widen(card);
    for (String lengths : new String[] {"32, 16", "16, 16, 32", "16", "2, 32", ""}) {
      String buckets = "[" + lengths.replaceAll("(\\d+)", "{\"seq_len\": $1, \"signature\": null}") + "]";
      card.put("buckets", Json.parse(buckets));
      Files.writeText(new File(folder, "io.json"), Json.write(card));
      assertTrue(lengths, messageOf(folder, false).contains("export the artefact again"));
    }
  }

  @Test
  public void aCardOfAnotherFormatIsRefused() throws Exception {
    File folder = temporary.newFolder();
    Map<String, Object> card = card();
    for (int format : new int[] {0, 2, 8}) {
      card.put("format", format);
      Files.writeText(new File(folder, "io.json"), Json.write(card));
      assertTrue(messageOf(folder, false).contains("format is not 1, which this version reads"));
    }
  }

  @Test
  public void aLabelMayHoldAnyCharacterThatUnicodeWillAssign() throws Exception {
    File folder = temporary.newFolder();
    Map<String, Object> card = card();
    // Emoji of Unicode 9 to 16: an Android 8 knows the first alone; and one that no version has yet.
    for (int code : new int[] {0x1F922, 0x1F97A, 0x1FAE0, 0x1FAE9, 0x1FAFF}) {
      String label = new String(Character.toChars(code));
      card.put("labels", java.util.Arrays.asList("different", label));
      Files.writeText(new File(folder, "io.json"), Json.write(card));
      assertEquals(label, ArtefactCard.read(folder).labels.get(1));
    }
    for (int code : new int[] {0x7, 0x85, 0xA0, 0xAD, 0x200B, 0x2028, 0xE000, 0xFFFE, 0xE0001, 0x10FFFF}) {
      card.put("labels", java.util.Arrays.asList("different", "a" + new String(Character.toChars(code)) + "b"));
      Files.writeText(new File(folder, "io.json"), Json.write(card));
      assertTrue(messageOf(folder, false).contains("printable characters"));
    }
  }

  @Test
  public void anOrderOfTextsIsReadWhereItFits() throws Exception {
    for (Map<String, Object> row : Golden.rows("sorted_cards.json")) {
      File folder = temporary.newFolder();
      Files.writeText(new File(folder, "io.json"), Json.write(row.get("card")));
      String says = (String) row.get("says");
      if (says == null) {
        assertTrue(ArtefactCard.read(folder).tokenizer.sortTexts);
        assertTrue(ArtefactCard.read(folder).symmetric());
        assertEquals(row.get("spelling"), ArtefactCard.read(folder).tokenizer.spelling);
      } else {
        assertTrue(says, messageOf(folder, false).contains(says));
      }
    }
  }

  @Test
  public void aLengthShiftIsThereWholeOrRefused() throws Exception {
    File folder = temporary.newFolder();
    Map<String, Object> card = card();
    card.remove("length_shift");
    Files.writeText(new File(folder, "io.json"), Json.write(card));
    assertTrue(messageOf(folder, false).contains("length_shift is missing"));
    card.put("length_shift", Json.parse("{\"quartiles\": [0.1, 0.2, 0.5], \"added\": [1, 2, 3]}"));
    Files.writeText(new File(folder, "io.json"), Json.write(card));
    assertTrue(messageOf(folder, false).contains("added is not 4 numbers"));
  }

  @Test
  public void aFieldOfAnotherTypeIsNamed() throws Exception {
    final File folder = temporary.newFolder();
    Map<String, Object> card = card();
    card.put("seq_len", "many");
    Files.writeText(new File(folder, "io.json"), Json.write(card));
    assertTrue(messageOf(folder, false).contains("seq_len"));
    card.put("seq_len", 16);
    card.put("model_file", "../model.tflite");
    Files.writeText(new File(folder, "io.json"), Json.write(card));
    assertTrue(messageOf(folder, false).contains("target and model_file"));
  }

  @Test
  public void checksumsCoverTheModelAndFindAChangedFile() throws Exception {
    File folder = temporary.newFolder();
    Files.writeText(new File(folder, "io.json"), Json.write(card()));
    assertTrue(messageOf(folder, true).contains("SHA256SUMS is missing"));
    StringBuilder sums = new StringBuilder();
    for (String name : new String[] {"vocab.txt", "tokenizer.json", "model.tflite"}) {
      Files.writeText(new File(folder, name), name);
    }
    for (String name : new String[] {"io.json", "vocab.txt", "tokenizer.json"}) {
      sums.append(Checksums.sha256(new File(folder, name))).append("  ").append(name).append('\n');
    }
    Files.writeText(new File(folder, "SHA256SUMS"), sums.toString());
    assertTrue(messageOf(folder, true).contains("does not list model.tflite"));
    sums.append(Checksums.sha256("model.tflite")).append("  model.tflite\n");
    Files.writeText(new File(folder, "SHA256SUMS"), sums.toString());
    Checksums.verify(folder);
    Files.writeText(new File(folder, "model.tflite"), "Weights");
    assertTrue(messageOf(folder, true).contains("model.tflite was changed"));
    assertEquals("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", Checksums.sha256("abc"));
  }

  private static Map<String, Object> card() throws IOException {
    List<Map<String, Object>> rows = Golden.rows("decisions.json");
    return Json.parseObject(Json.write(rows.get(0).get("card")));
  }

  /** Another length than the vectors' 16, in every field that says it. */
  private static void widen(Map<String, Object> card) throws IOException {
    card.put("seq_len", 32);
    card.put("inputs", Json.parse(Json.write(card.get("inputs")).replace("[1,16]", "[1,32]")));
  }

  private static String messageOf(final File folder, final boolean sums) {
    return assertThrows(
            IOException.class,
            new ThrowingRunnable() {
              @Override
              public void run() throws IOException {
                if (sums) {
                  Checksums.verify(folder);
                } else {
                  ArtefactCard.read(folder);
                }
              }
            })
        .getMessage();
  }
}
