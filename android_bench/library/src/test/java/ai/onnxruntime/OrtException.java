package ai.onnxruntime;

/** Of the stand-in for ONNX Runtime. */
public class OrtException extends Exception {
  private static final long serialVersionUID = 1;

  public OrtException(String message) {
    super(message);
  }
}
