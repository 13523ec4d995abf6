package ai.onnxruntime;

/** Signatures the app uses, for the build without Gradle; never packaged. */
public class OrtException extends Exception {
  private static final long serialVersionUID = 1;
}
