package mobilebert.runtime;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.Locale;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Unknown and rare words of a text put right before it becomes tokens, by spelling.txt: mobilebert_runtime/spelling.py,
 * rule for rule and number for number; what the numbers mean is said there. Immutable: threads may share one.
 */
final class SpellingCorrector {
  private static final String FILE = "spelling.txt";
  private static final int SHORTEST = 3;
  private static final int LONGEST = 24;
  private static final int SHORTEST_NAME = 4;
  private static final int PROTECTED = 20000;
  private static final int RARER = 50;
  private static final int REACH = 1000;
  private static final int REACHING = 8;
  private static final int BESIDE = 2;
  private static final int OTHER = 16;
  private static final int FIRST = 2;
  private static final int TWO_EDITS = 6;

  /** Of the other text's words with one first letter, the most frequent ones: more than a text that is read holds. */
  private static final int MOST_BESIDE = 64;
  private static final int MOST_WORDS = 500000;
  private static final int READ = 4096;

  /** Keys beside a, b, c ... on a QWERTY keyboard. */
  private static final String[] NEIGHBOURS = {
    "sqwz", "vngh", "xvdf", "sfercx", "wrds", "dgrtvc", "fhtybv", "gjyunb", "uokj", "hkuimn", "jliom", "kop", "njk",
    "bmhj", "iplk", "ol", "wa", "etfd", "adwexz", "rygf", "yijh", "cbfg", "qesa", "zcsd", "tuhg", "xas"
  };

  /** Between spaces, hyphens or at punctuation; what holds digits, dots or other letters is no word. */
  private static final Pattern WORD =
      Pattern.compile("(?<![^\\s\"(\\[-])[A-Za-z]{3,24}(?=[\\s,;:!?\")\\]-]|\\.?(?![\\s\\S])|\\.\\s|'s)");

  private static final Pattern LINE = Pattern.compile("[a-z]{" + SHORTEST + "," + LONGEST + "}");

  /** All words one after the other in the order of the alphabet, and where each begins: no object for each. */
  private final String known;

  private final int[] starts;

  /** The line of each word in the file, from 1 on. */
  private final int[] lines;

  /** Reads a folder's spelling.txt: a word a line, the most frequent first. */
  static SpellingCorrector read(File folder) throws IOException {
    String text = Files.readText(new File(folder, FILE));
    String[] lines = text.split("\n", -1);
    int count = lines.length - 1;
    if (count < 1 || count > MOST_WORDS || !lines[count].isEmpty()) {
      throw new IOException(FILE + ": expected 1 to " + MOST_WORDS + " lines, each with an end");
    }
    for (int i = 0; i < count; i++) {
      if (!LINE.matcher(lines[i]).matches()) {
        throw fault(i);
      }
    }
    return new SpellingCorrector(Arrays.copyOf(lines, count));
  }

  private SpellingCorrector(final String... words) throws IOException {
    Integer[] order = new Integer[words.length];
    for (int i = 0; i < order.length; i++) {
      order[i] = i;
    }
    Arrays.sort(order, new Comparator<Integer>() {
      @Override
      public int compare(Integer one, Integer other) {
        return words[one].compareTo(words[other]);
      }
    });
    StringBuilder all = new StringBuilder();
    starts = new int[words.length + 1];
    lines = new int[words.length];
    for (int i = 0; i < order.length; i++) {
      if (i > 0 && words[order[i]].equals(words[order[i - 1]])) {
        throw fault(Math.max(order[i], order[i - 1]));
      }
      lines[i] = order[i] + 1;
      all.append(words[order[i]]);
      starts[i + 1] = all.length();
    }
    known = all.toString();
  }

  private static IOException fault(int line) {
    return new IOException(
        FILE + ": line " + (line + 1) + ": expected another word of " + SHORTEST + " to " + LONGEST + " letters a to z");
  }

