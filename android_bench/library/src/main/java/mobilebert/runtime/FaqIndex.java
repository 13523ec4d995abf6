package mobilebert.runtime;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.List;

/**
 * Which of a list of questions is asked? Vectors find some that are near, and a matcher, which reads each of them with
 * the query, ranks those. As safe for threads as the two models, which it does not close.
 */
public final class FaqIndex {
  private final Embedder embedder;
  private final Matcher matcher;
  private final EmbeddingIndex index;

  /**
   * An index of questions.
   *
   * @param matcher ranks what the vectors find; null to go by the vectors alone
   * @param index of the questions, by {@link Embedder#index} or {@link EmbeddingIndex#read}
   */
  public FaqIndex(@NonNull Embedder embedder, @Nullable Matcher matcher, @NonNull EmbeddingIndex index) {
    this.embedder = embedder;
    this.matcher = matcher;
    this.index = index;
  }

  /** Number of questions. */
  public int size() {
    return index.size();
  }

  /**
   * The questions that fit a query best, best first, each with its place in the list; the score is the matcher's, or the
   * cosine where there is none.
   *
   * @param candidates how many the vectors find, each of which takes the matcher an inference
   * @param most at most so many of them
   * @param cancellation ends the call early, as when more is typed; null where nothing does
   */
  @NonNull
  public List<Hit> ask(@NonNull String query, int candidates, int most, @Nullable Cancellation cancellation) {
    Cancellation.check(cancellation);
    List<Hit> near = embedder.search(query, index, candidates);
    Cancellation.check(cancellation);
    if (matcher == null) {
      return Hit.best(near, most);
    }
    List<String> texts = new ArrayList<String>();
    for (Hit hit : near) {
      texts.add(hit.text);
    }
    List<Hit> ranked = new ArrayList<Hit>();
    for (Hit hit : matcher.rank(query, texts, most, cancellation)) {
      ranked.add(new Hit(near.get(hit.place).place, hit.score, hit.text));
    }
    return ranked;
  }
}
