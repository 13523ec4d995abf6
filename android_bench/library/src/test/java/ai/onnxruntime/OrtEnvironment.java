package ai.onnxruntime;

/** Of the stand-in for ONNX Runtime: it counts what is open, and fails as it is told. */
public final class OrtEnvironment {
  /** What the native library's loading says; null where it loads. */
  public static String missing;

  /** What a session says of every model; null where it takes them. */
  public static String refused;

  /** Sessions, their options and tensors that were made and not closed. */
  public static int open;

  private OrtEnvironment() {}

  public static OrtEnvironment getEnvironment() {
    if (missing != null) {
      throw new UnsatisfiedLinkError(missing);
    }
    return new OrtEnvironment();
  }

  public OrtSession createSession(String path, OrtSession.SessionOptions options) throws OrtException {
    if (refused != null) {
      throw new OrtException(refused);
    }
    return new OrtSession();
  }

  public String getVersion() {
    return "stand-in";
  }
}
