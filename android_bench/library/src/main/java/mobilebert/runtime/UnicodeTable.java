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
    for (String line : Files.readResource("unicode.txt")) {
      table.add(line.split(" "));
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

  private void add(String[] row) {
    int first = Integer.parseInt(row[1], 16);
    int last = Integer.parseInt(row[2], 16);
    for (int code = first; code <= last; code++) {
      flags[code] |= flag(row[0]);
      if (row[0].equals("M")) {
        targets.put(code, numbers(row));
      } else if (row[0].equals("L")) {
        targets.put(code, new int[] {code + Integer.parseInt(row[3], 16)});
      } else if (row[0].equals("O")) {
        classes.put(code, Integer.parseInt(row[3], 16));
      }
    }
  }

  private static int[] numbers(String[] row) {
    int[] found = new int[row.length - 3];
    for (int i = 0; i < found.length; i++) {
      found[i] = Integer.parseInt(row[i + 3], 16);
    }
    return found;
  }

  private static int flag(String kind) {
    switch (kind) {
      case "D":
        return DROPPED;
      case "A":
        return ACCENT;
      case "S":
        return SPACE;
      case "C":
        return IDEOGRAPH;
      case "P":
        return PUNCTUATION;
      case "M":
      case "L":
        return MAPPED;
      case "O":
        return SORTED;
      default:
        throw new IllegalStateException("unicode.txt has a row of unknown kind " + kind);
    }
  }
}