  /** The text with its unknown and rare words that are at one edit of a frequent one replaced by it. */
  String corrected(String text) {
    return corrected(text, Collections.<String>emptySet());
  }

  /** Two texts that are compared: each corrected, and an unknown word by a known one of the other text first of all. */
  String[] correctedPair(String a, String b) {
    return new String[] {corrected(a, words(corrected(b))), corrected(b, words(corrected(a)))};
  }

  /** Lower-case words of a text. */
  private static Set<String> words(String text) {
    Set<String> found = new TreeSet<String>();
    int read = end(text);
    Matcher words = WORD.matcher(text);
    while (words.find() && words.start() < read) {
      found.add(words.group().toLowerCase(Locale.ROOT));
    }
    return found;
  }

  /** Where the characters end that are looked at. */
  private static int end(String text) {
    return text.codePointCount(0, text.length()) <= READ ? text.length() : text.offsetByCodePoints(0, READ);
  }

  private String corrected(String text, Set<String> beside) {
    int read = end(text);
    int first = firstLetter(text);
    StringBuilder out = new StringBuilder();
    int done = 0;
    Matcher words = WORD.matcher(text);
    while (words.find() && words.start() < read) {
      String found = correction(words.group(), beside, words.start() == first);
      if (found != null) {
        out.append(text, done, words.start()).append(found);
        done = words.end();
      }
    }
    return out.append(text, done, text.length()).toString();
  }

  private static int firstLetter(String text) {
    for (int i = 0; i < text.length(); i++) {
      char one = text.charAt(i);
      if (one >= 'a' && one <= 'z' || one >= 'A' && one <= 'Z') {
        return i;
      }
    }
    return -1;
  }

  /** What a word is replaced by; null where it stays. */
  private String correction(String word, Set<String> beside, boolean begins) {
    String lower = word.toLowerCase(Locale.ROOT);
    int line = line(lower);
    boolean slipped = word.charAt(1) != lower.charAt(1); // the shift key, held too long or pressed too late
    if (!word.regionMatches(2, lower, 2, word.length() - 2) || slipped && word.length() < SHORTEST_NAME) {
      return null;
    }
    boolean name = slipped || word.charAt(0) != lower.charAt(0) && !begins;
    if (name && (line > 0 || word.length() < SHORTEST_NAME) || line > 0 && line <= PROTECTED) {
      return null;
    }
    long most = (long) REACH << Math.min(word.length() - (name ? 1 : 0), REACHING);
    Set<String> others = line > 0 || beside.contains(lower) ? Collections.<String>emptySet() : beside;
    Best best = new Best(line > 0 ? Math.min(most, line / RARER) : most, others);
    offerEdits(lower, best);
    return best.word != null || lower.length() < TWO_EDITS ? best.word : twoEditsOff(lower, others);
  }

  /** The most frequent known word beside with the same first letter that is so near; null without one. */
  private String twoEditsOff(String word, Set<String> beside) {
    TreeMap<Integer, String> known = new TreeMap<Integer, String>(); // by their lines
    for (String one : beside) {
      int line = one.charAt(0) == word.charAt(0) ? line(one) : 0;
      if (line > 0) {
        known.put(line, one);
      }
    }
    int left = MOST_BESIDE;
    for (String one : known.values()) {
      if (left-- == 0) {
        return null;
      }
      if (within(one, word, 2)) {
        return one;
      }
    }
    return null;
  }

  /** Are two words at most so many edits of different letters apart? */
  private static boolean within(String one, String other, int edits) {
    int same = 0;
    int shorter = Math.min(one.length(), other.length());
    while (same < shorter && one.charAt(same) == other.charAt(same)) {
      same++;
    }
    if (same == shorter || edits == 0) {
      return one.length() + other.length() - 2 * same <= edits;
    }
    String a = one.substring(same + 1);
    String b = other.substring(same + 1);
    return within(a, b, edits - 1)
        || within(a, other.substring(same), edits - 1)
        || within(one.substring(same), b, edits - 1)
        || !a.isEmpty()
            && !b.isEmpty()
            && a.charAt(0) == other.charAt(same)
            && b.charAt(0) == one.charAt(same)
            && within(a.substring(1), b.substring(1), edits - 1);
  }

