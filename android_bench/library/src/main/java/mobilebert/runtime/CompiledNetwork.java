package mobilebert.runtime;

import com.google.ai.edge.litert.Accelerator;
import com.google.ai.edge.litert.CompiledModel;
import com.google.ai.edge.litert.LiteRtException;
import com.google.ai.edge.litert.TensorBuffer;
import java.io.File;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** A .tflite file that LiteRT has compiled for one processor, with the tensors of each of its signatures. */
final class CompiledNetwork implements Network {
  private final CompiledModel model;
  private final ArtefactCard card;
  private final CompiledBackend.Processor processor;

  /** Tensors by sequence length. */
  private final Map<Integer, Tensors> tensors = new HashMap<Integer, Tensors>();

  private static final class Tensors {
    final String signature;
    final Map<String, TensorBuffer> inputs = new HashMap<String, TensorBuffer>();

    /** In the card's order, which is the order of the answers. */
    final Map<String, TensorBuffer> outputs = new LinkedHashMap<String, TensorBuffer>();

    Tensors(String signature) {
      this.signature = signature;
    }
  }

  /**
   * For one processor alone. Of the GPU, LiteRT then refuses a model with an operator that would run elsewhere; to the
   * NPU it adds the CPU by itself.
   */
  static CompiledNetwork open(File file, ArtefactCard card, CompiledBackend.Processor processor) throws IOException {
    boolean gpu = processor == CompiledBackend.Processor.GPU;
    CompiledModel.Options options = new CompiledModel.Options(gpu ? Accelerator.GPU : Accelerator.NPU);
    try {
      return new CompiledNetwork(CompiledModel.create(file.getPath(), options), card, processor);
    } catch (LiteRtException error) {
      throw new IOException(error.getMessage(), error);
    }
  }

  /** Takes the model, which is closed where it lacks a tensor of the card. */
  private CompiledNetwork(CompiledModel model, ArtefactCard card, CompiledBackend.Processor processor)
      throws LiteRtException {
    this.model = model;
    this.card = card;
    this.processor = processor;
    boolean whole = false;
    try {
      for (ArtefactCard.Bucket bucket : card.buckets()) {
        Tensors made = new Tensors(bucket.signature);
        tensors.put(bucket.seqLen, made);
        for (String name : new String[] {"input_ids", "attention_mask", "token_type_ids"}) {
          if (card.tokenTypes || !name.equals("token_type_ids")) {
            made.inputs.put(name, model.createInputBuffer(name, bucket.signature));
          }
        }
        for (String name : card.outputNames()) {
          made.outputs.put(name, model.createOutputBuffer(name, bucket.signature));
        }
      }
      whole = true;
    } finally {
      if (!whole) {
        close();
      }
    }
  }

  @Override
  public String runtime() {
    if (processor == CompiledBackend.Processor.GPU) {
      return "LiteRT CompiledModel on the GPU";
    }
    return "LiteRT CompiledModel, asked for the NPU: LiteRT runs what it does not take on the CPU, up to all of it, "
        + "and does not tell";
  }

  @Override
  public float[][] run(TextEncoder.Encoded input) {
    Tensors one = tensors.get(input.inputIds.length);
    try {
      one.inputs.get("input_ids").writeInt(input.inputIds);
      one.inputs.get("attention_mask").writeInt(input.attentionMask);
      if (card.tokenTypes) {
        one.inputs.get("token_type_ids").writeInt(input.tokenTypeIds);
      }
      model.run(one.inputs, one.outputs, one.signature);
      float[][] rows = new float[one.outputs.size()][];
      int i = 0;
      for (TensorBuffer output : one.outputs.values()) {
        rows[i++] = output.readFloat();
      }
      return rows;
    } catch (LiteRtException error) {
      throw new IllegalStateException("inference failed: " + error.getMessage(), error);
    }
  }

  @Override
  public void close() {
    for (Tensors one : tensors.values()) {
      for (TensorBuffer buffer : one.inputs.values()) {
        buffer.close();
      }
      for (TensorBuffer buffer : one.outputs.values()) {
        buffer.close();
      }
    }
    model.close();
  }
}
