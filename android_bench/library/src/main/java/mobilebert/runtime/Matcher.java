package mobilebert.runtime;

import android.content.Context;
import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.util.ArrayList;
import java.util.List;

/** Do two texts mean the same? A pair runs in the shortest of the artefact's buckets that holds it. */
public final class Matcher extends Model {
  private static final Reads READS =
      new Reads() {
        @Override
        public boolean card(ArtefactCard card) {
          return card.task == Task.TEXT_MATCHING;
        }
      };

  Matcher(Parts parts) {
    super(parts);
  }

  /** Opens an artefact folder; an {@link ArtefactException} says what is wrong with it. */
  @NonNull
  public static Matcher load(@NonNull File folder, @NonNull ModelOptions options) {
    return new Matcher(Parts.open(folder, READS, options));
  }

  /** Opens an artefact folder of the app's assets. */
  @NonNull
  public static Matcher load(@NonNull Context context, @NonNull String folder, @NonNull ModelOptions options) {
    return new Matcher(Parts.open(context, folder, READS, options));
  }

  /** One answer. */
  public static final class Answer {
    public final float score;
    @NonNull public final String label;
    public final int tokens;

    /** Tokens of the bucket it ran in. */
    public final int length;

    /** With the wait for other threads' inferences. */
    public final double milliseconds;

    Answer(float score, String label, TextEncoder.Encoded input, double milliseconds) {
      this.score = score;
      this.label = label;
      this.tokens = input.tokens;
      this.length = input.inputIds.length;
      this.milliseconds = milliseconds;
    }
  }

  /**
   * Probability of the positive label, in [0, 1]; of a network for regression, its value itself. A cross-encoder reads
   * a before b, so that (a, b) and (b, a) score a little differently, unless its card says that it sorts the two.
   */
  public float score(@NonNull String textA, @NonNull String textB) {
    return match(textA, textB).score;
  }

  /**
   * The mean over both orders: the same for both, at twice the time. An embedding matcher and one that sorts its texts
   * compare the two in one order, at no more time: the other gives the same, up to float rounding of the former.
   */
  public float scoreBothWays(@NonNull String textA, @NonNull String textB) {
    if (card.symmetric()) {
      return textA.compareTo(textB) <= 0 ? score(textA, textB) : score(textB, textA);
    }
    return 0.5f * (score(textA, textB) + score(textB, textA));
  }

  /** Score, label, and how it was run; the first of a length may take longer than the next. */
  @NonNull
  public Answer match(@NonNull String textA, @NonNull String textB) {
    return match(textA, textB, null);
  }

  /** The same, which another thread may end. */
  Answer match(String textA, String textB, Cancellation cancellation) {
    long start = System.nanoTime();
    TextEncoder.Encoded input = encoder.encode(textA, textB, cancellation, lengths());
    float score = card.decision.score(run(input, "logits"), textA, textB);
    return new Answer(score, label(score), input, (System.nanoTime() - start) / 1e6);
  }

  /** The positive label at and above the threshold; below it the other one, of two labels, else "not" it. */
  @NonNull
  public String label(float score) {
    return card.decision.label(score);
  }

  /**
   * The texts that match the query best, best first.
   *
   * @param most at most so many
   * @param cancellation ends the call early; null where nothing does
   */
  @NonNull
  public List<Hit> rank(
      @NonNull String query, @NonNull List<String> texts, int most, @Nullable Cancellation cancellation) {
    List<Hit> hits = new ArrayList<Hit>();
    for (int i = 0; i < texts.size(); i++) {
      Cancellation.check(cancellation);
      hits.add(new Hit(i, match(query, texts.get(i), cancellation).score, texts.get(i)));
    }
    return Hit.best(hits, most);
  }
}
