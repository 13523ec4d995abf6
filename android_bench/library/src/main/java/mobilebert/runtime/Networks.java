package mobilebert.runtime;

import java.io.File;
import java.io.IOException;

/** The runtime that an artefact's card names: LiteRT or ONNX Runtime, where the app has it. */
final class Networks implements Backend {
  static final Networks INSTANCE = new Networks();

  private static final String ADD_ONNX = "add com.microsoft.onnxruntime:onnxruntime-android to its dependencies";
  private static final String ADD_LITERT = "add com.google.ai.edge.litert:litert to its dependencies";

  private Networks() {}

  /** Throws an {@link IOException} when this build of the app lacks the runtime, or the runtime refuses the file. */
  @Override
  public Network open(File folder, ArtefactCard card, int threads) throws IOException {
    File model = new File(folder, card.modelFile);
    try {
      if (card.target.equals("tflite")) {
        return new LiteRtNetwork(model, card, threads);
      }
      if (card.target.equals("onnx")) {
        return openOnnx(model, card, threads);
      }
    } catch (LinkageError error) {
      throw noRuntime(card.target, error);
    } catch (RuntimeException error) {
      throw new IOException(card.modelFile + " is refused: " + error.getMessage(), error);
    }
    throw new IOException("io.json has an unknown target " + card.target);
  }

  /** ONNX Runtime's own Java classes where the app has them, else our bridge to its library. */
  private static Network openOnnx(File model, ArtefactCard card, int threads) throws IOException {
    try {
      return new OnnxNetwork(model, card, threads);
    } catch (NoClassDefFoundError error) {
      if (!isAbsent(error)) {
        throw error;
      }
    }
    try {
      return new OnnxBridge(model, card, threads);
    } catch (UnsatisfiedLinkError error) {
      throw new IOException("this app has no runtime for .onnx files (" + error.getMessage() + "); " + ADD_ONNX, error);
    }
  }

  /** Does an app lack the class, or has one that failed when it was first used? */
  private static boolean isAbsent(LinkageError error) {
    return error instanceof NoClassDefFoundError && error.getCause() instanceof ClassNotFoundException;
  }

  /** What to say of a runtime that is not there, or is and does not load, such as for want of this processor's library. */
  private static IOException noRuntime(String target, LinkageError error) {
    if (isAbsent(error)) {
      String add = target.equals("onnx") ? ADD_ONNX : ADD_LITERT;
      return new IOException("this app has no runtime for ." + target + " files; " + add, error);
    }
    Throwable cause = error;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return new IOException(
        "the app's runtime for ." + target + " files can't be loaded (" + cause.getMessage() + "); compare the app's "
            + "abiFilters with the phone's processor",
        error);
  }
}
