package mobilebert.runtime;

import java.io.IOException;

/**
 * GPT-2's pattern of words: {@code 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+}, by the
 * Unicode data of {@link Categories}, not the device's.
 */
final class WordPattern {
  private static final String[] CONTRACTIONS = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

  private final Categories categories = new Categories();

  WordPattern() throws IOException {}

  /** Kinds of characters that words are runs of. */
  private enum Kind {
    LETTER,
    NUMBER,
    SPACE,
    OTHER
  }

  /** Where the word that starts at a place ends; something matches at every place. */
  int end(int[] codes, int start) {
    for (String one : CONTRACTIONS) {
      if (startsWith(codes, start, one)) {
        return start + one.length();
      }
    }
    int first = codes[start] == ' ' && start + 1 < codes.length ? start + 1 : start;
    Kind kind = kind(codes[first]);
    if (kind == Kind.SPACE) {
      return spaces(codes, start);
    }
    return run(codes, first, kind);
  }

  /** A run of white space leaves its last character to a word that follows. */
  private int spaces(int[] codes, int start) {
    int end = run(codes, start, Kind.SPACE);
    return end == codes.length || end - start == 1 ? end : end - 1;
  }

  private int run(int[] codes, int start, Kind kind) {
    int end = start;
    while (end < codes.length && kind(codes[end]) == kind) {
      end++;
    }
    return end;
  }

  private Kind kind(int code) {
    if (Categories.isSpace(code)) {
      return Kind.SPACE;
    }
    if (categories.isLetter(code)) {
      return Kind.LETTER;
    }
    return categories.isNumber(code) ? Kind.NUMBER : Kind.OTHER;
  }

  private static boolean startsWith(int[] codes, int start, String text) {
    if (start + text.length() > codes.length) {
      return false;
    }
    for (int i = 0; i < text.length(); i++) {
      if (codes[start + i] != text.charAt(i)) {
        return false;
      }
    }
    return true;
  }
}
