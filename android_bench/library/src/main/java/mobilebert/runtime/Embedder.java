package mobilebert.runtime;

import android.content.Context;
import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.util.List;

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

  /** The vector of a text. */
  @NonNull
  public float[] embed(@NonNull String text) {
    return embed(text, null);
  }

  /** The same, which another thread may end. */
  float[] embed(String text, Cancellation cancellation) {
    return run(encoder.encode(text, null, cancellation, lengths()), "embedding");
  }

  /** Cosine of the angle between two texts' vectors, from -1 to 1. */
  public float similarity(@NonNull String textA, @NonNull String textB) {
    float[] a = Vectors.unit(embed(textA));
    float[] b = Vectors.unit(embed(textB));
    return Vectors.dot(a, b, 0);
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
    return index.search(embed(query), most);
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
      rows[i] = embed(texts.get(i), cancellation);
    }
    return EmbeddingIndex.of(texts, rows, card.embeddingSize, fingerprint());
  }
}
