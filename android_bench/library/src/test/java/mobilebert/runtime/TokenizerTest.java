package mobilebert.runtime;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
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

  private static void compare(String name) throws Exception {
    Tokenizer tokenizer = Tokenizer.read(Golden.file("tokenizers/" + name), card(name));
    List<Map<String, Object>> rows = Golden.rows("tokenizers/" + name + "/lines.json");
    assertTrue("too few vectors: " + rows.size(), rows.size() >= 3000);
    for (Map<String, Object> row : rows) {
      Tokens got = tokenizer.tokens((String) row.get("text"));
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
      assertArrayEquals(tokenizer.tokens("ab").ids(), tokenizer.tokens("a\uD800b").ids());
      assertArrayEquals(tokenizer.tokens("ab").ids(), tokenizer.tokens("a\uDC00b\uD83D").ids());
    }
    assertEquals(0, Tokenizer.read(Golden.file("tokenizers/roberta"), card("roberta")).tokens("").ids().length);
  }
}
