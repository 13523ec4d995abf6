package org.tensorflow.lite;

/** Signatures the app uses, for the build without Gradle; never packaged. */
public final class TensorFlowLite {
  private TensorFlowLite() {}

  public static String runtimeVersion() {
    throw new UnsupportedOperationException();
  }
}
