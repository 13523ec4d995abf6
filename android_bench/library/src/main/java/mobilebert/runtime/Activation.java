package mobilebert.runtime;

import androidx.annotation.NonNull;

/** How logits become scores: one distribution, one probability for each label, or as they are (regression). */
public enum Activation {
  SOFTMAX("softmax"),
  SIGMOID("sigmoid"),
  IDENTITY("identity");

  /** Its name in io.json. */
  @NonNull public final String id;

  Activation(String id) {
    this.id = id;
  }

  /** Scores of a row of logits, in double, rounded to float once. */
  float[] of(float[] logits) {
    float[] scores = new float[logits.length];
    double largest = Double.NEGATIVE_INFINITY;
    for (float value : logits) {
      largest = Math.max(largest, value);
    }
    double sum = 0;
    for (float value : logits) {
      sum += Math.exp(value - largest);
    }
    for (int i = 0; i < scores.length; i++) {
      switch (this) {
        case SOFTMAX:
          scores[i] = (float) (Math.exp(logits[i] - largest) / sum);
          break;
        case SIGMOID:
          scores[i] = (float) sigmoid(logits[i]);
          break;
        default:
          scores[i] = logits[i];
      }
    }
    return scores;
  }

  /** The logistic function, without overflow. */
  static double sigmoid(double value) {
    double small = Math.exp(-Math.abs(value));
    return (value >= 0 ? 1 : small) / (1 + small);
  }
}
