package mobilebert.runtime;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/** One of the texts that were searched or ranked. */
public final class Hit {
  /** Best first; of equal scores the one that comes first among the texts. */
  private static final Comparator<Hit> BEST_FIRST =
      new Comparator<Hit>() {
        @Override
        public int compare(Hit one, Hit other) {
          return one.score != other.score
              ? Float.compare(other.score, one.score)
              : Integer.compare(one.place, other.place);
        }
      };

  /** Among the texts, from 0. */
  public final int place;

  public final float score;
  @NonNull public final String text;

  Hit(int place, float score, String text) {
    this.place = place;
    this.score = score;
    this.text = text;
  }

  static List<Hit> best(List<Hit> hits, int most) {
    checkMost(most);
    List<Hit> sorted = new ArrayList<Hit>(hits);
    Collections.sort(sorted, BEST_FIRST);
    return Collections.unmodifiableList(sorted.subList(0, Math.min(most, sorted.size())));
  }

  static void checkMost(int most) {
    if (most < 1) {
      throw new IllegalArgumentException("at most " + most + " texts were asked for; give 1 or more");
    }
  }

  @Override
  public boolean equals(@Nullable Object other) {
    if (!(other instanceof Hit)) {
      return false;
    }
    Hit hit = (Hit) other;
    return place == hit.place && Float.compare(score, hit.score) == 0 && text.equals(hit.text);
  }

  @Override
  public int hashCode() {
    return 31 * (31 * place + Float.floatToIntBits(score)) + text.hashCode();
  }

  @Override
  public String toString() {
    return score + " " + text;
  }
}
