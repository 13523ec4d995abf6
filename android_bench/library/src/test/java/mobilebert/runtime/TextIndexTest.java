package mobilebert.runtime;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** Promise: the index holds what was put and not removed, and a process that is killed while it saves loses nothing. */
public final class TextIndexTest {
  private static final int SIZE = 24;
  private static final int CHANGES = 10_000;
  private static final int KILLS = 50;
  private static final int EACH = 20;
  private static final String ENCODER = "0123abcd";

  @Rule public final TemporaryFolder temporary = new TemporaryFolder();

  /** An index beside a map that is searched by looking at all of it. */
  private static final class Both {
    final Map<String, FaqEntry> model = new TreeMap<String, FaqEntry>();
    TextIndex index;

    Both(TextIndex index) {
      this.index = index;
    }

    /** Puts or removes one of 300 ids. */
    void change(Random draw) {
      String id = "id " + draw.nextInt(300);
      if (draw.nextInt(3) == 0) {
        boolean there = model.remove(id) != null;
        if (index != null) {
          assertEquals(there, index.remove(id));
        }
        return;
      }
      FaqEntry known = model.get(id);
      boolean same = known != null && draw.nextBoolean();
      String text = same ? known.text : "text \ud83c\udf19 \"" + draw.nextInt(1000) + "\"\n\ud800";
      FaqEntry entry = new FaqEntry(id, text, draw.nextBoolean() ? "answer " + draw.nextInt() : null);
      model.put(id, entry);
      if (index != null) {
        index.put(entry, same ? null : vector(text));
      }
    }

    void compare() {
      assertEquals(new HashSet<FaqEntry>(model.values()), new HashSet<FaqEntry>(index.entries()));
      assertEquals(model.size(), index.size());
    }

    void compareSearch(float[] query, int most) {
      List<FaqAnswer> all = new ArrayList<FaqAnswer>();
      float[] unit = Vectors.unit(query);
      for (FaqEntry entry : model.values()) {
        ByteRows row = new ByteRows(SIZE);
        row.put(0, vector(entry.text));
        all.add(new FaqAnswer(entry, row.score(unit, 0)));
      }
      Collections.sort(all, FaqAnswer.BEST_FIRST);
      List<FaqAnswer> found = index.nearest(query, most);
      assertEquals(Math.min(most, all.size()), found.size());
      for (int i = 0; i < found.size(); i++) {
        // Of entries with one text any may be among the last.
        assertEquals(all.get(i).score, found.get(i).score, 0);
        assertEquals(found.get(i).entry, model.get(found.get(i).entry.id));
      }
    }
  }

  private static float[] vector(String text) {
    Random draw = new Random(text.hashCode());
    float[] found = new float[SIZE];
    for (int i = 0; i < SIZE; i++) {
      found[i] = (float) draw.nextGaussian();
    }
    return found;
  }

  @Test
  public void tenThousandChangesAreThoseOfAMap() throws Exception {
    Random draw = new Random(1);
    Both both = new Both(new TextIndex(ENCODER, SIZE));
    File folder = new File(temporary.getRoot(), "index");
    for (int i = 0; i < CHANGES; i++) {
      both.change(draw);
      if (i % 100 == 0) {
        both.compareSearch(vector("query " + i), 1 + draw.nextInt(20));
      }
      if (i % 1000 == 999) {
        both.compare();
        assertTrue(both.index.isChanged());
        both.index.save(folder);
        assertFalse(both.index.isChanged());
        both.index = TextIndex.read(folder);
        assertEquals(ENCODER, both.index.encoder());
        both.compare();
      }
    }
    final EmbeddingIndex read = EmbeddingIndex.read(folder);
    read.checkEncoder(ENCODER);
    IllegalArgumentException other =
        assertThrows(
            IllegalArgumentException.class,
            new ThrowingRunnable() {
              @Override
              public void run() {
                read.checkEncoder("another");
              }
            });
    assertTrue(other.getMessage(), other.getMessage().contains("vectors of another artefact (0123abcd, this one is another)"));
    assertEquals(both.index.size(), read.size());
    Hit hit = read.search(vector("query"), 1).get(0);
    assertEquals(both.index.nearest(vector("query"), 1).get(0).score, hit.score, 0);
  }

