package ai.onnxruntime;

/** Signatures the app uses, for the build without Gradle; never packaged. */
public interface OnnxValue extends AutoCloseable {
  Object getValue() throws OrtException;

  @Override
  void close();
}
