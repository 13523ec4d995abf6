package mobilebert.runtime;

import android.content.Context;
import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.util.List;
import java.util.Map;

/** Vectors of texts, near each other where the texts mean something alike. */
public final class Embedder extends Model {
  private static final Reads READS =
      new Reads() {
        @Override
        public boolean card(ArtefactCard card) {
          return card.embeddingSize > 0;
        }
      };

  Embedder(Parts parts) {
    super(parts);
  }

  /** Opens an artefact folder whose network has vectors; an {@link ArtefactException} says what is wrong with it. */
  @NonNull
  public static Embedder load(@NonNull File folder, @NonNull ModelOptions options) {
    return new Embedder(Parts.open(folder, READS, options));
  }

  /** Opens an artefact folder of the app's assets. */
  @NonNull
  public static Embedder load(@NonNull Context context, @NonNull String folder, @NonNull ModelOptions options) {
    return new Embedder(Parts.open(context, folder, READS, options));
  }

  /** What the model puts before a text, by name; most models have none. */
  @NonNull
  public Map<String, String> prompts() {
    return card.prompts.byName;
  }

  /** The vector of a text, with the model's default prompt, if it has one. */
  @NonNull
  public float[] embed(@NonNull String text) {
    return vector(card.prompts.before(text), null);
  }

  /** The vector of a text with the prompt of a name; an {@link IllegalArgumentException} where there is none. */
  @NonNull
  public float[] embed(@NonNull String text, @NonNull String prompt) {
    return vector(card.prompts.before(text, prompt), null);
  }

  /** The vector of a query, with the prompt of queries, if the model has one. */
  @NonNull
  public float[] embedQuery(@NonNull String text) {
    return embedQuery(text, null);
  }

  /** The vector of a text that is searched for, with the prompt of documents, if the model has one. */
  @NonNull
  public float[] embedDocument(@NonNull String text) {
    return embedDocument(text, null);
  }

  /** The same as without a cancellation, by which another thread may end it. */
  float[] embedQuery(String text, Cancellation cancellation) {
    return vector(card.prompts.beforeQuery(text), cancellation);
  }

  /** The same as without a cancellation, by which another thread may end it. */
  float[] embedDocument(String text, Cancellation cancellation) {
    return vector(card.prompts.beforeDocument(text), cancellation);
  }

  private float[] vector(String text, Cancellation cancellation) {
    return run(encoder.encode(text, null, cancellation, lengths()), "embedding");
  }

  /** Cosine of the angle between two texts' vectors, from -1 to 1. */
  public float similarity(@NonNull String textA, @NonNull String textB) {
    float[] a = Vectors.unit(embed(textA));
    float[] b = Vectors.unit(embed(textB));
    return Vectors.cosine(Vectors.dot(a, b, 0));
  }

  /**
   * The texts of an index that are nearest to a query, best first; an {@link IllegalArgumentException} where another
   * artefact made its vectors.
   *
   * @param most at most so many
   */
  @NonNull
  public List<Hit> search(@NonNull String query, @NonNull EmbeddingIndex index, int most) {
    index.checkEncoder(fingerprint());
    return index.search(embedQuery(query), most);
  }

  /**
   * An index of texts, one inference each.
   *
   * @param cancellation ends the call early; null where nothing does
   */
  @NonNull
  public EmbeddingIndex index(@NonNull List<String> texts, @Nullable Cancellation cancellation) {
    float[][] rows = new float[texts.size()][];
    for (int i = 0; i < rows.length; i++) {
      Cancellation.check(cancellation);
      rows[i] = embedDocument(texts.get(i), cancellation);
    }
    return EmbeddingIndex.of(texts, rows, card.embeddingSize, fingerprint());
  }
}
