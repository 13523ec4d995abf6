package mobilebert.runtime;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import android.content.Context;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** Promise: an app's artefact is copied out whole, once an install, and nothing of an earlier one stays. */
public final class AssetFoldersTest {
  private static final long LONG_AGO = 1_000_000_000_000L;

  @Rule public final TemporaryFolder temporary = new TemporaryFolder();

  private File assets;
  private File files;
  private Context context;

  @Before
  public void install() throws Exception {
    assets = temporary.newFolder("assets");
    files = temporary.newFolder("files");
    context = new Context(assets, files);
    pack("artefacts/one", "first weights");
  }

  /** Writes a folder of the assets, as an update of the app does. */
  private void pack(String folder, String weights) throws IOException {
    File place = new File(assets, folder);
    place.mkdirs();
    StringBuilder sums = new StringBuilder();
    for (String name : new String[] {"model.tflite", "vocab.txt"}) {
      String text = name.startsWith("model") ? weights : "words";
      Files.writeText(new File(place, name), text);
      sums.append(Checksums.sha256(text)).append("  ").append(name).append('\n');
    }
    Files.writeText(new File(place, "SHA256SUMS"), sums.toString());
  }

  @Test
  public void itIsCopiedOutsideBackupsOnceAndNotHashedAgain() throws Exception {
    File copy = AssetFolders.unpack(context, "artefacts/one");
    assertEquals("one", copy.getName());
    assertTrue(copy.getPath().startsWith(files.getPath()));
    assertEquals("first weights", Files.readText(new File(copy, "model.tflite")));
    int opened = context.getAssets().opened;
    File model = new File(copy, "model.tflite");
    // Another content of the same size and time: seen only by one who hashes.
    long time = model.lastModified();
    Files.writeText(model, "other weights");
    assertTrue(model.setLastModified(time));
    assertEquals(copy, AssetFolders.unpack(context, "artefacts/one"));
    assertEquals("other weights", Files.readText(model));
    assertEquals("SHA256SUMS alone", opened + 1, context.getAssets().opened);
  }

  @Test
  public void aFileWhoseTimeChangedIsHashedAndADamagedCopyMadeAgain() throws Exception {
    File copy = AssetFolders.unpack(context, "artefacts/one");
    File model = new File(copy, "model.tflite");
    assertTrue(model.setLastModified(LONG_AGO));
    AssetFolders.unpack(context, "artefacts/one");
    assertEquals("the same bytes are kept", LONG_AGO, model.lastModified());
    Files.writeText(model, "other weights");
    assertTrue(model.setLastModified(LONG_AGO - 5000));
    assertEquals(copy, AssetFolders.unpack(context, "artefacts/one"));
    assertEquals("first weights", Files.readText(model));
    assertTrue(new File(copy, "vocab.txt").delete());
    AssetFolders.unpack(context, "artefacts/one");
    assertEquals("words", Files.readText(new File(copy, "vocab.txt")));
  }

  @Test
  public void copiesOfOlderVersionsAndOfFoldersThatAreGoneAreDeleted() throws Exception {
    pack("artefacts/two", "kept");
    pack("gone", "not kept");
    File old = AssetFolders.unpack(context, "artefacts/one");
    File gone = AssetFolders.unpack(context, "gone");
    File two = AssetFolders.unpack(context, "artefacts/two");
    pack("artefacts/one", "second weights");
    for (File file : new File(assets, "gone").listFiles()) {
      assertTrue(file.delete());
    }
    File now = AssetFolders.unpack(context, "artefacts/one");
    assertEquals("second weights", Files.readText(new File(now, "model.tflite")));
    assertEquals("one", now.getName());
    assertFalse(old.exists());
    assertFalse(gone.exists());
    assertTrue(new File(two, "model.tflite").isFile());
  }

  @Test
  public void aCopyThatWasCutShortIsNeverUsed() throws Exception {
    File copy = AssetFolders.unpack(context, "artefacts/one");
    File home = copy.getParentFile();
    File part = new File(home.getParentFile(), "part");
    assertTrue(home.renameTo(part)); // killed before the copy got its name
    Files.writeText(new File(part, "one/model.tflite"), "fir");
    assertEquals("first weights", Files.readText(new File(AssetFolders.unpack(context, "artefacts/one"), "model.tflite")));
    assertFalse(part.exists());
  }

  @Test
  public void damagedAssetsAreRefused() throws Exception {
    Files.writeText(new File(assets, "artefacts/one/model.tflite"), "first weightS");
    IOException error =
        assertThrows(
            IOException.class,
            new ThrowingRunnable() {
              @Override
              public void run() throws IOException {
                AssetFolders.unpack(context, "artefacts/one");
              }
            });
    assertTrue(error.getMessage(), error.getMessage().contains("artefacts/one/model.tflite among the app's assets"));
  }

  @Test
  public void threadsGetOneCopy() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(8);
    List<Callable<String>> work = new ArrayList<Callable<String>>();
    for (int i = 0; i < 8; i++) {
      work.add(
          new Callable<String>() {
            @Override
            public String call() throws Exception {
              return Files.readText(new File(AssetFolders.unpack(context, "artefacts/one"), "model.tflite"));
            }
          });
    }
    for (Future<String> one : pool.invokeAll(work)) {
      assertEquals("first weights", one.get());
    }
    pool.shutdown();
  }

  @Test
  public void anotherProcessIsWaitedFor() throws Exception {
    File lock = new File(files, "artefacts/.lock");
    assertTrue(lock.getParentFile().mkdirs());
    String java = System.getProperty("java.home") + "/bin/java";
    List<String> command =
        Arrays.asList(java, "-cp", System.getProperty("java.class.path"), Holder.class.getName(), lock.getPath());
    Process holder = new ProcessBuilder(command).redirectErrorStream(true).start();
    BufferedReader said = new BufferedReader(new InputStreamReader(holder.getInputStream(), StandardCharsets.UTF_8));
    assertEquals("held", said.readLine());
    ExecutorService pool = Executors.newSingleThreadExecutor();
    final Future<File> copy =
        pool.submit(
            new Callable<File>() {
              @Override
              public File call() throws Exception {
                return AssetFolders.unpack(context, "artefacts/one");
              }
            });
    assertThrows(
        TimeoutException.class,
        new ThrowingRunnable() {
          @Override
          public void run() throws Exception {
            copy.get(1, TimeUnit.SECONDS);
          }
        });
    holder.getOutputStream().close();
    assertEquals("first weights", Files.readText(new File(copy.get(60, TimeUnit.SECONDS), "model.tflite")));
    assertEquals(0, holder.waitFor());
    pool.shutdown();
  }

  /** Another process: it holds a lock until its standard input ends. */
  public static final class Holder {
    private Holder() {}

    public static void main(String[] arguments) throws IOException {
      try (RandomAccessFile file = new RandomAccessFile(arguments[0], "rw")) {
        file.getChannel().lock();
        System.out.println("held");
        System.in.read();
      }
    }
  }

  @Test
  public void aFolderThatIsNoArtefactIsCopiedToo() throws Exception {
    File index = AssetFolders.unpack(context, "artefacts/one");
    Checksums.verify(index, Collections.singletonList("vocab.txt"));
  }
}
