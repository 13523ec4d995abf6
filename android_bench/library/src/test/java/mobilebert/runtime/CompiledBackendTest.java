package mobilebert.runtime;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.ai.edge.litert.CompiledModel;
import com.google.ai.edge.litert.TensorBuffer;
import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** Promise: a model runs whole on the processor that was asked for, or on the CPU, and the report says which. */
public final class CompiledBackendTest {
  private static final float[] ON_THE_CPU = {7};

  @Rule public final TemporaryFolder temporary = new TemporaryFolder();

  private boolean cpuClosed;

  @Before
  public void forget() {
    CompiledModel.refused = null;
    CompiledModel.LOG.clear();
    CompiledModel.BUFFERS.clear();
  }

  private final Backend cpu =
      new Backend() {
        @Override
        public Network open(File folder, ArtefactCard card, final int threads) {
          return new Network() {
            @Override
            public String runtime() {
              return "LiteRT 2 with " + threads + " threads";
            }

            @Override
            public float[][] run(TextEncoder.Encoded input) {
              return new float[][] {ON_THE_CPU};
            }

            @Override
            public void close() {
              cpuClosed = true;
            }
          };
        }
      };

  @Test
  public void aModelThatThePhoneTakesRunsThereAlone() throws Exception {
    ArtefactCard card = card("tflite", "a");
    Network network = new CompiledBackend(CompiledBackend.Processor.GPU, cpu).open(temporary.getRoot(), card, 3);
    assertEquals("LiteRT CompiledModel on the GPU", network.runtime());
    assertEquals(11 + 12f, network.run(input(16))[0][0], 0);
    assertEquals(11 + 12f, network.run(input(64))[0][0], 0);
    int inputs = card.tokenTypes ? 3 : 2;
    assertEquals(
        Arrays.asList("create [GPU]", "run short " + inputs, "run a " + inputs), CompiledModel.LOG);
    network.close();
    assertEquals("close", CompiledModel.LOG.get(3));
    for (TensorBuffer buffer : CompiledModel.BUFFERS) {
      assertTrue(buffer.closed);
    }
  }

  @Test
  public void whatRanOnAnNpuIsNotSaidForLiteRtDoesNotTell() throws Exception {
    Network network =
        new CompiledBackend(CompiledBackend.Processor.NPU, cpu).open(temporary.getRoot(), card("tflite", "a"), 3);
    assertEquals(
        "LiteRT CompiledModel, asked for the NPU: LiteRT runs what it does not take on the CPU, up to all of it, and does "
            + "not tell",
        network.runtime());
  }

  @Test
  public void aModelThatItRefusesRunsOnTheCpuAndTheReportSaysWhy() throws Exception {
    CompiledModel.refused = "some operators are not accelerated";
    Network network =
        new CompiledBackend(CompiledBackend.Processor.NPU, cpu).open(temporary.getRoot(), card("tflite", "a"), 3);
    assertEquals(
        "LiteRT 2 with 3 threads on the CPU (not on the NPU: some operators are not accelerated)", network.runtime());
    assertEquals(Arrays.asList("create [NPU]"), CompiledModel.LOG);
    assertArrayEquals(ON_THE_CPU, network.run(input(16))[0], 0);
    network.close();
    assertTrue(cpuClosed);
  }

  @Test
  public void anArtefactForAnotherRuntimeIsRefused() throws Exception {
    final ArtefactCard card = card("onnx", null);
    IOException error =
        assertThrows(
            IOException.class,
            new ThrowingRunnable() {
              @Override
              public void run() throws IOException {
                new CompiledBackend(CompiledBackend.Processor.GPU, cpu).open(temporary.getRoot(), card, 1);
              }
            });
    assertTrue(error.getMessage().contains("onnx"));
    assertTrue(CompiledModel.LOG.isEmpty());
  }

  private static TextEncoder.Encoded input(int length) {
    TextEncoder.Encoded input = new TextEncoder.Encoded(length, 2, 99);
    input.inputIds[0] = 11;
    input.inputIds[1] = 12;
    return input;
  }

  /** The card of the first vector with two lengths. */
  private ArtefactCard card(String target, String signature) throws Exception {
    Object row = Golden.rows("decisions.json").get(0).get("card");
    Map<String, Object> card = Json.parseObject(Json.write(row).replace("[1,16]", "[1,64]").replace("tflite", target));
    String name = signature == null ? "null" : '"' + signature + '"';
    String less = signature == null ? "null" : "\"short\"";
    card.put("seq_len", 64);
    card.put(
        "buckets",
        Json.parse("[{\"seq_len\": 16, \"signature\": " + less + "}, {\"seq_len\": 64, \"signature\": " + name + "}]"));
    File folder = temporary.newFolder();
    Files.writeText(new File(folder, "io.json"), Json.write(card));
    return ArtefactCard.read(folder);
  }
}
