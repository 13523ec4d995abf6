package mobilebert.runtime;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/**
 * What BERT's normaliser does to a code point, read from the library's table unicode.txt.
 *
 * <p>The device's own Unicode data are not used: they differ between Android versions.
 */
final class UnicodeTable {
  static final int DROPPED = 1;
  static final int SPACE = 2;
  static final int IDEOGRAPH = 4;
  static final int PUNCTUATION = 8;
  private static final int MAPPED = 16;
  private static final int SORTED = 32;
  static final int ACCENT = 64;

  private final byte[] flags = new byte[Character.MAX_CODE_POINT + 1];
  private final Map<Integer, int[]> targets = new HashMap<Integer, int[]>();
  private final Map<Integer, Integer> classes = new HashMap<Integer, Integer>();

  /** Reads the table that is packaged with this class. */
  static UnicodeTable load() throws IOException {
    UnicodeTable table = new UnicodeTable();
    Rows rows = new Rows("unicode.txt");
    for (char kind = rows.next(); kind != 0; kind = rows.next()) {
      table.add(kind, rows);
    }
    return table;
  }

  boolean has(int codePoint, int flag) {
    return (flags[codePoint] & flag) != 0;
  }

  /** The code points this one becomes, or null when it stays as it is. */
  int[] target(int codePoint) {
    return has(codePoint, MAPPED) ? targets.get(codePoint) : null;
  }

  /** Canonical combining class of a mark that survives normalisation; 0 for everything else. */
  int combiningClass(int codePoint) {
    return has(codePoint, SORTED) ? classes.get(codePoint) : 0;
  }

  private void add(char kind, Rows rows) {
    int first = rows.number();
    int last = rows.number();
    int flag = flag(kind);
    for (int code = first; code <= last; code++) {
      flags[code] |= flag;
    }
    IntList numbers = new IntList(4);
    while (rows.hasNumber()) {
      numbers.add(rows.number());
    }
    for (int code = first; code <= last && numbers.size() > 0; code++) {
      if (flag == SORTED) {
        classes.put(code, numbers.get(0));
      } else {
        targets.put(code, kind == 'M' ? numbers.toArray() : new int[] {code + numbers.get(0)});
      }
    }
  }

  private static int flag(char kind) {
    switch (kind) {
      case 'D':
        return DROPPED;
      case 'A':
        return ACCENT;
      case 'S':
        return SPACE;
      case 'C':
        return IDEOGRAPH;
      case 'P':
        return PUNCTUATION;
      case 'M':
      case 'L':
        return MAPPED;
      case 'O':
        return SORTED;
      default:
        throw new IllegalStateException("unicode.txt has a row of unknown kind " + kind);
    }
  }
}
