package mobilebert.runtime;

import java.io.IOException;
import java.util.Arrays;

/**
 * BERT's text clean-up: controls dropped, white space one kind of space, ideographs set apart; of a lower-casing one,
 * accents removed and letters in lower case too. Immutable: threads may share one.
 */
final class TextNormalizer {
  private static final int HANGUL_FIRST = 0xAC00;
  private static final int HANGUL_LAST = 0xD7A3;

  private final UnicodeTable table;
  private final boolean lowercase;

  TextNormalizer(boolean lowercase) throws IOException {
    this.lowercase = lowercase;
    table = UnicodeTable.load();
  }

  boolean isPunctuation(int code) {
    return table.has(code, UnicodeTable.PUNCTUATION);
  }

  /** The normalised text; each code point keeps the characters it came from. */
  AlignedText normalize(AlignedText text) {
    AlignedText.Builder out = new AlignedText.Builder(text.length() + 16);
    for (int i = 0; i < text.length(); i++) {
      int code = text.codes[i];
      if (table.has(code, UnicodeTable.DROPPED) || lowercase && table.has(code, UnicodeTable.ACCENT)) {
        continue;
      }
      boolean ideograph = table.has(code, UnicodeTable.IDEOGRAPH);
      if (ideograph) {
        out.add(' ', text.starts[i], text.ends[i]);
      }
      append(out, code, text.starts[i], text.ends[i]);
      if (ideograph) {
        out.add(' ', text.starts[i], text.ends[i]);
      }
    }
    AlignedText line = out.build();
    if (lowercase) {
      sortMarks(line.codes);
    }
    return line;
  }

  private void append(AlignedText.Builder out, int code, int start, int end) {
    if (table.has(code, UnicodeTable.SPACE)) {
      out.add(' ', start, end);
      return;
    }
    if (lowercase && code >= HANGUL_FIRST && code <= HANGUL_LAST) {
      appendHangul(out, code - HANGUL_FIRST, start, end);
      return;
    }
    int[] target = lowercase ? table.target(code) : null;
    if (target == null) {
      out.add(code, start, end);
      return;
    }
    for (int part : target) {
      out.add(part, start, end);
    }
  }

  /** Unicode 3.12: a syllable is a leading consonant, a vowel and perhaps a trailing consonant. */
  private static void appendHangul(AlignedText.Builder out, int index, int start, int end) {
    out.add(0x1100 + index / (21 * 28), start, end);
    out.add(0x1161 + index / 28 % 21, start, end);
    if (index % 28 != 0) {
      out.add(0x11A7 + index % 28, start, end);
    }
  }

  /** Canonical order (Unicode 3.11): neighbours whose classes are above 0 lie by class, equal ones as they came. */
  private void sortMarks(int[] line) {
    int from = 0;
    for (int to = 0; to <= line.length; to++) {
      if (to == line.length || table.combiningClass(line[to]) == 0) {
        if (to - from > 1) {
          sortRun(line, from, to);
        }
        from = to + 1;
      }
    }
  }

  private void sortRun(int[] line, int from, int to) {
    int[] marks = Arrays.copyOfRange(line, from, to);
    long[] order = new long[marks.length];
    for (int i = 0; i < order.length; i++) {
      order[i] = (long) table.combiningClass(marks[i]) << 32 | i;
    }
    Arrays.sort(order);
    for (int i = 0; i < order.length; i++) {
      line[from + i] = marks[(int) order[i]];
    }
  }
}
