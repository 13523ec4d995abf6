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
   * a before b, so that (a, b) and (b, a) score a little differently, unless its card says that it sorts the two. An
   * embedding matcher gives both one score.
   */
  public float score(@NonNull String textA, @NonNull String textB) {
    return match(textA, textB).score;
  }

  /**
   * The mean over both orders: the same for both, at twice the time. Of an embedding matcher and of one that sorts its
   * texts it is the score, at no more time.
   */
  public float scoreBothWays(@NonNull String textA, @NonNull String textB) {
    if (card.symmetric()) {
      return score(textA, textB);
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
    // The sums of the two orders differ in the last bits, which 8-bit ranges found at run time round to other codes.
    boolean turned = card.symmetric() && compare(textA, textB) > 0;
    TextEncoder.Encoded input =
        encoder.encode(turned ? textB : textA, turned ? textA : textB, cancellation, lengths());
    float score = card.decision.score(run(input, "logits"), textA, textB);
    return new Answer(score, label(score), input, (System.nanoTime() - start) / 1e6);
  }

  /** Compares by code points, as Python does; String.compareTo puts surrogates below the last letters of the BMP. */
  static int compare(String a, String b) {
    int shorter = Math.min(a.length(), b.length());
    for (int i = 0; i < shorter; i++) {
      char one = a.charAt(i);
      char other = b.charAt(i);
      if (one != other) {
        boolean alike = Character.isSurrogate(one) == Character.isSurrogate(other);
        return alike ? one - other : Character.isSurrogate(one) ? 1 : -1;
      }
    }
    return a.length() - b.length();
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
