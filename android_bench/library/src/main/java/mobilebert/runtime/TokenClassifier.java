package mobilebert.runtime;

import android.content.Context;
import androidx.annotation.NonNull;
import java.io.File;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Parts of a text with a label, such as names of people and places. */
public final class TokenClassifier extends Model {
  private static final String OUTSIDE = "O";
  private static final Reads READS =
      new Reads() {
        @Override
        public boolean card(ArtefactCard card) {
          return card.task == Task.TOKEN_CLASSIFICATION;
        }
      };

  TokenClassifier(Parts parts) {
    super(parts);
  }

  /** Opens an artefact folder; an {@link ArtefactException} says what is wrong with it. */
  @NonNull
  public static TokenClassifier load(@NonNull File folder, @NonNull ModelOptions options) {
    return new TokenClassifier(Parts.open(folder, READS, options));
  }

  /** Opens an artefact folder of the app's assets. */
  @NonNull
  public static TokenClassifier load(
      @NonNull Context context, @NonNull String folder, @NonNull ModelOptions options) {
    return new TokenClassifier(Parts.open(context, folder, READS, options));
  }

  /** Each token of the text, as much of it as the longest bucket holds, with its likeliest label. */
  @NonNull
  public List<LabelledSpan> tag(@NonNull String text) {
    TextEncoder.Window window = encoder.spans(text, lengths());
    float[] logits = run(window.encoded, "logits");
    int labels = card.labels.size();
    List<LabelledSpan> found = new ArrayList<LabelledSpan>();
    for (int i = 0; i < window.starts.length; i++) {
      int row = (window.place + i) * labels;
      float[] scores = Activation.SOFTMAX.of(java.util.Arrays.copyOfRange(logits, row, row + labels));
      int best = 0;
      for (int label = 1; label < labels; label++) {
        best = scores[label] > scores[best] ? label : best;
      }
      found.add(span(card.labels.get(best), scores[best], window.starts[i], window.ends[i], text));
    }
    return Collections.unmodifiableList(found);
  }

  /**
   * Neighbouring tokens of one label as one part: "B-" begins another, "I-" goes on with the one before it. Parts that
   * are labelled "O" are left out.
   */
  @NonNull
  public List<LabelledSpan> entities(@NonNull String text) {
    List<LabelledSpan> found = new ArrayList<LabelledSpan>();
    List<LabelledSpan> group = new ArrayList<LabelledSpan>();
    for (LabelledSpan token : tag(text)) {
      boolean goesOn = !group.isEmpty() && !token.label.startsWith("B-");
      if (!goesOn || !kind(token.label).equals(kind(group.get(0).label))) {
        close(found, group, text);
      }
      group.add(token);
    }
    close(found, group, text);
    return Collections.unmodifiableList(found);
  }

  private static void close(List<LabelledSpan> found, List<LabelledSpan> group, String text) {
    if (!group.isEmpty() && !group.get(0).label.equals(OUTSIDE)) {
      double sum = 0;
      for (LabelledSpan token : group) {
        sum += token.score;
      }
      int end = group.get(group.size() - 1).end;
      float mean = (float) (sum / group.size());
      found.add(span(kind(group.get(0).label), mean, group.get(0).start, end, text));
    }
    group.clear();
  }

  private static LabelledSpan span(String label, float score, int start, int end, String text) {
    return new LabelledSpan(label, score, start, end, text.substring(start, Math.max(start, end)));
  }

  private static String kind(String label) {
    return label.startsWith("B-") || label.startsWith("I-") ? label.substring(2) : label;
  }
}
