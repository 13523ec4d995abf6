package mobilebert.runtime;

import java.io.File;
import java.io.IOException;

/** Opens an artefact's model in the runtime its card names. */
public final class Networks {
  private Networks() {}

  /** Throws an {@link IOException} when this build of the app lacks the runtime, or the runtime refuses the file. */
  public static Network open(File folder, ArtefactCard card, int threads) throws IOException {
    File model = new File(folder, card.modelFile);
    try {
      if (card.target.equals("tflite")) {
        return new LiteRtNetwork(model, card, threads);
      }
      if (card.target.equals("onnx")) {
        return openOnnx(model, card, threads);
      }
    } catch (LinkageError error) {
      throw new IOException("this build has no " + card.target + " runtime; build the app with Gradle", error);
    } catch (RuntimeException error) {
      throw new IOException(card.modelFile + " is refused: " + error.getMessage(), error);
    }
    throw new IOException("io.json has an unknown target " + card.target);
  }

  /** In a Gradle build ONNX Runtime's own Java classes, in a plain build our bridge to its library. */
  private static Network openOnnx(File model, ArtefactCard card, int threads) throws IOException {
    try {
      return new OnnxNetwork(model, card, threads);
    } catch (LinkageError noJavaClasses) {
      return new OnnxBridge(model, card, threads);
    }
  }
}
