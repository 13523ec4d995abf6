package mobilebert.runtime;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Texts by id, each with a payload and a vector, that grows and shrinks on the phone and is saved whole. Its folder is
 * also one that Python's Index.load and {@link EmbeddingIndex#read} read:
 *
 * <pre>
 * vectors.npy, scales.npy, texts.jsonl    as Python's Index.save writes them
 * entries.jsonl                           id and payload of each text
 * index.json                              format, and which artefact made the vectors
 * SHA256SUMS                              of the other files
 * </pre>
 *
 * <p>Threads may share one: each call sees it whole.
 */
final class TextIndex {
  static final String ABOUT = "index.json";
  static final int FORMAT = 1;
  private static final String ENTRIES = "entries.jsonl";

  private final String encoder;
  private final ByteRows rows;
  private final List<FaqEntry> entries = new ArrayList<FaqEntry>();
  private final Map<String, Integer> places = new HashMap<String, Integer>();
  private boolean changed;

  /** None yet; vectors have so many numbers and come from an encoder of this fingerprint. */
  TextIndex(String encoder, int size) {
    this(encoder, new ByteRows(size));
  }

  private TextIndex(String encoder, ByteRows rows) {
    this.encoder = encoder;
    this.rows = rows;
  }

  /** Reads a folder, every file of which is compared with its checksum. */
  static TextIndex read(File folder) throws IOException {
    Checksums.verify(folder, Arrays.asList("vectors.npy", "scales.npy", "texts.jsonl", ENTRIES, ABOUT));
    NpyFile vectors = NpyFile.read(new File(folder, "vectors.npy"), 2, "|i1");
    NpyFile scales = NpyFile.read(new File(folder, "scales.npy"), 1, "<f4");
    List<Object> texts = JsonLines.read(new File(folder, "texts.jsonl"));
    List<Object> described = JsonLines.read(new File(folder, ENTRIES));
    if (texts.size() != vectors.rows || scales.rows != vectors.rows || described.size() != vectors.rows) {
      throw new IOException("the index has " + texts.size() + " texts for " + vectors.rows + " vectors; build it again");
    }
    TextIndex index =
        new TextIndex(readEncoder(folder), new ByteRows(vectors.columns, vectors.bytes(), scales.floats()));
    for (int i = 0; i < texts.size(); i++) {
      Fields one = new Fields(described.get(i), ENTRIES);
      String payload = one.isNull("payload") ? null : one.anyText("payload");
      FaqEntry entry = new FaqEntry(one.anyText("id"), JsonLines.text(texts.get(i)), payload);
      index.entries.add(entry);
      if (index.places.put(entry.id, i) != null) {
        throw new IOException(ENTRIES + " has an id twice; build the index again");
      }
    }
    return index;
  }

  /** The fingerprint of the artefact that made a folder's vectors; null where that is not known. */
  static String readEncoder(File folder) throws IOException {
    Fields about = Fields.read(new File(folder, ABOUT));
    if (about.whole("format", 0, Integer.MAX_VALUE) != FORMAT) {
      throw new IOException(ABOUT + ": format is not " + FORMAT + ", which this version reads; build the index again");
    }
    about.only("format", "encoder");
    return about.isNull("encoder") ? null : about.text("encoder");
  }

  String encoder() {
    return encoder;
  }

  synchronized int size() {
    return entries.size();
  }

  /** Is there anything that was not saved? */
  synchronized boolean isChanged() {
    return changed;
  }

  /** All entries, in no order that means anything. */
  synchronized List<FaqEntry> entries() {
    return Collections.unmodifiableList(new ArrayList<FaqEntry>(entries));
  }

  @Nullable
  synchronized FaqEntry get(String id) {
    Integer place = places.get(id);
    return place == null ? null : entries.get(place);
  }

  /** Writes an entry in the place of the one with its id; a null vector stands for that one's, whose text is the same. */
  synchronized void put(FaqEntry entry, @Nullable float[] vector) {
    Integer known = places.get(entry.id);
    if (vector == null && (known == null || !entries.get(known).text.equals(entry.text))) {
      throw new IllegalArgumentException("an entry with another text needs a vector");
    }
    int place = known == null ? entries.size() : known;
    if (vector != null) {
      rows.put(place, vector);
    }
    if (known == null) {
      entries.add(entry);
      places.put(entry.id, place);
    } else {
      entries.set(place, entry);
    }
    changed = true;
  }

  /** Removes an entry; the last one takes its place. Was it there? */
  synchronized boolean remove(String id) {
    Integer place = places.remove(id);
    if (place == null) {
      return false;
    }
    rows.remove(place);
    FaqEntry last = entries.remove(entries.size() - 1);
    if (!last.id.equals(id)) {
      entries.set(place, last);
      places.put(last.id, place);
    }
    changed = true;
    return true;
  }

  /** The entries whose vectors are nearest to one, best first; of equal ones that with the lower id. */
  synchronized List<FaqAnswer> nearest(float[] vector, int most) {
    Hit.checkMost(most);
    if (vector.length != rows.size) {
      throw new IllegalArgumentException(
          "the index has vectors of " + rows.size + " numbers, and this model of " + vector.length);
    }
    float[] query = Vectors.unit(vector);
    BestPlaces best = rows.nearest(query, most);
    List<FaqAnswer> found = new ArrayList<FaqAnswer>();
    while (best.size() > 0) {
      int place = best.poll();
      found.add(new FaqAnswer(entries.get(place), rows.score(query, place)));
    }
    Collections.sort(found, FaqAnswer.BEST_FIRST);
    return Collections.unmodifiableList(found);
  }

  /** Writes the folder whole: a process that is killed meanwhile leaves the one before, or this one. */
  synchronized void save(File folder) throws IOException {
    SavedFolder saved = new SavedFolder(folder);
    File part = saved.begin();
    NpyFile.write(new File(part, "vectors.npy"), rows.toBytes(), rows.size);
    NpyFile.write(new File(part, "scales.npy"), rows.toScales());
    List<Object> texts = new ArrayList<Object>();
    List<Object> described = new ArrayList<Object>();
    for (FaqEntry entry : entries) {
      Map<String, Object> one = new LinkedHashMap<String, Object>();
      one.put("id", entry.id);
      one.put("payload", entry.payload);
      texts.add(entry.text);
      described.add(one);
    }
    JsonLines.write(new File(part, "texts.jsonl"), texts);
    JsonLines.write(new File(part, ENTRIES), described);
    Map<String, Object> about = new LinkedHashMap<String, Object>();
    about.put("format", FORMAT);
    about.put("encoder", encoder);
    Files.writeText(new File(part, ABOUT), Json.write(about));
    saved.finish();
    changed = false;
  }
}
