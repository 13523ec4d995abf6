package ai.onnxruntime;

import java.util.Map;
import java.util.Set;

/** Of the stand-in for ONNX Runtime: two logits, the ids' sum and its opposite. */
public class OrtSession implements AutoCloseable {
  OrtSession() {
    OrtEnvironment.open++;
  }

  /** Of the stand-in. */
  public static class SessionOptions implements AutoCloseable {
    public SessionOptions() {
      OrtEnvironment.open++;
    }

    public void setIntraOpNumThreads(int count) throws OrtException {}

    public void setInterOpNumThreads(int count) throws OrtException {}

    @Override
    public void close() {
      OrtEnvironment.open--;
    }
  }

  /** Of the stand-in. */
  public static class Result implements AutoCloseable {
    private final OnnxValue[] values;

    Result(OnnxValue... values) {
      this.values = values;
    }

    public OnnxValue get(int index) {
      return values[index];
    }

    @Override
    public void close() {
      for (OnnxValue value : values) {
        value.close();
      }
    }
  }

  public Result run(Map<String, OnnxTensor> inputs, Set<String> outputs) throws OrtException {
    float sum = 0;
    for (int id : ((int[][]) inputs.get("input_ids").getValue())[0]) {
      sum += id;
    }
    return new Result(new OnnxTensor(new float[][] {{sum, -sum}}));
  }

  @Override
  public void close() throws OrtException {
    OrtEnvironment.open--;
  }
}
