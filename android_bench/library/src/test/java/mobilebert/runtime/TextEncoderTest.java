package mobilebert.runtime;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.Test;

/** Promise: the rows that the Python tokenizer gives, on any pair of texts. */
public final class TextEncoderTest {
  private static final TextNormalizer UNCASED = normalizer(true);
  private static final TextNormalizer CASED = normalizer(false);

  private static TextNormalizer normalizer(boolean lowercase) {
    try {
      return new TextNormalizer(lowercase);
    } catch (java.io.IOException error) {
      throw new IllegalStateException(error);
    }
  }

  private static TextEncoder encoder() throws Exception {
    return encoder(false);
  }

  private static TextEncoder encoder(boolean sortTexts) throws Exception {
    TokenizerCard card = Cards.tokenizer("wordpiece", "true", sortTexts);
    return new TextEncoder(Tokenizer.read(Golden.file("tokenizers/wordpiece"), card), card, null);
  }

  @Test
  public void pairsEqualThePythonTokenizer() throws Exception {
    compare(encoder(), "pairs.json");
  }

  @Test
  public void sortedPairsEqualThePythonTokenizer() throws Exception {
    compare(encoder(true), "sorted_pairs.json");
  }

  private static void compare(TextEncoder encoder, String vectors) throws Exception {
    List<Map<String, Object>> rows = Golden.rows(vectors);
    assertTrue("too few vectors: " + rows.size(), rows.size() >= 3000);
    for (Map<String, Object> row : rows) {
      int length = (int) Golden.number(row.get("length"));
      TextEncoder.Encoded got = encoder.encode((String) row.get("a"), (String) row.get("b"), length);
      int[] expected = Golden.ints(row.get("ids"));
      String where = Json.write(row);
      assertEquals(where, expected.length, got.tokens);
      assertArrayEquals(where, expected, Arrays.copyOf(got.inputIds, got.tokens));
      assertArrayEquals(where, Golden.ints(row.get("types")), Arrays.copyOf(got.tokenTypeIds, got.tokens));
      for (int i = 0; i < length; i++) {
        assertEquals(where, i < got.tokens ? 1 : 0, got.attentionMask[i]);
        assertTrue(where, i < got.tokens || got.inputIds[i] == 0 && got.tokenTypeIds[i] == 0);
      }
    }
  }

  @Test
  public void everyCodePointIsSplitAsThePythonTokenizerSplitsIt() throws Exception {
    for (Map<String, Object> row : Golden.rows("normalized.json")) {
      TextNormalizer normalizer = (Boolean) row.get("lowercase") ? UNCASED : CASED;
      int[] got = normalizer.normalize(AlignedText.of((String) row.get("text"))).codes;
      assertEquals((String) row.get("text"), (String) row.get("became"), new String(got, 0, got.length));
    }
  }

  @Test
  public void theShortestBucketThatHoldsThePairIsUsed() throws Exception {
    TextEncoder encoder = encoder();
    assertEquals(8, encoder.encode("a b", "c d", 8, 16, 32).inputIds.length);
    assertEquals(8, encoder.encode("a b c", "d e", 8, 16, 32).inputIds.length);
    assertEquals(16, encoder.encode("a b c", "d e f", 8, 16, 32).inputIds.length);
    assertEquals(32, encoder.encode("a b c d e f g h i j k l m n o p q r s t u v w x y z", "a b c d", 8, 16, 32).tokens);
  }
}
