package mobilebert.runtime;

import androidx.annotation.NonNull;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Texts and the direction of each one's vector, in a byte a number or in floats. Immutable: threads may share one. */
public final class EmbeddingIndex {
  private final List<String> texts;
  private final int size;

  /** Rows of int8; or null. */
  private final ByteRows rows;

  /** Rows of floats where there are none of bytes, one after the other. */
  private final float[] floats;

  /** The fingerprint of the artefact that made the vectors; null where that is not known. */
  private final String encoder;

  private EmbeddingIndex(List<String> texts, int size, ByteRows rows, float[] floats, String encoder) {
    this.encoder = encoder;
    this.texts = Collections.unmodifiableList(texts);
    this.size = size;
    this.rows = rows;
    this.floats = floats;
  }

  /** An index of vectors in a byte a number, as Python's Index.build makes it. */
  static EmbeddingIndex of(List<String> texts, float[][] vectors, int size, String encoder) {
    ByteRows rows = new ByteRows(size);
    for (float[] vector : vectors) {
      rows.put(rows.count(), vector);
    }
    return new EmbeddingIndex(new ArrayList<String>(texts), size, rows, null, encoder);
  }

  /**
   * Reads the folder that Python's Index.save wrote, every file of which is compared with its checksum; an {@link
   * ArtefactException} says what is wrong with it.
   */
  @NonNull
  public static EmbeddingIndex read(@NonNull File folder) {
    try {
      return readFolder(folder);
    } catch (IOException error) {
      throw new ArtefactException(error.getMessage(), error);
    }
  }

  private static EmbeddingIndex readFolder(File folder) throws IOException {
    boolean told = Checksums.verify(folder, Arrays.asList("vectors.npy", "texts.jsonl")).containsKey(TextIndex.ABOUT);
    String encoder = told ? TextIndex.readEncoder(folder) : null;
    NpyFile vectors = NpyFile.read(new File(folder, "vectors.npy"), 2, "|i1", "<f2");
    List<String> texts = texts(new File(folder, "texts.jsonl"));
    boolean small = vectors.type.equals("|i1");
    NpyFile scales = null;
    if (small) {
      Checksums.verify(folder, Collections.singletonList("scales.npy"));
      scales = NpyFile.read(new File(folder, "scales.npy"), 1, "<f4");
    }
    if (texts.size() != vectors.rows || small && scales.rows != vectors.rows) {
      throw new IOException(texts.size() + " texts for " + vectors.rows + " vectors; build the index again");
    }
    if (small) {
      ByteRows rows = new ByteRows(vectors.columns, vectors.bytes(), scales.floats());
      return new EmbeddingIndex(texts, vectors.columns, rows, null, encoder);
    }
    return new EmbeddingIndex(texts, vectors.columns, null, vectors.floats(), encoder);
  }

  private static List<String> texts(File file) throws IOException {
    List<String> found = new ArrayList<String>();
    for (Object value : JsonLines.read(file)) {
      found.add(JsonLines.text(value));
    }
    return found;
  }

  /** Number of texts. */
  public int size() {
    return texts.size();
  }

  /** The texts, in their order. */
  @NonNull
  public List<String> texts() {
    return texts;
  }

  /** Throws an {@link IllegalArgumentException} where another artefact than the one of a fingerprint made the vectors. */
  void checkEncoder(String fingerprint) {
    if (encoder != null && fingerprint != null && !encoder.equals(fingerprint)) {
      throw new IllegalArgumentException(
          "the index has vectors of another artefact (" + encoder + ", this one is " + fingerprint
              + "); build it again with this one and these options");
    }
  }

  /** The texts whose vectors are nearest to one, by the cosine. */
  List<Hit> search(float[] vector, int most) {
    if (vector.length != size) {
      throw new IllegalArgumentException(
          "the index has vectors of " + size + " numbers, and this model of " + vector.length);
    }
    Hit.checkMost(most);
    float[] query = Vectors.unit(vector);
    BestPlaces best = rows == null ? nearest(query, most) : rows.nearest(query, most);
    Hit[] hits = new Hit[best.size()];
    for (int i = hits.length - 1; i >= 0; i--) {
      int place = best.poll();
      hits[i] = new Hit(place, score(query, place), texts.get(place));
    }
    return Collections.unmodifiableList(Arrays.asList(hits));
  }

  private BestPlaces nearest(float[] query, int most) {
    BestPlaces best = new BestPlaces(Math.min(most, texts.size()));
    for (int i = 0; i < texts.size(); i++) {
      best.offer(score(query, i), i);
    }
    return best;
  }

  /** The direction of a text's vector. */
  float[] vector(int row) {
    return rows == null ? Arrays.copyOfRange(floats, row * size, (row + 1) * size) : rows.toFloats(row);
  }

  private float score(float[] query, int row) {
    return rows == null ? Vectors.cosine(Vectors.dot(query, floats, row * size)) : rows.score(query, row);
  }
}