  /** All words at one insertion, deletion, replacement or swap of neighbours, each with its edit's factor. */
  private void offerEdits(String word, Best best) {
    int low = 0; // from here to high: the words that begin as this one does up to the edit
    int high = lines.length;
    for (int at = 0; low < high; at++) {
      offerLettersAt(at, word, low, high, best);
      if (at == word.length()) {
        return;
      }
      int first = at == 0 ? FIRST : 1;
      char one = word.charAt(at);
      boolean doubled = at > 0 && word.charAt(at - 1) == one || at + 1 < word.length() && word.charAt(at + 1) == one;
      best.offer(find(low, high, at, word, at + 1), first * (doubled ? 1 : OTHER));
      if (at + 1 < word.length()) {
        int begin = begin(low, high, at, word.charAt(at + 1));
        int end = begin(begin, high, at, word.charAt(at + 1) + 1);
        int after = begin(begin, end, at + 1, one);
        best.offer(find(after, begin(after, end, at + 1, one + 1), at + 2, word, at + 2), 1);
      }
      low = begin(low, high, at, one);
      high = begin(low, high, at, one + 1);
    }
  }

  /** Words in a range with any letter put in at a place or in the place of the one there. */
  private void offerLettersAt(int at, String word, int low, int high, Best best) {
    int first = at == 0 ? FIRST : 1;
    String beside = at < word.length() ? NEIGHBOURS[word.charAt(at) - 'a'] : "";
    for (int next = begin(low, high, at, 'a'); next < high; ) {
      int letter = letter(next, at);
      int end = begin(next, high, at, letter + 1);
      best.offer(find(next, end, at + 1, word, at), first);
      if (at < word.length()) {
        int factor = beside.indexOf(letter) >= 0 ? BESIDE : OTHER;
        best.offer(find(next, end, at + 1, word, at + 1), first * factor);
      }
      next = end;
    }
  }

  /** The word whose line times its edit's factor is least, the first in the file of several; of words beside if any. */
  private final class Best {
    String word;
    private final Set<String> beside;
    private boolean isBeside;
    private long least;
    private int line = Integer.MAX_VALUE;

    /** Takes products up to this, of words beside any. */
    Best(long most, Set<String> beside) {
      least = most;
      this.beside = beside;
    }

    void offer(int place, int factor) {
      if (place < 0) {
        return;
      }
      int found = lines[place];
      String one = known.substring(starts[place], starts[place + 1]);
      long product = (long) found * factor;
      boolean before = beside.contains(one);
      boolean less = product < least || product == least && found < line;
      if (before == isBeside ? less : before) {
        word = one;
        isBeside = before;
        least = product;
        line = found;
      }
    }
  }

  /** A word's line in the file, from 1 on; 0 where it is not there. */
  private int line(String word) {
    int place = find(0, lines.length, 0, word, 0);
    return place < 0 ? 0 : lines[place];
  }

  /** The place in a range of equal beginnings of the word that goes on from `at` as `word` does from `from`; or −1. */
  private int find(int low, int high, int at, String word, int from) {
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
    int length = starts[place + 1] - starts[place] - at;
    int other = word.length() - from;
    for (int i = 0; i < Math.min(length, other); i++) {
      int order = known.charAt(starts[place] + at + i) - word.charAt(from + i);
      if (order != 0) {
        return order;
      }
    }
    return length - other;
  }

  /** The first place in a range of equal beginnings whose letter at `at` is not before this one. */
  private int begin(int low, int high, int at, int letter) {
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
  private int letter(int place, int at) {
    int from = starts[place] + at;
    return from < starts[place + 1] ? known.charAt(from) : 0;
  }
}
