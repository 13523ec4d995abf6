package mobilebert.runtime;

import android.content.Context;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.List;

/**
 * One cold start in a process of its own: a matcher of the app's assets, which were copied out before, is opened and
 * answers. Prints, in a line each, milliseconds until it is open and until the first answer by the clock and of this
 * thread's processor time, the bytes in the heap then, and the answer. android_bench/build_app/cold_start.py runs it.
 */
final class ColdStart {
  private ColdStart() {}

  /** What is left of a start without a network: its answers tell the ids that it was given. */
  private static final class NoNetwork implements Backend, Network {
    private ArtefactCard card;

    @Override
    public Network open(File folder, ArtefactCard card, int threads) {
      this.card = card;
      return this;
    }

    @Override
    public String runtime() {
      return "none";
    }

    @Override
    public float[][] run(TextEncoder.Encoded input) {
      List<String> names = card.outputNames();
      float[][] rows = new float[names.size()][];
      for (int i = 0; i < rows.length; i++) {
        rows[i] = new float[card.outputSize(names.get(i), input.inputIds.length)];
        rows[i][0] = Arrays.hashCode(input.inputIds) % 1000 / 1000f;
      }
      return rows;
    }

    @Override
    public void close() {}
  }

  /** Arguments: the assets, the app's files, the artefact's folder in the assets; "none", or "runtime" to run its network. */
  public static void main(String[] arguments) {
    ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    Context context = new Context(new File(arguments[0]), new File(arguments[1]));
    ModelOptions options = new ModelOptions();
    if (arguments[3].equals("none")) {
      options.backend(new NoNetwork());
    }
    long used = clock.getCurrentThreadCpuTime();
    long start = System.nanoTime();
    Matcher matcher = Matcher.load(context, arguments[2], options);
    long opened = System.nanoTime();
    long usedToOpen = clock.getCurrentThreadCpuTime();
    float score = matcher.score("wether in Paris tomorow", "What will the weather be like in Paris tomorrow?");
    long answered = System.nanoTime();
    long usedToAnswer = clock.getCurrentThreadCpuTime();
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    for (double one :
        new double[] {
          (opened - start) / 1e6,
          (answered - start) / 1e6,
          (usedToOpen - used) / 1e6,
          (usedToAnswer - used) / 1e6,
          runtime.totalMemory() - runtime.freeMemory(),
          score
        }) {
      System.out.println(one);
    }
    matcher.close();
  }
}
