package ai.onnxruntime;

/** Of the stand-in for ONNX Runtime. */
public interface OnnxValue extends AutoCloseable {
  Object getValue() throws OrtException;

  @Override
  void close();
}
