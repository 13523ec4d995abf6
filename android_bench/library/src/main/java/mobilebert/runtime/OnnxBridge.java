package mobilebert.runtime;

import java.io.File;
import java.io.IOException;

/**
 * A .onnx file in ONNX Runtime's C library, through library/jni/onnx_bridge.c: the build without Gradle has no other way.
 *
 * <p>No Android imports: the same class is tested on a JVM with the library for Linux. Where the libraries were
 * not packaged, each object throws an {@link UnsatisfiedLinkError} that says which one, and why.
 */
final class OnnxBridge implements Network {
  private final ArtefactCard card;
  private final String[] names;
  private long session;

  OnnxBridge(File model, ArtefactCard card, int threads) throws IOException {
    // The bridge needs the runtime's symbols, so that one comes first. Not in a static block: a class whose block failed
    // says nothing of the reason when it is used again.
    System.loadLibrary("onnxruntime");
    System.loadLibrary("mobilebert_onnx");
    this.card = card;
    names = card.outputNames().toArray(new String[0]);
    session = open(model.getPath(), threads);
  }

  @Override
  public String runtime() {
    return "ONNX Runtime " + version();
  }

  @Override
  public float[][] run(TextEncoder.Encoded input) {
    if (session == 0) {
      throw new IllegalStateException("inference failed: the network is closed");
    }
    float[][] rows = new float[names.length][];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = new float[card.outputSize(names[i], input.inputIds.length)];
    }
    int[] types = card.tokenTypes ? input.tokenTypeIds : null;
    run(session, input.inputIds, input.attentionMask, types, names, rows);
    return rows;
  }

  @Override
  public void close() {
    if (session != 0) {
      release(session);
      session = 0;
    }
  }

  private static native String version();

  /** Address of a session; an {@link IOException} with the runtime's words when it refuses the file. */
  private static native long open(String path, int threads) throws IOException;

  /**
   * Fills a row for each named output, two at most; types are null where the network has no such input. An {@link
   * IllegalStateException} when shapes or names are not the model's.
   */
  private static native void run(long session, int[] ids, int[] mask, int[] types, String[] names, float[][] rows);

  private static native void release(long session);
}
