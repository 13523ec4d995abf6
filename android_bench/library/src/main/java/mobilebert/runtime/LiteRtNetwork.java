package mobilebert.runtime;

import java.io.File;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.tensorflow.lite.Interpreter;
import org.tensorflow.lite.TensorFlowLite;

/** A .tflite file in LiteRT with XNNPACK. Inputs and outputs are found by name. */
final class LiteRtNetwork implements Network {
  private final Interpreter interpreter;
  /** Name of the signature by sequence length. */
  private final Map<Integer, String> signatures = new HashMap<Integer, String>();

  private final ArtefactCard card;
  private final Map<String, Object> inputs = new HashMap<String, Object>();

  LiteRtNetwork(File model, ArtefactCard card, int threads) throws IOException {
    Interpreter.Options options = new Interpreter.Options();
    options.setNumThreads(threads);
    options.setUseXNNPACK(true);
    interpreter = new Interpreter(Files.map(model), options);
    List<String> known = Arrays.asList(interpreter.getSignatureKeys());
    for (ArtefactCard.Bucket bucket : card.buckets()) {
      String name = bucket.signature == null && known.size() == 1 ? known.get(0) : bucket.signature;
      if (!known.contains(name)) {
        interpreter.close();
        throw new IOException(model.getName() + " has no signature " + name + "; export the artefact again");
      }
      signatures.put(bucket.seqLen, name);
    }
    interpreter.allocateTensors();
    this.card = card;
  }

  @Override
  public String runtime() {
    return "LiteRT " + TensorFlowLite.runtimeVersion();
  }

  @Override
  public float[][] run(TextEncoder.Encoded input) {
    inputs.put("input_ids", new int[][] {input.inputIds});
    inputs.put("attention_mask", new int[][] {input.attentionMask});
    if (card.tokenTypes) {
      inputs.put("token_type_ids", new int[][] {input.tokenTypeIds});
    }
    Map<String, Object> outputs = new HashMap<String, Object>();
    List<FloatBuffer> buffers = new ArrayList<FloatBuffer>();
    for (String name : card.outputNames()) {
      FloatBuffer buffer = FloatBuffer.allocate(card.outputSize(name, input.inputIds.length));
      outputs.put(name, buffer);
      buffers.add(buffer);
    }
    interpreter.runSignature(inputs, outputs, signatures.get(input.inputIds.length));
    float[][] rows = new float[buffers.size()][];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = buffers.get(i).array();
    }
    return rows;
  }

  @Override
  public void close() {
    interpreter.close();
  }
}
