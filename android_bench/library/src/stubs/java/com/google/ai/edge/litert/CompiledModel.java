package com.google.ai.edge.litert;

import java.util.Map;

/** Signatures the app uses, for the build without Gradle; never packaged. */
public final class CompiledModel implements AutoCloseable {
  /** See LiteRT's documentation. */
  public static final class Options {
    public Options(Accelerator... accelerators) {
      throw new UnsupportedOperationException();
    }
  }

  private CompiledModel() {}

  public static CompiledModel create(String filePath, Options options) throws LiteRtException {
    throw new UnsupportedOperationException();
  }

  public TensorBuffer createInputBuffer(String inputName, String signature) throws LiteRtException {
    throw new UnsupportedOperationException();
  }

  public TensorBuffer createOutputBuffer(String outputName, String signature) throws LiteRtException {
    throw new UnsupportedOperationException();
  }

  public void run(Map<String, TensorBuffer> inputs, Map<String, TensorBuffer> outputs, String signature)
      throws LiteRtException {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }
}
