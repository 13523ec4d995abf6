package mobilebert.runtime;

import java.util.Arrays;

/** Vectors of length 1 in a byte a number, one after the other in one array, each with what its bytes are multiplied by. */
final class ByteRows {
  private static final int LARGEST_ARRAY = Integer.MAX_VALUE - 8;

  private static final int LARGEST_BYTE = 128;

  /** A number of the query is told in so many steps at most; their products with bytes then add up to an int. */
  private static final int MOST_STEPS = 32767;

  /** More than what floats lose where an estimate is computed. */
  private static final float ROUNDING = 1e-5f;

  final int size;
  private byte[] bytes;
  private float[] scales;
  private int count;

  /** No rows, of vectors of so many numbers. */
  ByteRows(int size) {
    this(size, new byte[0], new float[0]);
  }

  /** The rows of an array, which this object then owns. */
  ByteRows(int size, byte[] bytes, float[] scales) {
    this.size = size;
    this.bytes = bytes;
    this.scales = scales;
    count = scales.length;
  }

  int count() {
    return count;
  }

  /** Writes a row, or one more where it is the first that is free, as Python's Index.build does. */
  void put(int row, float[] vector) {
    if (vector.length != size) {
      throw new IllegalArgumentException("a vector has " + vector.length + " numbers, and the index " + size);
    }
    float[] unit = Vectors.unit(vector);
    if (row == count) {
      grow();
      count++;
    }
    float largest = 0;
    for (float value : unit) {
      largest = Math.max(largest, Math.abs(value));
    }
    scales[row] = largest / 127;
    for (int i = 0; i < size; i++) {
      bytes[row * size + i] = (byte) Math.rint(unit[i] / scales[row]);
    }
  }

  private void grow() {
    if (count == scales.length) {
      int room = Math.min(Math.max(16, count + count / 2), LARGEST_ARRAY / size);
      if (room == count) {
        throw new IllegalStateException(count + " vectors of " + size + " numbers are all that an index holds");
      }
      scales = Arrays.copyOf(scales, room);
      bytes = Arrays.copyOf(bytes, room * size);
    }
  }

  /** Removes a row; the last one takes its place. */
  void remove(int row) {
    count--;
    System.arraycopy(bytes, count * size, bytes, row * size, size);
    scales[row] = scales[count];
  }

  /** The bytes of all rows, and nothing else. */
  byte[] toBytes() {
    return Arrays.copyOf(bytes, count * size);
  }

  float[] toScales() {
    return Arrays.copyOf(scales, count);
  }

  /** A row as numbers. */
  float[] toFloats(int row) {
    float[] found = new float[size];
    for (int i = 0; i < size; i++) {
      found[i] = scales[row] * bytes[row * size + i];
    }
    return found;
  }

  /** The cosine of a vector of length 1 with a row. */
  float score(float[] unit, int row) {
    return Vectors.cosine(scales[row] * Vectors.dot(unit, bytes, row * size));
  }

  /**
   * Places of the rows with the highest cosines with a vector of length 1, in no order. Each row's product is estimated
   * in whole numbers first, which a processor multiplies in a fraction of the time; those that may be among the highest
   * are then computed. Rows beyond 1 are equals, of which the first ones are the highest.
   */
  BestPlaces nearest(float[] unit, int most) {
    int[] steps = new int[size];
    float step = steps(unit, steps);
    // Half a step for each number, times the largest byte.
    float unsure = 0.5f * step * LARGEST_BYTE * size;
    float[] estimates = new float[count];
    BestPlaces sure = new BestPlaces(Math.min(most, count));
    for (int row = 0; row < count; row++) {
      estimates[row] = scales[row] * step * dot(steps, bytes, row * size);
      sure.offer(Vectors.cosine(estimates[row] - scales[row] * unsure - ROUNDING), row);
    }
    float least = sure.worst();
    BestPlaces best = new BestPlaces(Math.min(most, count));
    for (int row = 0; row < count; row++) {
      if (Vectors.cosine(estimates[row] + scales[row] * unsure + ROUNDING) >= least) {
        best.offer(score(unit, row), row);
      }
    }
    return best;
  }

  /** A vector in whole steps; how large a step is. */
  private float steps(float[] unit, int... steps) {
    float largest = 0;
    for (float value : unit) {
      largest = Math.max(largest, Math.abs(value));
    }
    float step = largest / Math.min(MOST_STEPS, Integer.MAX_VALUE / LARGEST_BYTE / size);
    for (int i = 0; i < size; i++) {
      steps[i] = Math.round(unit[i] / step);
    }
    return step;
  }

  private static int dot(int[] steps, byte[] rows, int from) {
    int sum = 0;
    for (int i = 0; i < steps.length; i++) {
      sum += steps[i] * rows[from + i];
    }
    return sum;
  }
}
