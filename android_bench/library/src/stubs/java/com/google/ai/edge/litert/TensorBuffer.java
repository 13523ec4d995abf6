package com.google.ai.edge.litert;

/** Signatures the app uses, for the build without Gradle; never packaged. */
public final class TensorBuffer implements AutoCloseable {
  TensorBuffer() {}

  public void writeInt(int[] data) throws LiteRtException {
    throw new UnsupportedOperationException();
  }

  public float[] readFloat() throws LiteRtException {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }
}
