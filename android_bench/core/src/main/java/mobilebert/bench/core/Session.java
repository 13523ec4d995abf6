package mobilebert.bench.core;

import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import mobilebert.runtime.Network;
import mobilebert.runtime.TextEncoder;

/** One measured session: load, first inference, warm-up until settled, steady inferences; raw times kept in order. */
public final class Session {
  private static final double WARM_LIMIT_MS = 5_000;

  /** Opens the network; its time is the session's init time. */
  public interface Opener {
    Network open() throws IOException;
  }

  /** Told after each inference; false ends the session early with an {@link InterruptedException}. */
  public interface Progress {
    boolean done(int runs, double lastMs);
  }

  /** Nanoseconds of a clock that never goes back. */
  public interface Clock {
    long nanos();
  }

  private final Clock clock;
  private final Progress progress;
  private int runs;

  public Session(Clock clock, Progress progress) {
    this.clock = clock;
    this.progress = progress;
  }

  /**
   * Measures one session.
   *
   * @param inputs encoded inputs, taken in turn
   * @param minimumRuns steady inferences at least
   * @param seconds steady time at least
   * @return times in ms: init_ms, first_ms, warmup_ms (in order), converged, steady_ms (in order); runtime
   */
  public Map<String, Object> run(Opener opener, TextEncoder.Encoded[] inputs, int minimumRuns, double seconds)
      throws IOException, InterruptedException {
    long start = clock.nanos();
    Network network = opener.open();
    double initMs = since(start);
    try {
      double firstMs = infer(network, inputs);
      WarmUp warmUp = new WarmUp();
      boolean settled = false;
      long warmStart = clock.nanos();
      while (!settled && since(warmStart) < WARM_LIMIT_MS) {
        settled = warmUp.add(infer(network, inputs));
      }
      Map<String, Object> record = new LinkedHashMap<String, Object>();
      record.put("init_ms", initMs);
      record.put("first_ms", firstMs);
      record.put("warmup_ms", warmUp.samples());
      record.put("converged", settled);
      record.put("steady_ms", steady(network, inputs, minimumRuns, seconds));
      record.put("runtime", network.runtime());
      return record;
    } finally {
      network.close();
    }
  }

  private double[] steady(Network network, TextEncoder.Encoded[] inputs, int minimumRuns, double seconds)
      throws InterruptedException {
    double[] times = new double[minimumRuns];
    int count = 0;
    long start = clock.nanos();
    while (count < minimumRuns || since(start) < 1e3 * seconds) {
      if (count == times.length) {
        times = Arrays.copyOf(times, 2 * count + 1);
      }
      times[count++] = infer(network, inputs);
    }
    return Arrays.copyOf(times, count);
  }

  private double infer(Network network, TextEncoder.Encoded[] inputs) throws InterruptedException {
    TextEncoder.Encoded input = inputs[runs % inputs.length];
    long start = clock.nanos();
    network.run(input);
    double milliseconds = since(start);
    runs++;
    if (!progress.done(runs, milliseconds)) {
      throw new InterruptedException("stopped after " + runs + " inferences");
    }
    return milliseconds;
  }

  private double since(long start) {
    return (clock.nanos() - start) / 1e6;
  }
}
