package org.tensorflow.lite;

/** Of the stand-in for LiteRT. */
public final class TensorFlowLite {
  private TensorFlowLite() {}

  public static String runtimeVersion() {
    return "stand-in";
  }
}
