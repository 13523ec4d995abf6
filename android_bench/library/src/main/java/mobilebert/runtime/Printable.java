package mobilebert.runtime;

import java.util.Arrays;

/**
 * Which characters a name in an artefact may hold: Python's str.isprintable, without the device's Unicode data, which on
 * Android 8 lack every emoji since 2017. A character that a later version of Unicode will assign counts as printable.
 */
final class Printable {
  /** Unicode's categories Cc, Cf, Cs, Co, Zl, Zp and Zs but for the space, and noncharacters: first, after the last. */
  private static final int[] HIDDEN = {
    0x0, 0x20, 0x7F, 0xA1, 0xAD, 0xAE, 0x600, 0x606, 0x61C, 0x61D, 0x6DD, 0x6DE, 0x70F, 0x710, 0x890, 0x892, 0x8E2,
    0x8E3, 0x1680, 0x1681, 0x180E, 0x180F, 0x2000, 0x2010, 0x2028, 0x2030, 0x205F, 0x2065, 0x2066, 0x2070, 0x3000,
    0x3001, 0xD800, 0xF900, 0xFDD0, 0xFDF0, 0xFEFF, 0xFF00, 0xFFF9, 0xFFFC, 0x110BD, 0x110BE, 0x110CD, 0x110CE, 0x13430,
    0x13440, 0x1BCA0, 0x1BCA4, 0x1D173, 0x1D17B, 0xE0001, 0xE0002, 0xE0020, 0xE0080, 0xF0000, 0x110000
  };

  private Printable() {}

  static boolean isPrintable(String text) {
    for (int i = 0; i < text.length(); ) {
      int code = text.codePointAt(i);
      if (isHidden(code)) {
        return false;
      }
      i += Character.charCount(code);
    }
    return true;
  }

  private static boolean isHidden(int code) {
    int at = Arrays.binarySearch(HIDDEN, code);
    // Cuts, one after the other: a code is inside a run where an odd number of cuts is at or below it.
    return (at >= 0 ? at % 2 == 0 : (-at - 1) % 2 == 1) || (code & 0xFFFE) == 0xFFFE;
  }
}
