package mobilebert.bench.app;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.HashMap;
import java.util.Map;
import mobilebert.bench.core.Network;
import mobilebert.bench.core.PairEncoder;
import org.tensorflow.lite.Interpreter;
import org.tensorflow.lite.TensorFlowLite;

/** A .tflite file in LiteRT with XNNPACK. Inputs and the output are found by name. */
final class LiteRtNetwork implements Network {
  private final Interpreter interpreter;
  private final String signature;
  private final float[][] logits;
  private final Map<String, Object> inputs = new HashMap<String, Object>();
  private final Map<String, Object> outputs = new HashMap<String, Object>();

  LiteRtNetwork(File model, int labels, int threads) throws IOException {
    Interpreter.Options options = new Interpreter.Options();
    options.setNumThreads(threads);
    options.setUseXNNPACK(true);
    interpreter = new Interpreter(map(model), options);
    signature = interpreter.getSignatureKeys()[0];
    interpreter.allocateTensors();
    logits = new float[1][labels];
    outputs.put("logits", logits);
  }

  /** Mapped, not read: the weights stay out of the Java heap and are paged in when first used. */
  private static MappedByteBuffer map(File model) throws IOException {
    RandomAccessFile file = new RandomAccessFile(model, "r");
    try {
      return file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, file.length());
    } finally {
      file.close();
    }
  }

  @Override
  public String runtime() {
    return "LiteRT " + TensorFlowLite.runtimeVersion();
  }

  @Override
  public float[] logits(PairEncoder.Encoded input) {
    inputs.put("input_ids", new int[][] {input.inputIds});
    inputs.put("attention_mask", new int[][] {input.attentionMask});
    inputs.put("token_type_ids", new int[][] {input.tokenTypeIds});
    interpreter.runSignature(inputs, outputs, signature);
    return logits[0];
  }

  @Override
  public void close() {
    interpreter.close();
  }
}
