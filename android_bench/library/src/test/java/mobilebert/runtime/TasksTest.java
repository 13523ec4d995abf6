package mobilebert.runtime;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.Test;

/**
 * Promise: every task's answers to fuzzed inputs are Python's, from one thread or eight on one object.
 *
 * <p>tests/android_bench/test_phone_tasks.py writes artefacts and answers; the networks run through the bridge, in the
 * runtime that Python used.
 */
public final class TasksTest {
  private static final int THREADS = 8;

  /** Compares one row; whether it could: an input that is refused has no answer. */
  private interface Check {
    void row(Map<String, Object> row);
  }

  private static ModelOptions options() {
    return new ModelOptions().threads(1);
  }

  @Test
  public void matchersScoreAsPython() throws Exception {
    for (String name : new String[] {"matching", "matching-one-logit", "regression"}) {
      try (final Matcher matcher = Matcher.load(Golden.file(name), options())) {
        check(name, row -> {
          Matcher.Answer got = matcher.match((String) row.get("a"), (String) row.get("b"));
          near(Golden.doubles(row.get("scores"))[0], got.score);
          assertEquals(row.get("label"), got.label);
        });
        String a = "one";
        assertEquals(matcher.scoreBothWays(a, "two"), matcher.scoreBothWays("two", a), 0);
      }
    }
  }

  @Test
  public void textsSortByCodePointsAsInPython() {
    String[] sorted = {"", "a", "ab", "b", "\uE000", "\uFFFD", "\uD83D\uDE00", "\uD83D\uDE01"};
    for (int i = 0; i < sorted.length; i++) {
      for (int k = 0; k < sorted.length; k++) {
        assertEquals(Integer.signum(i - k), Integer.signum(Matcher.compare(sorted[i], sorted[k])));
      }
    }
  }

  @Test
  public void classifiersScoreAsPython() throws Exception {
    for (String name : new String[] {"classes", "classes-of-pairs", "classes-cut-left", "pairs-cut-left"}) {
      try (final TextClassifier classifier = TextClassifier.load(Golden.file(name), options())) {
        check(name, row -> {
          double[] expected = Golden.doubles(row.get("scores"));
          List<LabelScore> got = classifier.scores((String) row.get("a"), (String) row.get("b"));
          for (int i = 0; i < expected.length; i++) {
            near(expected[i], got.get(i).score);
          }
        });
      }
    }
  }

  @Test
  public void namesAreFoundAsInPython() throws Exception {
    for (String name : new String[] {"names", "names-bpe"}) {
      try (final TokenClassifier tagger = TokenClassifier.load(Golden.file(name), options())) {
        check(name, row -> {
          same((List<?>) row.get("tags"), tagger.tag((String) row.get("a")));
          same((List<?>) row.get("entities"), tagger.entities((String) row.get("a")));
        });
      }
    }
  }

  @Test
  public void questionsAreAnsweredAsInPython() throws Exception {
    for (String name : new String[] {"answers", "answers-bpe"}) {
      try (final QuestionAnswerer reader = QuestionAnswerer.load(Golden.file(name), options())) {
        check(name, row -> compareAnswers(reader, row));
      }
    }
  }

  @Test
  public void vectorsArePythonsBitForBit() throws Exception {
    for (String name : new String[] {"vectors", "vectors-prompts"}) {
      try (final Embedder embedder = Embedder.load(Golden.file(name), options())) {
        check(name, row -> {
          String text = (String) row.get("a");
          exact(row.get("vector"), embedder.embed(text));
          if (!embedder.prompts().isEmpty()) {
            exact(row.get("query"), embedder.embedQuery(text));
            exact(row.get("document"), embedder.embedDocument(text));
            exact(row.get("named"), embedder.embed(text, "passage"));
          }
        });
      }
    }
    try (Embedder second = Embedder.load(Golden.file("matching-one-logit"), options())) {
      assertEquals(16, second.embed("the vector beside a matcher's logits").length);
      for (Map<String, Object> row : Golden.rows("matching-one-logit/expected.json").subList(0, 300)) {
        float same = second.similarity((String) row.get("a"), (String) row.get("a"));
        assertEquals(1, same, 1e-6);
        assertTrue("a cosine of " + same, same <= 1);
      }
    }
  }

  private static void exact(Object vector, float... got) {
    double[] expected = Golden.doubles(vector);
    for (int i = 0; i < expected.length; i++) {
      assertEquals((float) expected[i], got[i], 0);
    }
  }

  @Test
  public void anArtefactForAnotherTaskOrAClosedModelIsRefused() {
    Throwable other = assertThrows(ArtefactException.class, () -> Matcher.load(Golden.file("vectors"), options()));
    assertTrue(other.getMessage(), other.getMessage().contains("sentence-embedding"));
    final Matcher closed = Matcher.load(Golden.file("matching"), options());
    closed.close();
    closed.close();
    assertThrows(IllegalStateException.class, () -> closed.score("a", "b"));
  }

