package mobilebert.bench.app;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.io.File;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import mobilebert.bench.core.Network;
import mobilebert.bench.core.PairEncoder;

/** A .onnx file in ONNX Runtime's CPU provider. */
final class OnnxNetwork implements Network {
  private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
  private final OrtSession session;

  OnnxNetwork(File model, int threads) throws IOException {
    try {
      OrtSession.SessionOptions options = new OrtSession.SessionOptions();
      options.setIntraOpNumThreads(threads);
      options.setInterOpNumThreads(1);
      session = environment.createSession(model.getPath(), options);
    } catch (OrtException error) {
      throw new IOException(model.getName() + " is refused: " + error.getMessage(), error);
    }
  }

  @Override
  public String runtime() {
    return "ONNX Runtime " + environment.getVersion();
  }

  @Override
  public float[] logits(PairEncoder.Encoded input) {
    Map<String, OnnxTensor> inputs = new HashMap<String, OnnxTensor>();
    try {
      inputs.put("input_ids", tensor(input.inputIds));
      inputs.put("attention_mask", tensor(input.attentionMask));
      inputs.put("token_type_ids", tensor(input.tokenTypeIds));
      OrtSession.Result result = session.run(inputs);
      try {
        return ((float[][]) result.get(0).getValue())[0];
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

  private OnnxTensor tensor(int[] row) throws OrtException {
    return OnnxTensor.createTensor(environment, new int[][] {row});
  }

  @Override
  public void close() throws IOException {
    try {
      session.close();
    } catch (OrtException error) {
      throw new IOException(error);
    }
  }
}
