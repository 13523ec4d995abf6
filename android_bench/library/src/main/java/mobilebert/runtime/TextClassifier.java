package mobilebert.runtime;

import android.content.Context;
import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Labels of a text, or of a pair of texts, as the artefact reads. */
public final class TextClassifier extends Model {
  private static final Reads READS =
      new Reads() {
        @Override
        public boolean card(ArtefactCard card) {
          return card.task == Task.TEXT_CLASSIFICATION;
        }
      };

  TextClassifier(Parts parts) {
    super(parts);
  }

  /** Opens an artefact folder; an {@link ArtefactException} says what is wrong with it. */
  @NonNull
  public static TextClassifier load(@NonNull File folder, @NonNull ModelOptions options) {
    return new TextClassifier(Parts.open(folder, READS, options));
  }

  /** Opens an artefact folder of the app's assets. */
  @NonNull
  public static TextClassifier load(
      @NonNull Context context, @NonNull String folder, @NonNull ModelOptions options) {
    return new TextClassifier(Parts.open(context, folder, READS, options));
  }

  /**
   * Every label with its score, in the order of the card: probabilities that add up to 1 (softmax), a probability each
   * (sigmoid), or values (identity).
   *
   * @param second the second text where the artefact reads two, else null
   */
  @NonNull
  public List<LabelScore> scores(@NonNull String text, @Nullable String second) {
    if ((second == null) != (card.texts == 1)) {
      throw new IllegalArgumentException("this artefact reads " + (card.texts == 1 ? "one text" : "two texts"));
    }
    float[] scores = card.activation.of(run(encoder.encode(text, second, lengths()), "logits"));
    List<LabelScore> found = new ArrayList<LabelScore>();
    for (int i = 0; i < scores.length; i++) {
      found.add(new LabelScore(card.labels.get(i), scores[i]));
    }
    return Collections.unmodifiableList(found);
  }

  /** As {@link #scores}, the highest first. */
  @NonNull
  public List<LabelScore> classify(@NonNull String text, @Nullable String second) {
    List<LabelScore> sorted = new ArrayList<LabelScore>(scores(text, second));
    Collections.sort(sorted, LabelScore.HIGHEST_FIRST);
    return Collections.unmodifiableList(sorted);
  }
}
