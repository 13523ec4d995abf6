package mobilebert.runtime;

import java.io.IOException;

/**
 * Letters, numbers and white space as the pattern of byte-level BPE knows them, read from the library's table
 * categories.txt.
 *
 * <p>The device's own Unicode data are not used: they differ between Android versions.
 */
final class Categories {
  private final IntList letters = new IntList(2048);
  private final IntList numbers = new IntList(512);
  private final int[] letterRuns;
  private final int[] numberRuns;

  Categories() throws IOException {
    Rows rows = new Rows("categories.txt");
    for (char kind = rows.next(); kind != 0; kind = rows.next()) {
      IntList runs = kind == 'L' ? letters : numbers;
      runs.add(rows.number());
      runs.add(rows.number() + 1);
    }
    letterRuns = letters.toArray();
    numberRuns = numbers.toArray();
  }

  boolean isLetter(int code) {
    return inside(letterRuns, code);
  }

  boolean isNumber(int code) {
    return inside(numberRuns, code);
  }

  /** Unicode's property White_Space, which has been the same since 2013. */
  static boolean isSpace(int code) {
    return code >= 0x09 && code <= 0x0D
        || code == 0x20
        || code == 0x85
        || code == 0xA0
        || code == 0x1680
        || code >= 0x2000 && code <= 0x200A
        || code == 0x2028
        || code == 0x2029
        || code == 0x202F
        || code == 0x205F
        || code == 0x3000;
  }

  /** Runs are [first, after the last) one after the other: a code is inside one if an odd number of cuts is below it. */
  private static boolean inside(int[] runs, int code) {
    int at = java.util.Arrays.binarySearch(runs, code);
    return (at >= 0 ? at % 2 == 0 : (-at - 1) % 2 == 1);
  }
}
