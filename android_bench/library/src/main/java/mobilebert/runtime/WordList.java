package mobilebert.runtime;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The words of spelling.txt in the order of the alphabet, each with its line. All letters lie in one buffer, of memory or
 * of a file, and the order is found by sorting numbers: a list of 140,000 words takes no object for each. Immutable:
 * threads may share one.
 */
final class WordList {
  static final String FILE = "spelling.txt";
  static final int SHORTEST = 3;
  static final int LONGEST = 24;
  private static final int MOST_WORDS = 500000;

  /** Letters of a word that one number holds, of five bits each, above the number of its line. */
  private static final int HELD = 8;

  private static final int LETTER_BITS = 5;
  private static final int LINE_BITS = 19;
  private static final int NUMBER = 4; // bytes

  /** All words one after the other in the order of the alphabet, and where each begins. */
  private final ByteBuffer letters;

  private final IntBuffer starts;

  /** The line of each word in the file, from 1 on. */
  private final IntBuffer lines;

  /** Reads a folder's spelling.txt: a word a line, the most frequent first. */
  static WordList read(File folder) throws IOException {
    return new WordList(Files.readBytes(new File(folder, FILE)));
  }

  private WordList(byte... text) throws IOException {
    int count = 0;
    for (byte one : text) {
      count += one == '\n' ? 1 : 0;
    }
    if (count < 1 || count > MOST_WORDS || text[text.length - 1] != '\n') {
      throw new IOException(FILE + ": expected 1 to " + MOST_WORDS + " lines, each with an end");
    }
    int[] places = new int[count + 1]; // in the file
    int line = 0;
    for (int i = 0; i < text.length; i++) {
      if (text[i] == '\n') {
        int length = i - places[line];
        if (length < SHORTEST || length > LONGEST) {
          throw fault(line);
        }
        places[++line] = i + 1;
      } else if (text[i] < 'a' || text[i] > 'z') {
        throw fault(line);
      }
    }
    long[] order = new long[count];
    for (int i = 0; i < count; i++) {
      order[i] = i;
    }
    sort(order, 0, count, 0, text, places);
    letters = ByteBuffer.allocate(text.length - count);
    starts = IntBuffer.allocate(count + 1);
    lines = IntBuffer.allocate(count);
    for (int i = 0; i < count; i++) {
      int from = places[(int) order[i]];
      letters.put(text, from, places[(int) order[i] + 1] - 1 - from);
      starts.put(i + 1, letters.position());
      lines.put(i, (int) order[i] + 1);
    }
  }

  /** The list that {@link #write} wrote; it goes on reading from the buffer. */
  static WordList read(ByteBuffer written) {
    int count = written.getInt();
    return new WordList(numbers(written, count + 1), numbers(written, count), written.slice());
  }

  private WordList(IntBuffer starts, IntBuffer lines, ByteBuffer letters) {
    this.starts = starts;
    this.lines = lines;
    this.letters = letters;
  }

  private static IntBuffer numbers(ByteBuffer from, int count) {
    IntBuffer numbers = from.slice().asIntBuffer();
    numbers.limit(count);
    from.position(from.position() + count * NUMBER);
    return numbers;
  }

  /** The list as it is, for the next start: {@link #read} sorts nothing. */
  byte[] write() {
    ByteBuffer out = ByteBuffer.allocate((1 + starts.capacity() + lines.capacity()) * NUMBER + letters.capacity());
    out.putInt(lines.capacity());
    for (IntBuffer numbers : new IntBuffer[] {starts, lines}) {
      for (int i = 0; i < numbers.capacity(); i++) {
        out.putInt(numbers.get(i));
      }
    }
    return out.put(letters.array()).array();
  }

  /** Sorts lines in a range, whose words have their first letters in common, by the letters from a place on. */
  private static void sort(long[] order, int from, int to, int at, byte[] text, int... places) throws IOException {
    if (at >= LONGEST) { // equal words, in the order of their lines
      throw fault((int) order[from + 1]);
    }
    for (int i = from; i < to; i++) {
      int line = (int) order[i];
      int start = places[line] + at;
      int end = places[line + 1] - 1;
      long held = 0;
      for (int letter = 0; letter < HELD; letter++) {
        held = held << LETTER_BITS | (start + letter < end ? text[start + letter] - 'a' + 1 : 0);
      }
      order[i] = held << LINE_BITS | line;
    }
    Arrays.sort(order, from, to);
    int begin = from;
    for (int i = from + 1; i <= to; i++) {
      if (i < to && order[i] >>> LINE_BITS == order[begin] >>> LINE_BITS) {
        continue;
      }
      int end = i;
      for (int k = begin; k < end; k++) {
        order[k] &= (1 << LINE_BITS) - 1;
      }
      if (end - begin > 1) {
        sort(order, begin, end, at + HELD, text, places);
      }
      begin = end;
    }
  }

  private static IOException fault(int line) {
    return new IOException(
        FILE + ": line " + (line + 1) + ": expected another word of " + SHORTEST + " to " + LONGEST + " letters a to z");
  }

  int size() {
    return lines.limit();
  }

  /** The line of the word at a place, from 1 on. */
  int lineAt(int place) {
    return lines.get(place);
  }

  String wordAt(int place) {
    byte[] word = new byte[starts.get(place + 1) - starts.get(place)];
    for (int i = 0; i < word.length; i++) {
      word[i] = letters.get(starts.get(place) + i);
    }
    return new String(word, StandardCharsets.US_ASCII);
  }

  /** A word's line in the file, from 1 on; 0 where it is not there. */
  int line(String word) {
    int place = find(0, size(), 0, word, 0);
    return place < 0 ? 0 : lineAt(place);
  }

  /** The place in a range of equal beginnings of the word that goes on from `at` as `word` does from `from`; or −1. */
  int find(int low, int high, int at, String word, int from) {
    int first = low;
    int end = high;
    while (first < end) {
      int middle = (first + end) >>> 1;
      int order = compare(middle, at, word, from);
      if (order == 0) {
        return middle;
      }
      if (order < 0) {
        first = middle + 1;
      } else {
        end = middle;
      }
    }
    return -1;
  }

  private int compare(int place, int at, String word, int from) {
    int start = starts.get(place) + at;
    int length = starts.get(place + 1) - start;
    int other = word.length() - from;
    for (int i = 0; i < Math.min(length, other); i++) {
      int order = letters.get(start + i) - word.charAt(from + i);
      if (order != 0) {
        return order;
      }
    }
    return length - other;
  }

  /** The first place in a range of equal beginnings whose letter at `at` is not before this one. */
  int begin(int low, int high, int at, int letter) {
    int first = low;
    int end = high;
    while (first < end) {
      int middle = (first + end) >>> 1;
      if (letter(middle, at) < letter) {
        first = middle + 1;
      } else {
        end = middle;
      }
    }
    return first;
  }

  /** A letter of the word at a place; 0 beyond its end. */
  int letter(int place, int at) {
    int from = starts.get(place) + at;
    return from < starts.get(place + 1) ? letters.get(from) : 0;
  }
}
