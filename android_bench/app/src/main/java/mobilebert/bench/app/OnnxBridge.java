package mobilebert.bench.app;

import java.io.File;
import java.io.IOException;
import mobilebert.bench.core.Network;
import mobilebert.bench.core.PairEncoder;

/**
 * A .onnx file in ONNX Runtime's C library, through app/jni/onnx_bridge.c: the build without Gradle has no other way.
 *
 * <p>No Android imports: the same class is tested on a JVM with the library for Linux. The first use throws a {@link
 * LinkageError} where the libraries were not packaged.
 */
final class OnnxBridge implements Network {
  static {
    // The bridge needs the runtime's symbols, so that one comes first.
    System.loadLibrary("onnxruntime");
    System.loadLibrary("mobilebert_onnx");
  }

  private final int labels;
  private long session;

  OnnxBridge(File model, int labels, int threads) throws IOException {
    this.labels = labels;
    session = open(model.getPath(), threads);
  }

  @Override
  public String runtime() {
    return "ONNX Runtime " + version();
  }

  @Override
  public float[] logits(PairEncoder.Encoded input) {
    if (session == 0) {
      throw new IllegalStateException("inference failed: the network is closed");
    }
    float[] logits = new float[labels];
    run(session, input.inputIds, input.attentionMask, input.tokenTypeIds, logits);
    return logits;
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

  /** Fills the logits; an {@link IllegalStateException} when shapes or names are not the model's. */
  private static native void run(long session, int[] ids, int[] mask, int[] types, float[] logits);

  private static native void release(long session);
}
