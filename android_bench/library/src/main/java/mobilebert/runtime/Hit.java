package mobilebert.runtime;

import androidx.annotation.NonNull;
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
    if (most < 1) {
      throw new IllegalArgumentException("at most " + most + " texts were asked for; give 1 or more");
    }
    List<Hit> sorted = new ArrayList<Hit>(hits);
    Collections.sort(sorted, BEST_FIRST);
    return Collections.unmodifiableList(sorted.subList(0, Math.min(most, sorted.size())));
  }
}