  @Test
  public void aCancelledCallEnds() {
    final Cancellation cancellation = new Cancellation();
    cancellation.cancel();
    try (final Matcher matcher = Matcher.load(Golden.file("matching"), options())) {
      assertThrows(
          CancellationException.class,
          () -> matcher.rank("query", java.util.Arrays.asList("one", "other"), 1, cancellation));
    }
  }

  private static void compareAnswers(final QuestionAnswerer reader, final Map<String, Object> row) {
    final String question = (String) row.get("a");
    final String context = (String) row.get("b");
    final int most = (int) Golden.number(row.get("most"));
    final boolean none = (Boolean) row.get("none");
    List<?> expected = (List<?>) row.get("answers");
    if (expected == null) {
      assertThrows(
          IllegalArgumentException.class,
          () -> reader.answers(question, context, most, QuestionAnswerer.LONGEST_ANSWER, none, null));
      return;
    }
    List<QuestionAnswerer.Answer> got =
        reader.answers(question, context, most, QuestionAnswerer.LONGEST_ANSWER, none, null);
    assertEquals(expected.size(), got.size());
    for (int i = 0; i < expected.size(); i++) {
      List<?> one = (List<?>) expected.get(i);
      near(Golden.number(one.get(1)), got.get(i).score);
      assertEquals(one.get(0), got.get(i).text);
      assertEquals(Golden.number(one.get(2)), got.get(i).start, 0);
      assertEquals(Golden.number(one.get(3)), got.get(i).end, 0);
    }
  }

  private static void same(List<?> expected, List<LabelledSpan> got) {
    assertEquals(expected.size(), got.size());
    for (int i = 0; i < got.size(); i++) {
      List<?> one = (List<?>) expected.get(i);
      assertEquals(one.get(0), got.get(i).label);
      near(Golden.number(one.get(1)), got.get(i).score);
      assertEquals(Golden.number(one.get(2)), got.get(i).start, 0);
      assertEquals(Golden.number(one.get(3)), got.get(i).end, 0);
    }
  }

  /** Equal but for the last bit, in which two machines' exponentials may differ. */
  private static void near(double expected, float got) {
    assertEquals(expected, got, 2 * Math.ulp((float) expected));
  }

  /** Tells the row of a difference, and writes it for no other: that takes longer than its inference. */
  private static void check(Map<String, Object> row, Check check) {
    try {
      check.row(row);
    } catch (AssertionError different) {
      throw new AssertionError(Json.write(row), different);
    }
  }

  /** Every row by one thread, then shared out among eight on the same object. */
  private static void check(String name, final Check check) throws Exception {
    final List<Map<String, Object>> rows = Golden.rows(name + "/expected.json");
    assertTrue("too few vectors: " + rows.size(), rows.size() >= 3000);
    for (Map<String, Object> row : rows) {
      check(row, check);
    }
    ExecutorService pool = Executors.newFixedThreadPool(THREADS);
    List<Callable<Void>> work = new ArrayList<Callable<Void>>();
    for (int thread = 0; thread < THREADS; thread++) {
      final int first = thread * 97;
      work.add(() -> {
        for (int i = 0; i < rows.size(); i += THREADS) {
          check(rows.get((first + i) % rows.size()), check);
        }
        return null;
      });
    }
    for (Future<Void> done : pool.invokeAll(work)) {
      done.get();
    }
    pool.shutdown();
  }

  @Test
  public void anFaqIsSearchedAndRankedAsInPython() throws Exception {
    File folder = Golden.file("faq");
    List<String> questions = new ArrayList<String>();
    for (Object question : (List<?>) Json.parse(Files.readText(new File(folder, "questions.json")))) {
      questions.add((String) question);
    }
    try (Embedder embedder = Embedder.load(new File(folder, "embedder"), options());
        Matcher matcher = Matcher.load(new File(folder, "matcher"), options())) {
      for (String kind : new String[] {"int8", "float16"}) {
        ask(embedder, matcher, EmbeddingIndex.read(new File(folder, kind)), "faq/" + kind + ".json");
      }
      ask(embedder, matcher, embedder.index(questions, null), "faq/int8.json");
    }
  }

  private static void ask(Embedder embedder, Matcher matcher, EmbeddingIndex index, String name) throws Exception {
    final FaqIndex near = new FaqIndex(embedder, null, index);
    final FaqIndex ranked = new FaqIndex(embedder, matcher, index);
    for (Map<String, Object> row : Golden.rows(name)) {
      check(row, one -> {
        String query = (String) one.get("query");
        compareHits((List<?>) one.get("near"), near.ask(query, 10, 10, null), 1e-6);
        compareHits((List<?>) one.get("ranked"), ranked.ask(query, 10, 3, null), 1e-7);
      });
    }
  }

  private static void compareHits(List<?> expected, List<Hit> got, double bound) {
    double[] places = new double[got.size()];
    for (int i = 0; i < places.length; i++) {
      places[i] = got.get(i).place;
    }
    double[] wanted = new double[expected.size()];
    for (int i = 0; i < wanted.length; i++) {
      wanted[i] = Golden.number(((List<?>) expected.get(i)).get(0));
      assertEquals(Golden.number(((List<?>) expected.get(i)).get(1)), got.get(i).score, bound);
    }
    assertArrayEquals(wanted, places, 0);
  }
}
