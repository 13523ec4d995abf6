package mobilebert.bench.core;

import java.util.Arrays;

/**
 * Tells when inferences have settled: a window's median is within 3% of the median of the window before.
 *
 * <p>A window is over after at least 5 inferences and at least 40 ms. The host's worker process uses the same rule.
 */
public final class WarmUp {
  private static final double TOLERANCE = 0.03;
  private static final int WINDOW_RUNS = 5;
  private static final double WINDOW_MS = 40;

  private double[] samples = new double[64];
  private int count;
  private int windowStart;
  private double windowMs;
  private double previousMedian = Double.POSITIVE_INFINITY;

  /** Adds the next inference's time in ms; true when settled. */
  public boolean add(double milliseconds) {
    if (count == samples.length) {
      samples = Arrays.copyOf(samples, 2 * count);
    }
    samples[count++] = milliseconds;
    windowMs += milliseconds;
    if (count - windowStart < WINDOW_RUNS || windowMs < WINDOW_MS) {
      return false;
    }
    double median = Statistics.median(samples, windowStart, count);
    boolean settled = Math.abs(median / previousMedian - 1) <= TOLERANCE;
    previousMedian = median;
    windowStart = count;
    windowMs = 0;
    return settled;
  }

  /** All times so far, in order, ms. */
  public double[] samples() {
    return Arrays.copyOf(samples, count);
  }
}
