package mobilebert.runtime;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CancellationException;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** Promise: on any line, the ids and the characters of each token that `tokenizers` gives for the same tokenizer.json. */
public final class TokenizerTest {
  @Rule public final TemporaryFolder temporary = new TemporaryFolder();

  @Test
  public void wordPieceEqualsThePythonTokenizer() throws Exception {
    compare("wordpiece");
    compare("wordpiece-masked");
    compare("wordpiece-early");
  }

  @Test
  public void casedWordPieceEqualsThePythonTokenizer() throws Exception {
    compare("wordpiece-cased");
  }

  @Test
  public void byteLevelBpeEqualsThePythonTokenizer() throws Exception {
    compare("roberta");
    compare("gpt2");
    compare("untrimmed");
    compare("no-regex");
  }

  @Test
  public void aTokenizerThatThisLibraryDoesNotHaveIsRefused() throws Exception {
    assertTrue(refusal("roberta", "\"use_regex\":true", "\"use_regex\":1").contains("use_regex"));
    String split = "\"pre_tokenizer\":{\"type\":";
    assertTrue(refusal("roberta", split + "\"ByteLevel\"", split + "\"Whitespace\"").contains("not ByteLevel alone"));
    assertTrue(refusal("roberta", "\"normalizer\":null", "\"normalizer\":{\"type\":\"NFC\"}").contains("normalizer"));
    assertTrue(refusal("roberta", "\"dropout\":null", "\"dropout\":0.1").contains("dropout"));
    assertTrue(refusal("roberta", "\"single_word\":false", "\"single_word\":true").contains("single_word"));
    assertTrue(refusal("wordpiece", "\"lowercase\":true", "\"lowercase\":false").contains("lower-casing"));
    assertTrue(refusal("unigram", "", "").contains("unigram"));
  }

  @Test
  public void aVocabularyWhoseLinesEndAsOnWindowsIsRefusedAsByPython() throws Exception {
    final File folder = temporary.newFolder();
    Files.writeText(new File(folder, "tokenizer.json"), Files.readText(Golden.file("tokenizers/wordpiece/tokenizer.json")));
    String vocabulary = Files.readText(Golden.file("tokenizers/wordpiece/vocab.txt"));
    Files.writeText(new File(folder, "vocab.txt"), vocabulary.replace("\n", "\r\n"));
    IOException error =
        assertThrows(
            IOException.class,
            new ThrowingRunnable() {
              @Override
              public void run() throws IOException {
                Tokenizer.read(folder, card("wordpiece"));
              }
            });
    assertTrue(error.getMessage(), error.getMessage().contains("not those of vocab.txt"));
  }

  private static void compare(String name) throws Exception {
    Tokenizer tokenizer = Tokenizer.read(Golden.file("tokenizers/" + name), card(name));
    List<Map<String, Object>> rows = Golden.rows("tokenizers/" + name + "/lines.json");
    assertTrue("too few vectors: " + rows.size(), rows.size() >= 3000);
    for (Map<String, Object> row : rows) {
      Tokens got = tokenizer.tokens((String) row.get("text"), null);
      String where = name + " " + Json.write(row);
      assertArrayEquals(where, Golden.ints(row.get("ids")), got.ids());
      assertArrayEquals(where, Golden.ints(row.get("starts")), got.starts());
      assertArrayEquals(where, Golden.ints(row.get("ends")), got.ends());
      assertArrayEquals(where, Golden.ints(row.get("words")), got.words());
    }
  }

  private String refusal(final String name, String from, String to) throws Exception {
    final File folder = temporary.newFolder();
    if (!name.equals("unigram")) {
      File golden = Golden.file("tokenizers/" + name);
      String text = Json.write(Json.parse(Files.readText(new File(golden, "tokenizer.json"))));
      assertTrue(from, text.contains(from));
      Files.writeText(new File(folder, "tokenizer.json"), text.replace(from, to));
      if (name.startsWith("wordpiece")) {
        Files.writeText(new File(folder, "vocab.txt"), Files.readText(new File(golden, "vocab.txt")));
      }
    }
    return assertThrows(
            IOException.class,
            new ThrowingRunnable() {
              @Override
              public void run() throws IOException {
                Tokenizer.read(folder, card(name));
              }
            })
        .getMessage();
  }

  private static TokenizerCard card(String name) throws IOException {
    if (name.startsWith("wordpiece")) {
      return Cards.tokenizer("wordpiece", name.endsWith("cased") ? "false" : "true");
    }
    return Cards.tokenizer(name.equals("unigram") ? name : "byte-level-bpe", "null");
  }

