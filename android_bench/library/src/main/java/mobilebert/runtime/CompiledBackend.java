package mobilebert.runtime;

import androidx.annotation.NonNull;
import java.io.File;
import java.io.IOException;

/**
 * .tflite files through LiteRT's CompiledModel on a GPU or an NPU. A model that the GPU does not take whole, or that
 * LiteRT refuses for the NPU, runs on the CPU, as without this class; {@link Model#runtime} says which it was, and why.
 * What LiteRT accepts for an NPU may still run on the CPU in part or whole: LiteRT does not tell, and the report says so.
 *
 * <p>Other processors round in other ways: compare answers and latency with the CPU's before you choose one.
 */
public final class CompiledBackend implements Backend {
  /** Where a model may run beside the CPU. */
  public enum Processor {
    GPU,
    NPU
  }

  private final Processor processor;
  private final Backend cpu;

  /** The processor that is tried first. */
  public CompiledBackend(@NonNull Processor processor) {
    this(processor, Networks.INSTANCE);
  }

  CompiledBackend(Processor processor, Backend cpu) {
    this.processor = processor;
    this.cpu = cpu;
  }

  @NonNull
  @Override
  public Network open(@NonNull File folder, @NonNull ArtefactCard card, int threads) throws IOException {
    if (!card.target.equals("tflite")) {
      throw new IOException("CompiledModel runs .tflite files, and this artefact is for " + card.target);
    }
    String why;
    try {
      return CompiledNetwork.open(new File(folder, card.modelFile), card, processor);
    } catch (IOException | RuntimeException error) {
      why = error.getMessage();
    } catch (LinkageError error) {
      why = "this app has no CompiledModel";
    }
    return new OnTheCpu(cpu.open(folder, card, threads), "not on the " + processor + ": " + why);
  }
}
