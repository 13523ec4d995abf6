package mobilebert.runtime;

import java.io.IOException;

/** The length prior taken out of a score: mobilebert_runtime/length_shift.py, number for number. Immutable: threads may share one. */
final class LengthShift {
  /** Adds nothing. */
  static final LengthShift NONE = new LengthShift(new double[3], new double[4]);

  static final double FLOAT32 = 3.4e38;
  private static final double MOST_ADDED = 100;

  private final double[] quartiles;
  private final double[] added;

  private LengthShift(double[] quartiles, double[] added) {
    this.quartiles = quartiles;
    this.added = added;
  }

  LengthShift(Fields fields) throws IOException {
    this(fields.numbers("quartiles", 3, 0, FLOAT32), fields.numbers("added", 4, -MOST_ADDED, MOST_ADDED));
    for (int i = 1; i < quartiles.length; i++) {
      if (quartiles[i] < quartiles[i - 1]) {
        throw fields.fault("quartiles do not ascend");
      }
    }
  }

  /** What a pair's lengths add to the log-odds of the positive label; 0 where a text has no words. */
  double of(String textA, String textB) {
    int wordsA = words(textA);
    int wordsB = words(textB);
    int shorter = Math.min(wordsA, wordsB);
    if (shorter == 0) {
      return 0;
    }
    double divergence = Math.abs(wordsA - wordsB) / (double) shorter;
    int category = 0;
    // A value equal to a quartile belongs to the category below it.
    while (category < quartiles.length && quartiles[category] < divergence) {
      category++;
    }
    return added[category];
  }

  /** Maximal runs of characters that Python's str.split does not call white space. */
  static int words(String text) {
    int words = 0;
    boolean inside = false;
    for (int i = 0; i < text.length(); i++) {
      boolean space = isSpace(text.charAt(i));
      words += !space && !inside ? 1 : 0;
      inside = !space;
    }
    return words;
  }

  /** Python's str.isspace, all of whose characters are in the basic plane. */
  private static boolean isSpace(char c) {
    return c >= 0x09 && c <= 0x0D
        || c >= 0x1C && c <= 0x20
        || c == 0x85
        || c == 0xA0
        || c == 0x1680
        || c >= 0x2000 && c <= 0x200A
        || c == 0x2028
        || c == 0x2029
        || c == 0x202F
        || c == 0x205F
        || c == 0x3000;
  }
}
