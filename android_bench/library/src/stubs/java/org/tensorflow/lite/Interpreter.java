package org.tensorflow.lite;

import java.nio.ByteBuffer;
import java.util.Map;

/** Signatures the app uses, for the build without Gradle; never packaged. */
public class Interpreter {
  /** See LiteRT's documentation. */
  public static class Options {
    public Options setNumThreads(int threads) {
      throw new UnsupportedOperationException();
    }

    public Options setUseXNNPACK(boolean use) {
      throw new UnsupportedOperationException();
    }
  }

  public Interpreter(ByteBuffer model, Options options) {
    throw new UnsupportedOperationException();
  }

  public String[] getSignatureKeys() {
    throw new UnsupportedOperationException();
  }

  public void allocateTensors() {
    throw new UnsupportedOperationException();
  }

  public void runSignature(Map<String, Object> inputs, Map<String, Object> outputs, String key) {
    throw new UnsupportedOperationException();
  }

  public void close() {
    throw new UnsupportedOperationException();
  }
}
