package mobilebert.runtime;

import android.content.Context;
import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The part of a text that answers a question. A context of any length is read in windows that overlap by the card's
 * stride; the logits of a window's context and of its first token, which stands for "no answer", go through a softmax,
 * a span's score is the product of the probabilities of its ends, and the best span of all windows is the answer,
 * widened to whole words.
 */
public final class QuestionAnswerer extends Model {
  /** Tokens of an answer, where nothing else is asked for. */
  public static final int LONGEST_ANSWER = 15;

  private static final Reads READS =
      new Reads() {
        @Override
        public boolean card(ArtefactCard card) {
          return card.task == Task.QUESTION_ANSWERING;
        }
      };

  QuestionAnswerer(Parts parts) {
    super(parts);
  }

  /** Opens an artefact folder; an {@link ArtefactException} says what is wrong with it. */
  @NonNull
  public static QuestionAnswerer load(@NonNull File folder, @NonNull ModelOptions options) {
    return new QuestionAnswerer(Parts.open(folder, READS, options));
  }

  /** Opens an artefact folder of the app's assets. */
  @NonNull
  public static QuestionAnswerer load(
      @NonNull Context context, @NonNull String folder, @NonNull ModelOptions options) {
    return new QuestionAnswerer(Parts.open(context, folder, READS, options));
  }

  /** A part of a context; empty, with an empty text, where there is no answer. */
  public static final class Answer {
    @NonNull public final String text;

    /** Probability. */
    public final float score;

    /** First character in the context. */
    public final int start;

    /** The character after the last. */
    public final int end;

    private final double exact;

    private Answer(String text, double score, int start, int end) {
      this.text = text;
      this.score = (float) score;
      this.start = start;
      this.end = end;
      exact = score;
    }
  }

  private static final Comparator<Answer> BEST_FIRST =
      new Comparator<Answer>() {
        @Override
        public int compare(Answer one, Answer other) {
          return Double.compare(other.exact, one.exact);
        }
      };

  /** The best answer; an {@link IllegalArgumentException} when the question leaves no room for its context. */
  @NonNull
  public Answer answer(@NonNull String question, @NonNull String context) {
    return answers(question, context, 1, LONGEST_ANSWER, false, null).get(0);
  }

  /**
   * The best answers, the best first, no two of the same characters.
   *
   * @param most at most so many
   * @param longest tokens of an answer
   * @param mayBeNone with an empty answer among them, scored as the others, for contexts that may hold none
   * @param cancellation ends the call early; null where nothing does
   */
  @NonNull
  public List<Answer> answers(
      @NonNull String question,
      @NonNull String context,
      int most,
      int longest,
      boolean mayBeNone,
      @Nullable Cancellation cancellation) {
    if (most < 1 || longest < 1) {
      throw new IllegalArgumentException(most + " answers of up to " + longest + " tokens can't be");
    }
    List<TextEncoder.Window> windows = encoder.windows(question, context, card.stride, cancellation, lengths());
    if (windows.get(0).starts.length == 0) {
      throw new IllegalArgumentException("the context has no words; give the text that holds the answer");
    }
    Map<Long, Answer> best = new LinkedHashMap<Long, Answer>();
    double none = 1;
    for (TextEncoder.Window window : windows) {
      Cancellation.check(cancellation);
      Spans spans = new Spans(window, run(window.encoded, "logits"), longest);
      none = Math.min(none, spans.none());
      for (int[] span : spans.best(most)) {
        Answer found = spans.answer(span[0], span[1], context);
        long key = (long) found.start << 32 | found.end;
        Answer before = best.get(key);
        if (before == null || before.exact < found.exact) {
          best.put(key, found);
        }
      }
    }
    List<Answer> found = new ArrayList<Answer>(best.values());
    if (mayBeNone || found.isEmpty()) {
      found.add(new Answer("", none, 0, 0));
    }
    Collections.sort(found, BEST_FIRST);
    return Collections.unmodifiableList(found.subList(0, Math.min(most, found.size())));
  }

  /** The spans of one window. */
  private static final class Spans {
    private final TextEncoder.Window window;
    private final int longest;
    private final double[] starts;
    private final double[] ends;

    Spans(TextEncoder.Window window, float[] logits, int longest) {
      this.window = window;
      this.longest = longest;
      starts = probabilities(logits, 0);
      ends = probabilities(logits, 1);
    }

    /** Of the first token, then of each token of the context; a column of the logits. */
    private double[] probabilities(float[] logits, int column) {
      double[] kept = new double[window.starts.length + 1];
      double largest = Double.NEGATIVE_INFINITY;
      for (int i = 0; i < kept.length; i++) {
        kept[i] = logits[2 * (i == 0 ? 0 : window.place + i - 1) + column];
        largest = Math.max(largest, kept[i]);
      }
      double sum = 0;
      for (int i = 0; i < kept.length; i++) {
        kept[i] = Math.exp(kept[i] - largest);
        sum += kept[i];
      }
      for (int i = 0; i < kept.length; i++) {
        kept[i] /= sum;
      }
      return kept;
    }

    double none() {
      return starts[0] * ends[0];
    }

    private double score(int first, int last) {
      return starts[first + 1] * ends[last + 1];
    }

    /**
     * First and last tokens of the best spans that widen to different words; of equal ones those that come first in the
     * text.
     */
    List<int[]> best(int most) {
      Map<Long, int[]> byWords = new HashMap<Long, int[]>();
      for (int first = 0; first < window.starts.length; first++) {
        long from = (long) firstOfWord(first) << 32;
        for (int last = first; last < Math.min(first + longest, window.starts.length); last++) {
          double score = score(first, last);
          long words = from | lastOfWord(last);
          int[] before = byWords.get(words);
          if (score > 0 && (before == null || score(before[0], before[1]) < score)) {
            byWords.put(words, new int[] {first, last});
          }
        }
      }
      List<int[]> found = new ArrayList<int[]>(byWords.values());
      Collections.sort(found, new Comparator<int[]>() {
        @Override
        public int compare(int[] one, int[] other) {
          int order = Double.compare(score(other[0], other[1]), score(one[0], one[1]));
          if (order != 0) {
            return order;
          }
          return one[0] != other[0] ? Integer.compare(one[0], other[0]) : Integer.compare(one[1], other[1]);
        }
      });
      return found.subList(0, Math.min(most, found.size()));
    }

    private int firstOfWord(int token) {
      int from = token;
      while (from > 0 && window.words[from - 1] == window.words[from]) {
        from--;
      }
      return from;
    }

    private int lastOfWord(int token) {
      int to = token;
      while (to + 1 < window.words.length && window.words[to + 1] == window.words[to]) {
        to++;
      }
      return to;
    }

    /** From the first token of one's word to the last token of the other's. */
    Answer answer(int first, int last, String context) {
      int start = window.starts[firstOfWord(first)];
      int end = window.ends[lastOfWord(last)];
      return new Answer(context.substring(start, Math.max(start, end)), score(first, last), start, end);
    }
  }
}