  @Test
  public void loneSurrogatesAreDropped() throws Exception {
    for (String name : new String[] {"wordpiece", "roberta"}) {
      Tokenizer tokenizer = Tokenizer.read(Golden.file("tokenizers/" + name), card(name));
      assertArrayEquals(tokenizer.tokens("ab", null).ids(), tokenizer.tokens("a\uD800b", null).ids());
      assertArrayEquals(tokenizer.tokens("ab", null).ids(), tokenizer.tokens("a\uDC00b\uD83D", null).ids());
    }
    assertEquals(0, Tokenizer.read(Golden.file("tokenizers/roberta"), card("roberta")).tokens("", null).ids().length);
  }

  @Test
  public void theFirstTokensOfALongTextAreThoseOfAllOfIt() throws Exception {
    for (String name : new String[] {"wordpiece", "wordpiece-cased", "wordpiece-masked", "roberta", "gpt2", "untrimmed", "no-regex"}) {
      Tokenizer tokenizer = Tokenizer.read(Golden.file("tokenizers/" + name), card(name));
      Random draw = new Random(5);
      List<Map<String, Object>> rows = Golden.rows("tokenizers/" + name + "/lines.json");
      int cut = 0;
      for (int i = 0; i < 40; i++) {
        String text = longText(rows, draw);
        int least = draw.nextInt(300) + 1;
        Tokens all = tokenizer.tokens(text, null);
        Tokens first = tokenizer.first(text, least, null);
        cut += first.isCut() ? 1 : 0;
        assertTrue(name, first.size() >= Math.min(least, all.size()));
        assertEquals(name, first.isCut(), first.size() < all.size());
        assertArrayEquals(name, Arrays.copyOf(all.ids(), first.size()), first.ids());
        assertArrayEquals(name, Arrays.copyOf(all.starts(), first.size()), first.starts());
        assertArrayEquals(name, Arrays.copyOf(all.ends(), first.size()), first.ends());
        assertArrayEquals(name, Arrays.copyOf(all.words(), first.size()), first.words());
      }
      // An added token that is looked for after normalisation may hold any number of dropped characters.
      assertTrue(name + " " + cut, name.equals("wordpiece-masked") ? cut == 0 : cut > 15);
    }
  }

  /** Fuzzed lines, now and then with thousands of spaces, letters, marks or dropped characters in a row. */
  private static String longText(List<Map<String, Object>> rows, Random draw) {
    String[] runs = {" ", "x", "\u0301", "\u0000", "\u00a0", "7", "\ud83c\udf19", "<mask> "};
    StringBuilder text = new StringBuilder();
    while (text.length() < 12000) {
      if (draw.nextInt(20) == 0) {
        String run = runs[draw.nextInt(runs.length)];
        for (int i = draw.nextInt(3000); i > 0; i--) {
          text.append(run);
        }
      }
      text.append(rows.get(draw.nextInt(rows.size())).get("text"));
      text.append(draw.nextBoolean() ? " " : "");
    }
    return text.toString();
  }

  @Test
  public void aPairOfALongTextAndAShortOneTakesNoLongerThanShortOnes() throws Exception {
    TokenizerCard card = card("wordpiece");
    final TextEncoder encoder = new TextEncoder(Tokenizer.read(Golden.file("tokenizers/wordpiece"), card), card, null);
    char[] letters = new char[3 << 20];
    for (int i = 0; i < letters.length; i++) {
      letters[i] = i % 7 == 6 ? ' ' : (char) ('a' + i % 26);
    }
    final String large = new String(letters);
    long start = System.nanoTime();
    TextEncoder.Encoded whole = encoder.encode("How old is the Moon?", large, 128);
    double milliseconds = (System.nanoTime() - start) / 1e6;
    assertEquals(128, whole.tokens);
    TextEncoder.Encoded part = encoder.encode("How old is the Moon?", large.substring(0, 9000), 128);
    assertArrayEquals(part.inputIds, whole.inputIds);
    assertTrue("took " + milliseconds + " ms", milliseconds < 300);
    final Cancellation cancellation = new Cancellation();
    cancellation.cancel();
    assertThrows(
        CancellationException.class,
        new ThrowingRunnable() {
          @Override
          public void run() {
            encoder.encode(large, large, cancellation, 128);
          }
        });
  }

  @Test
  public void theOddTokenGoesToTheLongerOfTwoLongTexts() throws Exception {
    TokenizerCard card = card("wordpiece");
    Tokenizer tokenizer = Tokenizer.read(Golden.file("tokenizers/wordpiece"), card);
    TextEncoder encoder = new TextEncoder(tokenizer, card, null);
    String words = new String(new char[20000]).replace("\0", "moon ");
    for (String[] pair : new String[][] {{words, words}, {words + "sun", words}, {words, words + "sun"}}) {
      int[] types = encoder.encode(pair[0], pair[1], 128).tokenTypeIds;
      int second = 0;
      for (int type : types) {
        second += type;
      }
      assertEquals(pair[0].length() > pair[1].length() ? 63 : 64, second);
    }
  }
}
