package mobilebert.runtime;

/**
 * The places of the highest of many scores, in primitive arrays: a heap of as many as are asked for, the worst on top.
 * Of equal scores the lower place is the better one.
 */
final class BestPlaces {
  private final float[] scores;
  private final int[] places;
  private int size;

  BestPlaces(int most) {
    scores = new float[most];
    places = new int[most];
  }

  void offer(float score, int place) {
    if (size < scores.length) {
      int at = size++;
      while (at > 0 && isWorse(score, place, scores[(at - 1) / 2], places[(at - 1) / 2])) {
        move((at - 1) / 2, at);
        at = (at - 1) / 2;
      }
      scores[at] = score;
      places[at] = place;
    } else if (isWorse(scores[0], places[0], score, place)) {
      sink(score, place);
    }
  }

  /** Takes the worst one off; those that are taken off one after the other come worst first. */
  int poll() {
    int worst = places[0];
    size--;
    sink(scores[size], places[size]);
    return worst;
  }

  /** The lowest of the scores that were kept, where there are any. */
  float worst() {
    return size == 0 ? Float.NEGATIVE_INFINITY : scores[0];
  }

  int size() {
    return size;
  }

  /** Puts one on top and lets it sink to where those below it are better. */
  private void sink(float score, int place) {
    int at = 0;
    for (int child = 1; child < size; child = 2 * at + 1) {
      boolean right = child + 1 < size && isWorse(scores[child + 1], places[child + 1], scores[child], places[child]);
      int worse = right ? child + 1 : child;
      if (!isWorse(scores[worse], places[worse], score, place)) {
        break;
      }
      move(worse, at);
      at = worse;
    }
    scores[at] = score;
    places[at] = place;
  }

  private void move(int from, int to) {
    scores[to] = scores[from];
    places[to] = places[from];
  }

  private static boolean isWorse(float score, int place, float other, int otherPlace) {
    return score != other ? score < other : place > otherPlace;
  }
}
