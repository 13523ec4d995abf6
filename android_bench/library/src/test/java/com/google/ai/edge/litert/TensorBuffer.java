package com.google.ai.edge.litert;

/** Of the stand-in for LiteRT: an array. */
public final class TensorBuffer implements AutoCloseable {
  int[] written;
  float[] answer;
  public boolean closed;

  public void writeInt(int[] data) {
    written = data.clone();
  }

  public float[] readFloat() {
    return answer;
  }

  @Override
  public void close() {
    closed = true;
  }
}
