package mobilebert.runtime;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Promise: texts are corrected as the Python side corrects them, and damaged lists are refused as there. */
public final class SpellingCorrectorTest {
  @Rule public final TemporaryFolder temporary = new TemporaryFolder();

  @Test
  public void textsAreCorrectedAsByPython() throws Exception {
    compareTexts(SpellingCorrector.read(Golden.file("spelling")));
  }

  @Test
  public void aListThatWasSortedBeforeCorrectsTheSame() throws Exception {
    byte[] written = WordList.read(Golden.file("spelling")).write();
    compareTexts(new SpellingCorrector(WordList.read(ByteBuffer.wrap(written))));
  }

  private static void compareTexts(SpellingCorrector corrector) throws Exception {
    List<Map<String, Object>> rows = Golden.rows("spelling.json");
    SpellingCorrector keeping = corrector.keeping(ownWords());
    int changed = 0;
    int kept = 0;
    for (Map<String, Object> row : rows) {
      String text = (String) row.get("text");
      assertEquals(text, row.get("corrected"), corrector.corrected(text));
      assertEquals(text, row.get("kept"), keeping.corrected(text));
      changed += text.equals(row.get("corrected")) ? 0 : 1;
      kept += row.get("kept").equals(row.get("corrected")) ? 0 : 1;
    }
    assertTrue("too few: " + changed + " of " + rows.size(), changed > 500 && changed < rows.size());
    assertTrue("too few: " + kept + " of " + changed, kept > 100 && kept < changed);
  }

  /** Words of texts that Python was given too. */
  private static Set<String> ownWords() throws Exception {
    Set<String> found = new HashSet<String>();
    for (Map<String, Object> row : Golden.rows("spelling_own.json")) {
      found.addAll(SpellingCorrector.words((String) row.get("text")));
    }
    return found;
  }

  @Test
  public void pairsAreCorrectedAsByPython() throws Exception {
    SpellingCorrector corrector = SpellingCorrector.read(Golden.file("spelling"));
    SpellingCorrector keeping = corrector.keeping(ownWords());
    int helped = 0;
    for (Map<String, Object> row : Golden.rows("spelling_pairs.json")) {
      String a = (String) row.get("a");
      String b = (String) row.get("b");
      String[] found = corrector.correctedPair(a, b);
      assertEquals(a + " | " + b, row.get("corrected_a"), found[0]);
      assertEquals(a + " | " + b, row.get("corrected_b"), found[1]);
      String[] kept = keeping.correctedPair(a, b);
      assertEquals(a + " | " + b, row.get("kept_a"), kept[0]);
      assertEquals(a + " | " + b, row.get("kept_b"), kept[1]);
      helped += found[0].equals(corrector.corrected(a)) ? 0 : 1;
    }
    assertTrue("too few: " + helped, helped > 300);
  }

  @Test
  public void thePairEncoderReadsCorrectedTexts() throws Exception {
    TokenizerCard card = Cards.tokenizer("wordpiece", "true");
    Tokenizer tokenizer = Tokenizer.read(Golden.file("tokenizers/wordpiece"), card);
    TextEncoder plain = new TextEncoder(tokenizer, card, null);
    TextEncoder correcting = new TextEncoder(tokenizer, card, SpellingCorrector.read(Golden.file("spelling")));
    String wrong = "the wether tommorow";
    String right = SpellingCorrector.read(Golden.file("spelling")).corrected(wrong);
    assertTrue(right, !right.equals(wrong));
    assertArrayEquals(
        plain.encode(right, "a spider", 32).inputIds, correcting.encode(wrong, "a spider", 32).inputIds);
    assertArrayEquals( // what stands in both texts is meant
        plain.encode(wrong, wrong, 32).inputIds, correcting.encode(wrong, wrong, 32).inputIds);
    assertArrayEquals(
        plain.encode("the spider", "a spider", 32).inputIds,
        correcting.encode("the spiideer", "a spider", 32).inputIds);
    assertArrayEquals(
        plain.spans(wrong, 32).encoded.inputIds, correcting.spans(wrong, 32).encoded.inputIds);
  }

  @Test
  public void damagedListsAreRefused() throws Exception {
    File folder = temporary.newFolder();
    String[] damaged = {"", "moon", "moon\nMoon\n", "moon\nstar\nmoon\n", "moon\nsu\n", "moon\n\n"};
    String[] messages = {"1 to 500000 lines", "1 to 500000 lines", "line 2", "line 3", "line 2", "line 2"};
    for (int i = 0; i < damaged.length; i++) {
      Files.writeText(new File(folder, "spelling.txt"), damaged[i]);
      try {
        SpellingCorrector.read(folder);
        fail(damaged[i]);
      } catch (IOException error) {
        assertTrue(error.getMessage(), error.getMessage().contains(messages[i]));
      }
    }
  }
}
