package mobilebert.runtime;

/** Code points, each with the characters of the original text that it stands for. Immutable. */
final class AlignedText {
  final int[] codes;

  /** First character of the original, and the one after the last, of each code point; UTF-16 units. */
  final int[] starts;

  final int[] ends;

  private AlignedText(int[] codes, int[] starts, int[] ends) {
    this.codes = codes;
    this.starts = starts;
    this.ends = ends;
  }

  /** A text as it is; halves of surrogate pairs, which are no characters, are left out. */
  static AlignedText of(String text) {
    Builder out = new Builder(text.length());
    for (int i = 0; i < text.length(); ) {
      int code = text.codePointAt(i);
      int end = i + Character.charCount(code);
      if (code < 0xD800 || code > 0xDFFF) {
        out.add(code, i, end);
      }
      i = end;
    }
    return out.build();
  }

  int length() {
    return codes.length;
  }

  AlignedText slice(int from, int to) {
    Builder out = new Builder(to - from);
    for (int i = from; i < to; i++) {
      out.add(codes[i], starts[i], ends[i]);
    }
    return out.build();
  }

  /** Collects code points in order. */
  static final class Builder {
    private final IntList codes;
    private final IntList starts;
    private final IntList ends;

    Builder(int expected) {
      codes = new IntList(expected);
      starts = new IntList(expected);
      ends = new IntList(expected);
    }

    void add(int code, int start, int end) {
      codes.add(code);
      starts.add(start);
      ends.add(end);
    }

    AlignedText build() {
      return new AlignedText(codes.toArray(), starts.toArray(), ends.toArray());
    }
  }
}
