package mobilebert.runtime;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/**
 * Promise: texts go through Java and the bridge to the logits Python gets from the same runtime, and what ONNX Runtime
 * refuses becomes an exception with its words.
 *
 * <p>tests/test_phone_bridge.py compiles the bridge and writes the artefact and the expected logits.
 */
public final class OnnxBridgeTest {
  @Rule public final TemporaryFolder temporary = new TemporaryFolder();
  private final File folder = new File(System.getProperty("golden"));
  private ArtefactCard card;
  private TextEncoder encoder;
  private OnnxBridge network;

  @Before
  public void open() throws IOException {
    card = ArtefactCard.read(folder);
    encoder = TextEncoder.read(folder, card);
    network = new OnnxBridge(new File(folder, card.modelFile), card, 1);
  }

  @After
  public void close() {
    network.close();
  }

  @Test
  public void logitsEqualPythons() throws Exception {
    Set<Integer> used = new HashSet<Integer>();
    for (Object entry : (List<?>) Json.parse(Files.readText(new File(folder, "expected.json")))) {
      Map<?, ?> row = (Map<?, ?>) entry;
      TextEncoder.Encoded input = encoder.encode((String) row.get("a"), (String) row.get("b"), card.lengths());
      used.add(input.inputIds.length);
      List<?> values = (List<?>) row.get("logits");
      float[] expected = new float[values.size()];
      for (int i = 0; i < expected.length; i++) {
        expected[i] = ((Number) values.get(i)).floatValue();
      }
      assertArrayEquals(expected, network.run(input)[0], 0);
    }
    assertEquals("each bucket is used", card.lengths().length, used.size());
  }

  @Test
  public void theRuntimeSaysItsVersion() {
    assertEquals("ONNX Runtime " + System.getProperty("version"), network.runtime());
  }

  @Test
  public void aRefusedFileIsAnExceptionWithTheReason() {
    final File missing = new File(folder, "nothing.onnx");
    Throwable error =
        assertThrows(
            IOException.class,
            new ThrowingRunnable() {
              @Override
              public void run() throws IOException {
                new OnnxBridge(missing, card, 1);
              }
            });
    assertTrue(error.getMessage(), error.getMessage().contains("nothing.onnx"));
  }

  @Test
  public void anotherNumberOfLabelsIsRefused() throws Exception {
    Map<String, Object> fields = Json.parseObject(Files.readText(new File(folder, "io.json")));
    fields.put("labels", Json.parse("[\"a\", \"b\", \"c\"]"));
    fields.put("outputs", Json.parse(Json.write(fields.get("outputs")).replace("[1,2]", "[1,3]")));
    File other = temporary.newFolder();
    Files.writeText(new File(other, "io.json"), Json.write(fields));
    final OnnxBridge three = new OnnxBridge(new File(folder, card.modelFile), ArtefactCard.read(other), 1);
    assertTrue(messageOf(three).contains("another shape"));
    three.close();
    assertTrue("a closed one never reaches the runtime", messageOf(three).contains("closed"));
  }

  private String messageOf(final OnnxBridge refused) {
    return assertThrows(
            IllegalStateException.class,
            new ThrowingRunnable() {
              @Override
              public void run() {
                refused.run(encoder.encode("one", "other", card.lengths()));
              }
            })
        .getMessage();
  }
}
