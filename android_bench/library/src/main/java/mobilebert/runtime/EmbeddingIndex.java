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

  /** Rows of int8, each with its scale; or null. */
  private final byte[][] bytes;

  private final float[] scales;

  /** Rows of floats where there are none of bytes. */
  private final float[][] floats;

  private EmbeddingIndex(List<String> texts, int size, byte[][] bytes, float[] scales, float[][] floats) {
    this.texts = Collections.unmodifiableList(texts);
    this.size = size;
    this.bytes = bytes;
    this.scales = scales;
    this.floats = floats;
  }

  /** An index of vectors in a byte a number, as Python's Index.build makes it. */
  static EmbeddingIndex of(List<String> texts, float[][] vectors, int size) {
    byte[][] bytes = new byte[vectors.length][size];
    float[] scales = new float[vectors.length];
    for (int row = 0; row < vectors.length; row++) {
      float[] unit = Vectors.unit(vectors[row]);
      float largest = 0;
      for (float value : unit) {
        largest = Math.max(largest, Math.abs(value));
      }
      scales[row] = largest / 127;
      for (int i = 0; i < size; i++) {
        bytes[row][i] = (byte) Math.rint(unit[i] / scales[row]);
      }
    }
    return new EmbeddingIndex(new ArrayList<String>(texts), size, bytes, scales, null);
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
    Checksums.verify(folder, Arrays.asList("vectors.npy", "texts.jsonl"));
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
    byte[][] bytes = new byte[small ? vectors.rows : 0][];
    float[][] floats = new float[small ? 0 : vectors.rows][];
    float[] factors = new float[bytes.length];
    for (int row = 0; row < vectors.rows; row++) {
      if (small) {
        bytes[row] = vectors.bytes(row);
        factors[row] = scales.floats(row)[0];
      } else {
        floats[row] = vectors.floats(row);
      }
    }
    return new EmbeddingIndex(texts, vectors.columns, small ? bytes : null, factors, floats);
  }

  private static List<String> texts(File file) throws IOException {
    List<String> found = new ArrayList<String>();
    String text = Files.readText(file);
    for (int start = 0; start < text.length(); ) {
      int end = text.indexOf('\n', start);
      if (end < 0) {
        break; // as Python: what follows the last line end is no line
      }
      Object value = Json.parse(text.substring(start, end));
      if (!(value instanceof String)) {
        throw new IOException(file.getName() + " holds what is no text; build the index again");
      }
      found.add((String) value);
      start = end + 1;
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

  /** The texts whose vectors are nearest to one, by the cosine. */
  List<Hit> search(float[] vector, int most) {
    if (vector.length != size) {
      throw new IllegalArgumentException(
          "the index has vectors of " + size + " numbers, and this model of " + vector.length);
    }
    float[] query = Vectors.unit(vector);
    List<Hit> hits = new ArrayList<Hit>();
    for (int i = 0; i < texts.size(); i++) {
      float score = bytes == null ? Vectors.dot(query, floats[i]) : scales[i] * Vectors.dot(query, bytes[i]);
      hits.add(new Hit(i, score, texts.get(i)));
    }
    return Hit.best(hits, most);
  }
}
