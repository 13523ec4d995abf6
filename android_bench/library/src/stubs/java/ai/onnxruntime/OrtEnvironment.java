package ai.onnxruntime;

/** Signatures the app uses, for the build without Gradle; never packaged. */
public final class OrtEnvironment {
  private OrtEnvironment() {}

  public static OrtEnvironment getEnvironment() {
    throw new UnsupportedOperationException();
  }

  public OrtSession createSession(String path, OrtSession.SessionOptions options) throws OrtException {
    throw new UnsupportedOperationException();
  }

  public String getVersion() {
    throw new UnsupportedOperationException();
  }
}
