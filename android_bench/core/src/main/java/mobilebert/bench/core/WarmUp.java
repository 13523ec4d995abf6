package mobilebert.bench.core;

import java.util.Arrays;

/**
 * Tells when inferences have settled: two neighbouring windows have the same median within 3%.
 *
 * <p>A window is at least 5 inferences and at least 40 ms long. The host's worker process uses the same rule.
 */
public final class WarmUp {
  private static final double TOLERANCE = 0.03;
  private static final int WINDOW_RUNS = 5;
  private static final double WINDOW_MS = 40;

  private double[] samples = new double[64];
  private int count;

  /** Adds the next inference's time in ms; true when settled. */
  public boolean add(double milliseconds) {
    if (count == samples.length) {
      samples = Arrays.copyOf(samples, 2 * count);
    }
    samples[count++] = milliseconds;
    double recent = Statistics.median(samples, Math.max(0, count - WINDOW_RUNS), count);
    // rint, like Python's round, takes a half to the even side.
    double runs = Math.max(WINDOW_RUNS, Math.rint(WINDOW_MS / recent));
    if (count < 2 * runs) {
      return false;
    }
    int window = (int) runs;
    double before = Statistics.median(samples, count - 2 * window, count - window);
    double now = Statistics.median(samples, count - window, count);
    return Math.abs(now / before - 1) <= TOLERANCE;
  }

  /** All times so far, in order, ms. */
  public double[] samples() {
    return Arrays.copyOf(samples, count);
  }
}
