package mobilebert.runtime;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** Promise: with own words, or without correction, a model reads what Python reads, and is told apart as there. */
public final class ModelOptionsTest {
  private static final File ARTEFACT = Golden.file("own_words");

  @Rule public final TemporaryFolder temporary = new TemporaryFolder();

  /** Answers by the ids that it is given, and counts. */
  private static final class Sums implements Backend, Network {
    private ArtefactCard card;
    private int runs;

    @Override
    public Network open(File folder, ArtefactCard card, int threads) {
      this.card = card;
      return this;
    }

    @Override
    public String runtime() {
      return "sums";
    }

    @Override
    public float[][] run(TextEncoder.Encoded input) {
      runs++;
      float[] vector = new float[card.embeddingSize];
      for (int i = 0; i < input.tokens; i++) {
        vector[input.inputIds[i] % vector.length]++;
      }
      return new float[][] {{vector[0], vector[1]}, vector};
    }

    @Override
    public void close() {}
  }

  private final Sums sums = new Sums();

  private ModelOptions options() {
    return new ModelOptions().backend(sums);
  }

  @Test
  public void textsAreReadAndModelsToldApartAsByPython() throws Exception {
    List<Map<String, Object>> rows = Golden.rows("own_words.json");
    Set<String> fingerprints = new HashSet<String>();
    for (Map<String, Object> row : rows) {
      @SuppressWarnings("unchecked")
      Map<String, Object> given = (Map<String, Object>) row.get("options");
      ModelOptions options = options();
      if (given.containsKey("words")) {
        options.words(texts(given.get("words")));
      }
      if (given.containsKey("spelling")) {
        options.spelling((Boolean) given.get("spelling"));
      }
      try (Matcher matcher = Matcher.load(ARTEFACT, options)) {
        assertEquals(row.get("fingerprint"), matcher.fingerprint());
        fingerprints.add(matcher.fingerprint());
        for (Object one : (List<?>) row.get("pairs")) {
          Map<?, ?> pair = (Map<?, ?>) one;
          TextEncoder.Encoded input =
              matcher.encoder.encode((String) pair.get("a"), (String) pair.get("b"), matcher.lengths());
          assertArrayEquals(Golden.ints(pair.get("ids")), Arrays.copyOf(input.inputIds, input.tokens));
        }
      }
    }
    assertEquals(rows.size(), fingerprints.size());
  }

  private static List<String> texts(Object list) {
    List<String> found = new ArrayList<String>();
    for (Object one : (List<?>) list) {
      found.add((String) one);
    }
    return found;
  }

  @Test
  public void anIndexOfOtherWordsIsMadeAnew() {
    File place = new File(temporary.getRoot(), "faq");
    FaqEntry entry = new FaqEntry("wine", "Can I take Celexa with wine?", null);
    ModelOptions own = options().words(Collections.singletonList("Celexa"));
    ModelOptions same = options().words(Arrays.asList("H2O", "CELEXA?"));
    ModelOptions[] opened = {options(), options(), own, same, options().spelling(false)};
    int[] read = {1, 0, 1, 0, 1};
    for (int i = 0; i < opened.length; i++) {
      sums.runs = 0;
      try (FaqStore store = FaqStore.open(ARTEFACT, place, opened[i])) {
        store.put(entry, null);
        store.save();
        assertEquals(read[i], sums.runs);
      }
    }
  }

  @Test
  public void whatCannotBeMeantIsRefused() {
    says(
        "words: entry 2 is empty; leave it out",
        IllegalArgumentException.class,
        () -> options().words(Arrays.asList("Celexa", "\u2003\n")));
    final String both = "words: are left as they are by the correction, which spelling(false) turns off";
    says(
        both,
        IllegalArgumentException.class,
        () -> options().words(Collections.singletonList("Celexa")).spelling(false));
    says(
        both,
        IllegalArgumentException.class,
        () -> options().spelling(false).words(Collections.singletonList("Celexa")));
    for (final ModelOptions options :
        new ModelOptions[] {options().spelling(false), options().words(Collections.<String>emptyList())}) {
      says(
          "words, spelling: the artefact corrects no words; leave them out",
          ArtefactException.class,
          () -> Matcher.load(Golden.file("corrects_nothing"), options));
    }
  }

  private static void says(String message, Class<? extends Exception> kind, ThrowingRunnable call) {
    assertEquals(message, assertThrows(kind, call).getMessage());
  }
}
