package org.tensorflow.lite;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.Map;

/** Stands in for LiteRT: a signature for each length from the model's first bytes, and sums of the ids as answers. */
public class Interpreter {
  private final int signatures;

  /** Of the stand-in. */
  public static class Options {
    public Options setNumThreads(int threads) {
      return this;
    }

    public Options setUseXNNPACK(boolean use) {
      return this;
    }
  }

  public Interpreter(ByteBuffer model, Options options) {
    signatures = model.get(0);
  }

  public String[] getSignatureKeys() {
    String[] keys = new String[signatures];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = "s" + i;
    }
    return keys;
  }

  public void allocateTensors() {}

  public void runSignature(Map<String, Object> inputs, Map<String, Object> outputs, String key) {
    int[] ids = ((int[][]) inputs.get("input_ids"))[0];
    int[] mask = ((int[][]) inputs.get("attention_mask"))[0];
    for (Object output : outputs.values()) {
      FloatBuffer values = (FloatBuffer) output;
      for (int i = 0; i < values.capacity(); i++) {
        double sum = 0;
        for (int token = 0; token < ids.length; token++) {
          sum += mask[token] * Math.sin(ids[token] * (i + 1) + token);
        }
        values.put(i, (float) sum);
      }
    }
  }

  public void close() {}
}
