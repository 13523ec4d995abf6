package mobilebert.runtime;

import androidx.annotation.NonNull;
import java.util.Comparator;

/** A label and its score: a probability, or the value of a regression. */
public final class LabelScore {
  static final Comparator<LabelScore> HIGHEST_FIRST =
      new Comparator<LabelScore>() {
        @Override
        public int compare(LabelScore one, LabelScore other) {
          return Float.compare(other.score, one.score);
        }
      };

  @NonNull public final String label;
  public final float score;

  LabelScore(String label, float score) {
    this.label = label;
    this.score = score;
  }
}
