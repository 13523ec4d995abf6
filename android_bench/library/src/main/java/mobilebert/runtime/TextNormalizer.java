package mobilebert.runtime;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * BERT's text clean-up and word split: controls dropped, ideographs set apart, accents removed, lower case; words end
 * at white space, punctuation characters are words of their own.
 */
final class TextNormalizer {
  private static final int HANGUL_FIRST = 0xAC00;
  private static final int HANGUL_LAST = 0xD7A3;

  private final UnicodeTable table;

  TextNormalizer() throws IOException {
    table = UnicodeTable.load();
  }

  /** The words of a text, each as its code points. */
  List<int[]> words(String text) {
    int[] line = normalize(text);
    List<int[]> words = new ArrayList<int[]>();
    int start = 0;
    for (int i = 0; i <= line.length; i++) {
      boolean end = i == line.length;
      if (!end && line[i] != ' ' && !table.has(line[i], UnicodeTable.PUNCTUATION)) {
        continue;
      }
      if (i > start) {
        words.add(java.util.Arrays.copyOfRange(line, start, i));
      }
      if (!end && line[i] != ' ') {
        words.add(new int[] {line[i]});
      }
      start = i + 1;
    }
    return words;
  }

  /** The normalised text as code points; white space is one kind of space. */
  int[] normalize(String text) {
    IntList out = new IntList(text.length() + 16);
    for (int i = 0; i < text.length(); ) {
      int code = text.codePointAt(i);
      i += Character.charCount(code);
      boolean loneSurrogate = code >= 0xD800 && code <= 0xDFFF;
      if (loneSurrogate || table.has(code, UnicodeTable.DROPPED)) {
        continue;
      }
      boolean ideograph = table.has(code, UnicodeTable.IDEOGRAPH);
      if (ideograph) {
        out.add(' ');
      }
      append(out, code);
      if (ideograph) {
        out.add(' ');
      }
    }
    int[] line = out.toArray();
    sortMarks(line);
    return line;
  }

  private void append(IntList out, int code) {
    if (table.has(code, UnicodeTable.SPACE)) {
      out.add(' ');
      return;
    }
    if (code >= HANGUL_FIRST && code <= HANGUL_LAST) {
      appendHangul(out, code - HANGUL_FIRST);
      return;
    }
    int[] target = table.target(code);
    if (target == null) {
      out.add(code);
      return;
    }
    for (int part : target) {
      out.add(part);
    }
  }

  /** Unicode 3.12: a syllable is a leading consonant, a vowel and perhaps a trailing consonant. */
  private static void appendHangul(IntList out, int index) {
    out.add(0x1100 + index / (21 * 28));
    out.add(0x1161 + index / 28 % 21);
    if (index % 28 != 0) {
      out.add(0x11A7 + index % 28);
    }
  }

  /** Canonical order (Unicode 3.11): neighbours swap while their classes are both above 0 and descending. */
  private void sortMarks(int[] line) {
    for (int i = 1; i < line.length; i++) {
      int mark = line[i];
      int rank = table.combiningClass(mark);
      int j = i;
      while (rank > 0 && j > 0 && table.combiningClass(line[j - 1]) > rank) {
        line[j] = line[j - 1];
        j--;
      }
      line[j] = mark;
    }
  }
}
