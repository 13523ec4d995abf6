package mobilebert.runtime;

import java.io.File;
import java.io.IOException;

/** The runtime that an artefact's card names: LiteRT or ONNX Runtime, where the app has it. */
final class Networks implements Backend {
  static final Networks INSTANCE = new Networks();

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
      throw new IOException("this app has no runtime for ." + card.target + " files; add it to the app's dependencies", error);
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
