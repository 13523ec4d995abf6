package ai.onnxruntime;

/** Signatures the app uses, for the build without Gradle; never packaged. */
public class OnnxTensor implements OnnxValue {
  public static OnnxTensor createTensor(OrtEnvironment environment, Object data) throws OrtException {
    throw new UnsupportedOperationException();
  }

  @Override
  public Object getValue() throws OrtException {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }
}
