package mobilebert.runtime;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import android.content.Context;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** Promise: the second start of an app reads texts as the first, from a file that nothing else can be taken for. */
public final class PreparedFileTest {
  private static final String ARTEFACT = "artefact";
  private static final int DAMAGES = 30;

  @Rule public final TemporaryFolder temporary = new TemporaryFolder();

  private File folder;
  private File kept;

  @Before
  public void write() throws Exception {
    folder = folder("wordpiece", temporary.newFolder());
    kept = new File(temporary.newFolder(), "prepared");
  }

  /** An artefact's tokenizer, words and card; it corrects spelling. */
  private static File folder(String tokenizer, File folder) throws IOException {
    assertTrue(folder.isDirectory() || folder.mkdirs());
    for (String name : new String[] {"tokenizer.json", "vocab.txt"}) {
      copy(Golden.file("tokenizers/" + tokenizer + "/" + name), new File(folder, name));
    }
    copy(Golden.file("spelling/spelling.txt"), new File(folder, "spelling.txt"));
    String card = Json.write(Golden.rows("decisions.json").get(0).get("card"));
    Files.writeText(new File(folder, "io.json"), card.replace("\"spelling\":null", "\"spelling\":\"spelling.txt\""));
    return folder;
  }

  private static void copy(File from, File to) throws IOException {
    Files.writeText(to, Files.readText(from));
  }

  private TextEncoder read() throws IOException {
    return TextEncoder.read(folder, ArtefactCard.read(folder), kept, ARTEFACT);
  }

  /** No start may look at these again. */
  private void spoilSources() throws IOException {
    Files.writeText(new File(folder, "tokenizer.json"), "{");
    Files.writeText(new File(folder, "spelling.txt"), "!");
  }

  private static void compare(TextEncoder expected, TextEncoder found) throws IOException {
    List<Map<String, Object>> rows = Golden.rows("spelling_pairs.json");
    for (Map<String, Object> row : rows.subList(0, 200)) {
      String a = (String) row.get("a");
      String b = (String) row.get("b");
      assertArrayEquals(a, expected.encode(a, b, 64).inputIds, found.encode(a, b, 64).inputIds);
    }
    String odd = "[MASK] caf\u00e9 [CLS]\u4e2d tommorow<mask>";
    assertArrayEquals(expected.encode(odd, null, 64).inputIds, found.encode(odd, null, 64).inputIds);
  }

  @Test
  public void theSecondStartReadsTheFileAndNotItsSources() throws Exception {
    for (String tokenizer : new String[] {"wordpiece", "wordpiece-masked", "wordpiece-early"}) {
      folder = folder(tokenizer, temporary.newFolder());
      TextEncoder expected = TextEncoder.read(folder, ArtefactCard.read(folder));
      assertTrue(!kept.exists() || kept.delete());
      compare(expected, read());
      spoilSources();
      compare(expected, read());
    }
  }

  @Test
  public void aFileOfAnotherArtefactIsNotTaken() throws Exception {
    read();
    assertNotNull(PreparedFile.read(kept, ARTEFACT));
    assertNull(PreparedFile.read(kept, "another"));
    spoilSources();
    final ArtefactCard card = ArtefactCard.read(folder);
    IOException error =
        assertThrows(
            IOException.class,
            new ThrowingRunnable() {
              @Override
              public void run() throws IOException {
                TextEncoder.read(folder, card, kept, "another");
              }
            });
    assertTrue(error.getMessage(), error.getMessage().contains("tokenizer.json"));
  }

  @Test
  public void aDamagedFileIsMadeAgain() throws Exception {
    TextEncoder expected = read();
    byte[] whole = Files.readBytes(kept);
    Random draw = new Random(1);
    for (int i = 0; i < DAMAGES; i++) {
      byte[] damaged = java.util.Arrays.copyOf(whole, i % 3 == 0 ? draw.nextInt(whole.length) : whole.length);
      if (i % 3 != 0) {
        damaged[i % 3 == 1 ? draw.nextInt(64) : draw.nextInt(whole.length)] ^= (byte) (1 << draw.nextInt(8));
      }
      writeBytes(kept, damaged);
      assertNull("damage " + i, PreparedFile.read(kept, ARTEFACT));
    }
    compare(expected, read());
    assertArrayEquals(whole, Files.readBytes(kept));
    assertEquals("nothing else stays", 1, kept.getParentFile().list().length);
  }

  private static void writeBytes(File file, byte... bytes) throws IOException {
    try (FileOutputStream stream = new FileOutputStream(file)) {
      stream.write(bytes);
    }
  }

  @Test
  public void anAppsSecondStartIsTheSameAndAnUpdateMakesAnother() throws Exception {
    File assets = temporary.newFolder();
    Context context = new Context(assets, temporary.newFolder());
    File packed = folder("wordpiece", new File(assets, "artefact"));
    seal(packed, "weights");
    String[] first = rows(context);
    File copy = AssetFolders.unpack(context, "artefact");
    assertTrue(AssetFolders.kept(copy).isFile());
    assertArrayEquals(first, rows(context));
    Files.writeText(new File(packed, "spelling.txt"), "moon\nstar\n");
    seal(packed, "other weights");
    String[] updated = rows(context);
    assertFalse("the old list is not used", updated[0].equals(first[0]));
    assertFalse(AssetFolders.kept(copy).exists());
  }

  private static void seal(File folder, String weights) throws IOException {
    Files.writeText(new File(folder, "model.tflite"), weights);
    StringBuilder sums = new StringBuilder();
    for (String name : new String[] {"io.json", "model.tflite", "spelling.txt", "tokenizer.json", "vocab.txt"}) {
      sums.append(Checksums.sha256(new File(folder, name))).append("  ").append(name).append('\n');
    }
    Files.writeText(new File(folder, "SHA256SUMS"), sums.toString());
  }

  /** What an app that opens the artefact reads in some texts. */
  private static String[] rows(Context context) {
    try (Matcher matcher = Matcher.load(context, "artefact", new ModelOptions().backend(new Ids()))) {
      return new String[] {"" + matcher.score("the wether tommorow", "weather"), "" + matcher.score("moon", "stars")};
    }
  }

  /** Answers that tell the ids. */
  private static final class Ids implements Backend, Network {
    @Override
    public Network open(File folder, ArtefactCard card, int threads) {
      return this;
    }

    @Override
    public String runtime() {
      return "ids";
    }

    @Override
    public float[][] run(TextEncoder.Encoded input) {
      return new float[][] {{0, java.util.Arrays.hashCode(input.inputIds) % 1000 / 1000f}};
    }

    @Override
    public void close() {}
  }
}
