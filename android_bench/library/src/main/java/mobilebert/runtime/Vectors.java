package mobilebert.runtime;

/** Vectors of length 1 and their products. */
final class Vectors {
  private Vectors() {}

  /** The vector divided by its length; an {@link IllegalStateException} where it has none. */
  static float[] unit(float[] vector) {
    double sum = 0;
    for (float value : vector) {
      sum += (double) value * value;
    }
    if (sum == 0) {
      throw new IllegalStateException("a vector is zero, so it has no direction");
    }
    float length = (float) Math.sqrt(sum);
    float[] unit = new float[vector.length];
    for (int i = 0; i < unit.length; i++) {
      unit[i] = vector[i] / length;
    }
    return unit;
  }

  /** A product of vectors as a cosine: of rounded ones it may be beyond 1 or -1 by a little. */
  static float cosine(float product) {
    return Math.max(-1, Math.min(1, product));
  }

  /** Product of a vector with as many numbers of a row of bytes; four sums, so that none waits for the one before. */
  static float dot(float[] vector, byte[] rows, int from) {
    double a = 0;
    double b = 0;
    double c = 0;
    double d = 0;
    int i = 0;
    for (; i + 3 < vector.length; i += 4) {
      a += vector[i] * (double) rows[from + i];
      b += vector[i + 1] * (double) rows[from + i + 1];
      c += vector[i + 2] * (double) rows[from + i + 2];
      d += vector[i + 3] * (double) rows[from + i + 3];
    }
    for (; i < vector.length; i++) {
      a += vector[i] * (double) rows[from + i];
    }
    return (float) (a + b + (c + d));
  }

  /** The same of floats. */
  static float dot(float[] vector, float[] rows, int from) {
    double a = 0;
    double b = 0;
    double c = 0;
    double d = 0;
    int i = 0;
    for (; i + 3 < vector.length; i += 4) {
      a += vector[i] * (double) rows[from + i];
      b += vector[i + 1] * (double) rows[from + i + 1];
      c += vector[i + 2] * (double) rows[from + i + 2];
      d += vector[i + 3] * (double) rows[from + i + 3];
    }
    for (; i < vector.length; i++) {
      a += vector[i] * (double) rows[from + i];
    }
    return (float) (a + b + (c + d));
  }
}
