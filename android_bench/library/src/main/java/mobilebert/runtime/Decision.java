package mobilebert.runtime;

import java.io.IOException;
import java.util.List;

/** How a matcher's logits become a score and a label. Immutable: threads may share one. */
final class Decision {
  private static final double LOWEST_TEMPERATURE = 1e-3;
  private static final double HIGHEST_TEMPERATURE = 1e3;

  final int positive;
  final double threshold;
  private final List<String> labels;
  private final Activation activation;
  private final double temperature;
  private final LengthShift lengthShift;

  Decision(Fields fields, List<String> labels, Activation activation) throws IOException {
    this.labels = labels;
    this.activation = activation;
    boolean raw = activation == Activation.IDENTITY;
    positive = fields.whole("positive", 0, labels.size() - 1);
    threshold = raw ? fields.number("threshold", -LengthShift.FLOAT32, LengthShift.FLOAT32) : fields.number("threshold", 0, 1);
    temperature = fields.number("temperature", LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE);
    boolean none = fields.isNull("length_shift");
    lengthShift = none ? LengthShift.NONE : new LengthShift(fields.object("length_shift"));
    if (raw && !(temperature == 1 && none)) {
      throw fields.fault("activation identity has temperature 1 and no length_shift");
    }
  }

  /**
   * Score of a pair: probability of the positive label, of logits / temperature and what its lengths add to the
   * positive one, in double, rounded to float once; or, of a regression, the logit itself.
   */
  float score(float[] logits, String textA, String textB) {
    if (activation == Activation.IDENTITY) {
      return logits[0];
    }
    double shift = lengthShift.of(textA, textB);
    if (activation == Activation.SIGMOID) {
      return (float) Activation.sigmoid(logits[0] / temperature + shift);
    }
    double[] scaled = new double[logits.length];
    double largest = Double.NEGATIVE_INFINITY;
    for (int i = 0; i < logits.length; i++) {
      scaled[i] = logits[i] / temperature + (i == positive ? shift : 0);
      largest = Math.max(largest, scaled[i]);
    }
    double sum = 0;
    for (double value : scaled) {
      sum += Math.exp(value - largest);
    }
    return (float) (Math.exp(scaled[positive] - largest) / sum);
  }

  /** The positive label at and above the threshold; below it the other one, of two labels, else "not" it. */
  String label(float score) {
    String name = labels.get(positive);
    if (score >= threshold) {
      return name;
    }
    return labels.size() == 2 ? labels.get(1 - positive) : "not " + name;
  }
}
