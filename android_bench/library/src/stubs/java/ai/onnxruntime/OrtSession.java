package ai.onnxruntime;

import java.util.Map;
import java.util.Set;

/** Signatures the app uses, for the build without Gradle; never packaged. */
public class OrtSession implements AutoCloseable {
  /** See ONNX Runtime's documentation. */
  public static class SessionOptions implements AutoCloseable {
    public void setIntraOpNumThreads(int threads) throws OrtException {
      throw new UnsupportedOperationException();
    }

    public void setInterOpNumThreads(int threads) throws OrtException {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      throw new UnsupportedOperationException();
    }
  }

  /** See ONNX Runtime's documentation. */
  public static class Result {
    public OnnxValue get(int index) {
      throw new UnsupportedOperationException();
    }

    public void close() {
      throw new UnsupportedOperationException();
    }
  }

  public Result run(Map<String, OnnxTensor> inputs, Set<String> outputs) throws OrtException {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() throws OrtException {
    throw new UnsupportedOperationException();
  }
}
