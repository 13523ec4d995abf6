package mobilebert.bench.core;

import java.util.Arrays;

/** Percentiles and means with numpy's arithmetic, bit for bit, so that phone and host never disagree on a digit. */
public final class Statistics {
  private Statistics() {}

  /** Count, extremes, percentiles and mean of samples, all but the count in the samples' unit. */
  public static final class Summary {
    public final int count;
    public final double minimum;
    public final double maximum;
    public final double p50;
    public final double p90;
    public final double p95;
    public final double p99;
    public final double mean;

    Summary(double[] samples) {
      double[] sorted = sorted(samples);
      count = sorted.length;
      minimum = sorted[0];
      maximum = sorted[count - 1];
      p50 = ofSorted(sorted, 50);
      p90 = ofSorted(sorted, 90);
      p95 = ofSorted(sorted, 95);
      p99 = ofSorted(sorted, 99);
      mean = pairwiseSum(samples, 0, count) / count;
    }
  }

  public static Summary summarise(double[] samples) {
    return new Summary(samples);
  }

  /** The q-th percentile, 0 ≤ q ≤ 100, linear between order statistics: {@code numpy.percentile(samples, q)}. */
  public static double percentile(double[] samples, double q) {
    return ofSorted(sorted(samples), q);
  }

  /** {@code numpy.median(samples[from:to])}: the middle one, or the mean of the two in the middle. */
  public static double median(double[] samples, int from, int to) {
    double[] sorted = sorted(Arrays.copyOfRange(samples, from, to));
    int half = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }

  private static double[] sorted(double[] samples) {
    if (samples.length == 0) {
      throw new IllegalArgumentException("no samples to summarise");
    }
    double[] copy = samples.clone();
    Arrays.sort(copy);
    return copy;
  }

  private static double ofSorted(double[] sorted, double q) {
    double position = (sorted.length - 1) * (q / 100);
    int below = (int) Math.floor(position);
    if (below >= sorted.length - 1) {
      return sorted[sorted.length - 1];
    }
    double share = position - below;
    double step = sorted[below + 1] - sorted[below];
    return share < 0.5 ? sorted[below] + step * share : sorted[below + 1] - step * (1 - share);
  }

  /** numpy's order of additions: eight running sums per block of at most 128, halves above that. */
  private static double pairwiseSum(double[] values, int from, int count) {
    if (count < 8) {
      double sum = 0;
      for (int i = 0; i < count; i++) {
        sum += values[from + i];
      }
      return sum;
    }
    if (count > 128) {
      int half = count / 2 - count / 2 % 8;
      return pairwiseSum(values, from, half) + pairwiseSum(values, from + half, count - half);
    }
    double[] sums = Arrays.copyOfRange(values, from, from + 8);
    int i = 8;
    for (; i < count - count % 8; i += 8) {
      for (int lane = 0; lane < 8; lane++) {
        sums[lane] += values[from + i + lane];
      }
    }
    double sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    for (; i < count; i++) {
      sum += values[from + i];
    }
    return sum;
  }
}