  @Test
  public void anEmptyIndexIsSavedToo() throws Exception {
    File folder = new File(temporary.getRoot(), "index");
    TextIndex index = new TextIndex(ENCODER, SIZE);
    index.save(folder);
    assertEquals(0, TextIndex.read(folder).size());
    assertTrue(index.nearest(vector("any"), 3).isEmpty());
  }

  @Test
  public void damageIsFound() throws Exception {
    final File folder = new File(temporary.getRoot(), "index");
    TextIndex index = new TextIndex(ENCODER, SIZE);
    index.put(new FaqEntry("a", "b", null), vector("b"));
    index.save(folder);
    File entries = new File(folder, "entries.jsonl");
    Files.writeText(entries, Files.readText(entries).replace("\"a\"", "\"c\""));
    IOException error =
        assertThrows(
            IOException.class,
            new ThrowingRunnable() {
              @Override
              public void run() throws IOException {
                TextIndex.read(folder);
              }
            });
    assertTrue(error.getMessage(), error.getMessage().contains("entries.jsonl was changed"));
  }

  /** Changes and saves without end; says the number of each save that is done. Arguments: folder, first step. */
  public static final class Saver {
    private Saver() {}

    public static void main(String[] arguments) throws IOException {
      File folder = new File(arguments[0]);
      int step = Integer.parseInt(arguments[1]);
      Both both = new Both(new SavedFolder(folder).recover() ? TextIndex.read(folder) : new TextIndex(ENCODER, SIZE));
      for (FaqEntry entry : both.index.entries()) {
        both.model.put(entry.id, entry);
      }
      while (true) {
        step(both, step);
        both.index.save(folder);
        System.out.println(step++);
        System.out.flush();
      }
    }
  }

  private static void step(Both both, int step) {
    Random draw = new Random(step);
    for (int i = 0; i < EACH; i++) {
      both.change(draw);
    }
  }

  @Test
  public void aProcessThatIsKilledWhileItSavesLosesNothing() throws Exception {
    File folder = new File(temporary.getRoot(), "index");
    Random draw = new Random(7);
    Both truth = new Both(null);
    int done = 0;
    int cut = 0;
    for (int kill = 0; kill < KILLS; kill++) {
      List<String> command =
          Arrays.asList(
              System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp",
              System.getProperty("java.class.path"), Saver.class.getName(), folder.getPath(), String.valueOf(done));
      File said = temporary.newFile();
      Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said).start();
      while (said.length() == 0) {
        assertTrue("it ended by itself", process.isAlive());
        Thread.sleep(5);
      }
      Thread.sleep(draw.nextInt(100));
      process.destroyForcibly();
      assertTrue(process.waitFor(60, TimeUnit.SECONDS));
      String[] lines = Files.readText(said).split("\n");
      int last = Integer.parseInt(lines[lines.length - 1]);
      cut += new File(folder.getPath() + ".part").exists() || new File(folder.getPath() + ".old").exists() ? 1 : 0;
      for (; done <= last; done++) {
        step(truth, done);
      }
      assertTrue(new SavedFolder(folder).recover());
      TextIndex found = TextIndex.read(folder);
      if (!new HashSet<FaqEntry>(truth.model.values()).equals(new HashSet<FaqEntry>(found.entries()))) {
        step(truth, done++); // saved, and killed before it could say so
      }
      Both both = new Both(found);
      both.model.putAll(truth.model);
      both.compare();
      both.compareSearch(vector("query"), 10);
    }
    System.out.println(KILLS + " kills, " + cut + " of them within a save, after " + done + " saves");
    assertTrue("too few kills within a save: " + cut, cut >= KILLS / 5);
  }
}
