package com.google.ai.edge.litert;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Stands in for LiteRT: it takes what `refused` does not say, and answers with sums of its inputs. */
public final class CompiledModel implements AutoCloseable {
  /** What create throws; null where it compiles. */
  public static String refused;

  /** What was asked for, in order. */
  public static final List<String> LOG = new ArrayList<String>();

  /** Every buffer that was made. */
  public static final List<TensorBuffer> BUFFERS = new ArrayList<TensorBuffer>();

  /** Of the stand-in. */
  public static final class Options {
    final String names;

    public Options(Accelerator... accelerators) {
      names = Arrays.toString(accelerators);
    }
  }

  private CompiledModel() {}

  public static CompiledModel create(String filePath, Options options) throws LiteRtException {
    LOG.add("create " + options.names);
    if (refused != null) {
      throw new LiteRtException(504, refused);
    }
    return new CompiledModel();
  }

  public TensorBuffer createInputBuffer(String inputName, String signature) throws LiteRtException {
    return buffer(inputName);
  }

  public TensorBuffer createOutputBuffer(String outputName, String signature) throws LiteRtException {
    return buffer(outputName);
  }

  private static TensorBuffer buffer(String name) throws LiteRtException {
    if (name.equals("missing")) {
      throw new LiteRtException(6, "no tensor " + name);
    }
    TensorBuffer made = new TensorBuffer();
    BUFFERS.add(made);
    return made;
  }

  /** Output number n: the sum of the ids under the mask, and n. */
  public void run(Map<String, TensorBuffer> inputs, Map<String, TensorBuffer> outputs, String signature)
      throws LiteRtException {
    LOG.add("run " + signature + " " + inputs.keySet().size());
    int[] ids = inputs.get("input_ids").written;
    int[] mask = inputs.get("attention_mask").written;
    int sum = 0;
    for (int i = 0; i < ids.length; i++) {
      sum += ids[i] * mask[i];
    }
    int number = 0;
    for (TensorBuffer output : outputs.values()) {
      output.answer = new float[] {sum, number++};
    }
  }

  @Override
  public void close() {
    LOG.add("close");
  }
}
