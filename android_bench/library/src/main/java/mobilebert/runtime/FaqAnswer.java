package mobilebert.runtime;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.Comparator;

/** An entry that was found, and how well it fits. Immutable. */
public final class FaqAnswer {
  /** Best first; of equal scores that with the lower id. */
  static final Comparator<FaqAnswer> BEST_FIRST =
      new Comparator<FaqAnswer>() {
        @Override
        public int compare(FaqAnswer one, FaqAnswer other) {
          int order = Float.compare(other.score, one.score);
          return order != 0 ? order : one.entry.id.compareTo(other.entry.id);
        }
      };

  @NonNull public final FaqEntry entry;

  /** The matcher's score, or the cosine where there is no matcher. */
  public final float score;

  /** Public so that tests of an app can make one. */
  public FaqAnswer(@NonNull FaqEntry entry, float score) {
    this.entry = entry;
    this.score = score;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    if (!(other instanceof FaqAnswer)) {
      return false;
    }
    FaqAnswer answer = (FaqAnswer) other;
    return entry.equals(answer.entry) && Float.compare(score, answer.score) == 0;
  }

  @Override
  public int hashCode() {
    return 31 * entry.hashCode() + Float.floatToIntBits(score);
  }

  @Override
  public String toString() {
    return score + " " + entry;
  }
}
