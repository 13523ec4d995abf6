package ai.onnxruntime;

/** Of the stand-in for ONNX Runtime: an array. */
public class OnnxTensor implements OnnxValue {
  private final Object data;

  OnnxTensor(Object data) {
    this.data = data;
    OrtEnvironment.open++;
  }

  public static OnnxTensor createTensor(OrtEnvironment environment, Object data) throws OrtException {
    return new OnnxTensor(data);
  }

  @Override
  public Object getValue() throws OrtException {
    return data;
  }

  @Override
  public void close() {
    OrtEnvironment.open--;
  }
}
