package mobilebert.runtime;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** Promise: one matcher may be called from many threads at once, and every answer is that of one thread. */
public final class MatcherTest {
  private static final int CALLS = 12_000;

  @Rule public final TemporaryFolder temporary = new TemporaryFolder();

  /** Tensors that each run fills in place, as an interpreter has them: two runs at once mix their inputs. */
  private static final class Interpreter implements Network {
    private final int[] ids = new int[64];
    private final float[][] logits = new float[1][2];

    @Override
    public String runtime() {
      return "two sums";
    }

    @Override
    public float[][] run(TextEncoder.Encoded input) {
      System.arraycopy(input.inputIds, 0, ids, 0, input.inputIds.length);
      Arrays.fill(logits[0], 0);
      for (int i = 0; i < input.inputIds.length; i++) {
        logits[0][input.tokenTypeIds[i]] += (float) Math.sin(ids[i]) * input.attentionMask[i];
      }
      return logits;
    }

    @Override
    public void close() {}
  }

  @Test
  public void eightThreadsGiveTheAnswersOfOne() throws Exception {
    compare(8);
  }

  @Test
  public void thirtyTwoThreadsGiveTheAnswersOfOne() throws Exception {
    compare(32);
  }

  @Test
  public void anAnswerThatIsNoRowOfFiniteLogitsIsRefused() throws Exception {
    for (final float[] answer : new float[][] {{0, Float.NaN}, {Float.POSITIVE_INFINITY, 0}, {1, 2, 3}, {}}) {
      final Matcher matcher =
          new Matcher(
              new Model.Parts(card(), encoder(),
              new Network() {
                @Override
                public String runtime() {
                  return "broken";
                }

                @Override
                public float[][] run(TextEncoder.Encoded input) {
                  return new float[][] {answer};
                }

                @Override
                public void close() {}
              }));
      ThrowingRunnable match =
          new ThrowingRunnable() {
            @Override
            public void run() {
              matcher.match("a", "b");
            }
          };
      assertTrue(assertThrows(IllegalStateException.class, match).getMessage().contains("finite numbers"));
    }
  }

  private void compare(int threads) throws Exception {
    final List<Map<String, Object>> pairs = Golden.rows("pairs.json");
    final Matcher alone = new Matcher(new Model.Parts(card(), encoder(), new Interpreter()));
    final List<Matcher.Answer> expected = new ArrayList<Matcher.Answer>();
    HashSet<Float> different = new HashSet<Float>();
    for (Map<String, Object> pair : pairs) {
      expected.add(match(alone, pair));
      different.add(expected.get(expected.size() - 1).score);
    }
    assertTrue(different.size() > pairs.size() / 2);
    Matcher[] shared = new Matcher[threads];
    Arrays.fill(shared, new Matcher(new Model.Parts(card(), encoder(), new Interpreter())));
    Matcher[] own = new Matcher[threads];
    for (int i = 0; i < threads; i++) {
      own[i] = new Matcher(new Model.Parts(card(), encoder(), new Interpreter()));
    }
    double sharedRate = rate(shared, pairs, expected);
    double ownRate = rate(own, pairs, expected);
    System.out.printf(
        "%d decisions from %d threads: %.0f a second on one object, %.0f with one a thread%n",
        CALLS, threads, sharedRate, ownRate);
  }

  /** Decisions a second of one thread for each matcher; every one is compared. */
  private static double rate(
      final Matcher[] matchers, final List<Map<String, Object>> pairs, final List<Matcher.Answer> expected)
      throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(matchers.length);
    final int each = CALLS / matchers.length;
    List<Callable<Integer>> work = new ArrayList<Callable<Integer>>();
    for (int thread = 0; thread < matchers.length; thread++) {
      final int first = thread * each;
      final Matcher matcher = matchers[thread];
      work.add(
          new Callable<Integer>() {
            @Override
            public Integer call() {
              int wrong = 0;
              for (int i = first; i < first + each; i++) {
                Matcher.Answer right = expected.get(i % pairs.size());
                Matcher.Answer got = match(matcher, pairs.get(i % pairs.size()));
                boolean same = got.score == right.score && got.label.equals(right.label);
                wrong += same && got.tokens == right.tokens && got.length == right.length ? 0 : 1;
              }
              return wrong;
            }
          });
    }
    long start = System.nanoTime();
    int wrong = 0;
    for (Future<Integer> done : pool.invokeAll(work)) {
      wrong += done.get();
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    pool.shutdown();
    assertEquals(0, wrong);
    return each * matchers.length / seconds;
  }

  private static Matcher.Answer match(Matcher matcher, Map<String, Object> pair) {
    return matcher.match((String) pair.get("a"), (String) pair.get("b"));
  }

  private static TextEncoder encoder() throws Exception {
    TokenizerCard card = Cards.tokenizer("wordpiece", "true");
    return new TextEncoder(Tokenizer.read(Golden.file("tokenizers/wordpiece"), card), card, null);
  }

  /** The card of the first vector with two lengths; its length shift is kept. */
  private ArtefactCard card() throws Exception {
    Object row = Golden.rows("decisions.json").get(0).get("card");
    Map<String, Object> card = Json.parseObject(Json.write(row).replace("[1,16]", "[1,64]"));
    card.put("seq_len", 64);
    card.put("buckets", Json.parse("[{\"seq_len\": 16, \"signature\": null}, {\"seq_len\": 64, \"signature\": null}]"));
    File folder = temporary.newFolder();
    Files.writeText(new File(folder, "io.json"), Json.write(card));
    return ArtefactCard.read(folder);
  }
}
