package mobilebert.runtime;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.io.File;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/** A .onnx file in ONNX Runtime's CPU provider. */
final class OnnxNetwork implements Network {
  private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
  private final OrtSession session;
  private final ArtefactCard card;
  /** In the card's order, which is the order of the answers. */
  private final Set<String> outputs;

  OnnxNetwork(File model, ArtefactCard card, int threads) throws IOException {
    this.card = card;
    outputs = new LinkedHashSet<String>(card.outputNames());
    try {
      session = open(model, threads);
    } catch (OrtException error) {
      throw new IOException(model.getName() + " is refused: " + error.getMessage(), error);
    }
  }

  private OrtSession open(File model, int threads) throws OrtException {
    OrtSession.SessionOptions options = new OrtSession.SessionOptions();
    try {
      options.setIntraOpNumThreads(threads);
      options.setInterOpNumThreads(1);
      return environment.createSession(model.getPath(), options);
    } finally {
      options.close(); // the session has taken what it needs of them
    }
  }

  @Override
  public String runtime() {
    return "ONNX Runtime " + environment.getVersion();
  }

  @Override
  public float[][] run(TextEncoder.Encoded input) {
    Map<String, OnnxTensor> inputs = new HashMap<String, OnnxTensor>();
    try {
      inputs.put("input_ids", tensor(input.inputIds));
      inputs.put("attention_mask", tensor(input.attentionMask));
      if (card.tokenTypes) {
        inputs.put("token_type_ids", tensor(input.tokenTypeIds));
      }
      OrtSession.Result result = session.run(inputs, outputs);
      try {
        float[][] rows = new float[outputs.size()][];
        for (int i = 0; i < rows.length; i++) {
          rows[i] = flat(result.get(i).getValue());
        }
        return rows;
      } finally {
        result.close();
      }
    } catch (OrtException error) {
      throw new IllegalStateException("inference failed: " + error.getMessage(), error);
    } finally {
      for (OnnxTensor tensor : inputs.values()) {
        tensor.close();
      }
    }
  }

  /** The only entry of the first axis, its rows one after the other. */
  private static float[] flat(Object value) {
    if (value instanceof float[][]) {
      return ((float[][]) value)[0];
    }
    float[][] rows = ((float[][][]) value)[0];
    float[] all = new float[rows.length * rows[0].length];
    for (int i = 0; i < rows.length; i++) {
      System.arraycopy(rows[i], 0, all, i * rows[i].length, rows[i].length);
    }
    return all;
  }

  private OnnxTensor tensor(int[] row) throws OrtException {
    return OnnxTensor.createTensor(environment, new int[][] {row});
  }

  @Override
  public void close() {
    try {
      session.close();
    } catch (OrtException error) {
      throw new IllegalStateException(error);
    }
  }
}
