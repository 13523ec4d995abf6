package mobilebert.runtime;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import ai.onnxruntime.OrtEnvironment;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** Promise: ONNX Runtime's objects are closed, and an app without a runtime is told from one whose runtime fails. */
public final class NetworksTest {
  @Rule public final TemporaryFolder temporary = new TemporaryFolder();

  @Before
  public void forget() {
    OrtEnvironment.missing = null;
    OrtEnvironment.refused = null;
    OrtEnvironment.open = 0;
  }

  @Test
  public void everythingThatWasOpenedIsClosed() throws Exception {
    Network network = Networks.INSTANCE.open(temporary.getRoot(), card(), 2);
    assertEquals("the session alone", 1, OrtEnvironment.open);
    TextEncoder.Encoded input = new TextEncoder.Encoded(16, 2, 1);
    assertArrayEquals(new float[] {14, -14}, network.run(input)[0], 0);
    assertEquals(1, OrtEnvironment.open);
    network.close();
    assertEquals(0, OrtEnvironment.open);
  }

  @Test
  public void aRefusedModelLeavesNothingOpen() throws Exception {
    OrtEnvironment.refused = "no such operator";
    assertEquals("model.onnx is refused: no such operator", message());
    assertEquals(0, OrtEnvironment.open);
  }

  @Test
  public void aRuntimeThatDoesNotLoadIsNotCalledAbsent() throws Exception {
    OrtEnvironment.missing = "dlopen failed: libonnxruntime4j_jni.so is 64-bit instead of 32-bit";
    String said = message();
    assertTrue(said, said.contains("can't be loaded (dlopen failed: libonnxruntime4j_jni.so is 64-bit"));
    assertTrue(said, said.contains("abiFilters"));
  }

  @Test
  public void anAppWithoutItIsToldWhatToAdd() throws Exception {
    Object said =
        new WithoutRuntime().loadClass(Opener.class.getName()).getMethod("message", File.class).invoke(null, folder());
    assertTrue(
        (String) said,
        ((String) said).matches(
            "this app has no runtime for .onnx files \\(no onnxruntime in java.library.path.*\\); add "
                + "com.microsoft.onnxruntime:onnxruntime-android to its dependencies"));
  }

  /** Opens a folder's model: a class of its own, which a loader can load again. */
  public static final class Opener {
    private Opener() {}

    public static String message(File folder) throws IOException {
      try {
        Networks.INSTANCE.open(folder, ArtefactCard.read(folder), 1);
        return "opened";
      } catch (IOException error) {
        return error.getMessage();
      }
    }
  }

  /** The library's classes once more, where ONNX Runtime's are not to be found. */
  private static final class WithoutRuntime extends ClassLoader {
    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (name.startsWith("ai.onnxruntime")) {
        throw new ClassNotFoundException(name);
      }
      if (!name.startsWith("mobilebert.runtime")) {
        return super.loadClass(name, resolve);
      }
      Class<?> before = findLoadedClass(name);
      if (before != null) {
        return before;
      }
      try (InputStream stream = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Files.copy(stream, bytes);
        return defineClass(name, bytes.toByteArray(), 0, bytes.size());
      } catch (IOException error) {
        throw new ClassNotFoundException(name, error);
      }
    }
  }

  private String message() throws Exception {
    final ArtefactCard card = card();
    return assertThrows(
            IOException.class,
            new ThrowingRunnable() {
              @Override
              public void run() throws IOException {
                Networks.INSTANCE.open(temporary.getRoot(), card, 1);
              }
            })
        .getMessage();
  }

  private ArtefactCard card() throws Exception {
    return ArtefactCard.read(folder());
  }

  private File folder() throws Exception {
    Object row = Golden.rows("decisions.json").get(0).get("card");
    Map<String, Object> card = Json.parseObject(Json.write(row).replace("tflite", "onnx"));
    File folder = temporary.newFolder();
    Files.writeText(new File(folder, "io.json"), Json.write(card));
    return folder;
  }
}
