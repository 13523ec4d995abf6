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

  /** Product of two vectors of one size. */
  static float dot(float[] one, float[] other) {
    double sum = 0;
    for (int i = 0; i < one.length; i++) {
      sum += (double) one[i] * other[i];
    }
    return (float) sum;
  }

  /** Product of a vector with one in bytes. */
  static float dot(float[] one, byte[] other) {
    double sum = 0;
    for (int i = 0; i < one.length; i++) {
      sum += (double) one[i] * other[i];
    }
    return (float) sum;
  }
}
