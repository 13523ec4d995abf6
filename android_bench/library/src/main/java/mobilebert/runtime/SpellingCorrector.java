package mobilebert.runtime;

import java.io.File;
import java.io.IOException;
import java.util.Collections;
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
  private static final int READ = 4096;

  /** Keys beside a, b, c ... on a QWERTY keyboard. */
  private static final String[] NEIGHBOURS = {
    "sqwz", "vngh", "xvdf", "sfercx", "wrds", "dgrtvc", "fhtybv", "gjyunb", "uokj", "hkuimn", "jliom", "kop", "njk",
    "bmhj", "iplk", "ol", "wa", "etfd", "adwexz", "rygf", "yijh", "cbfg", "qesa", "zcsd", "tuhg", "xas"
  };

  /**
   * Between spaces, hyphens or at punctuation; what holds digits, dots or other letters is no word. Spaces are written
   * out: \s is ASCII in Python's re.ASCII and on the JDK, and Unicode's on Android.
   */
  private static final Pattern WORD =
      Pattern.compile(
          "(?<![^\\t-\\r \"(\\[-])[A-Za-z]{3,24}(?=[\\t-\\r ,;:!?\")\\]-]|\\.?\\z|\\.[\\t-\\r ]|'s)");

  /** More than a word and what must follow it: a text is read so far beyond the words that may begin. */
  private static final int BEYOND = 2 * WordList.LONGEST;

  private static final Set<String> NONE = Collections.emptySet();

  private final WordList words;

  /** Lower-case words that stay. */
  private final Set<String> own;

  /** The corrector of a folder's spelling.txt. */
  static SpellingCorrector read(File folder) throws IOException {
    return new SpellingCorrector(WordList.read(folder));
  }

  SpellingCorrector(WordList words) {
    this(words, NONE);
  }

  private SpellingCorrector(WordList words, Set<String> own) {
    this.words = words;
    this.own = own;
  }

  /** The same corrector, which leaves some lower-case words as they are, in any case. */
  SpellingCorrector keeping(Set<String> some) {
    return new SpellingCorrector(words, some);
  }

  /** The text with its unknown and rare words that are at one edit of a frequent one replaced by it. */
  String corrected(String text) {
    return corrected(text, NONE, NONE);
  }

  /**
   * Two texts that are compared: each corrected, and an unknown word by a known one of the other text first of all.
   * Words that stand in both stay.
   */
  String[] correctedPair(String a, String b) {
    Set<String> inA = words(a);
    Set<String> inB = words(b);
    Set<String> besideA = words(corrected(b, NONE, inA));
    Set<String> besideB = words(corrected(a, NONE, inB));
    return new String[] {corrected(a, besideA, inB), corrected(b, besideB, inA)};
  }

  /** Lower-case words of a text, sorted. */
  static Set<String> words(String text) {
    Set<String> found = new TreeSet<String>();
    int read = end(text);
    Matcher each = words(text, read);
    while (each.find() && each.start() < read) {
      found.add(each.group().toLowerCase(Locale.ROOT));
    }
    return found;
  }

  /** Where the characters end that are looked at. */
  private static int end(String text) {
    int most = Math.min(text.length(), 2 * READ);
    return text.codePointCount(0, most) <= READ ? most : text.offsetByCodePoints(0, READ);
  }

  /** Finds the words that begin before a place; a text of megabytes is not searched to its end. */
  private static Matcher words(String text, int read) {
    return WORD.matcher(text.substring(0, Math.min(text.length(), read + BEYOND)));
  }

  private String corrected(String text, Set<String> beside, Set<String> kept) {
    int read = end(text);
    int first = firstLetter(text);
    StringBuilder out = new StringBuilder();
    int done = 0;
    Matcher each = words(text, read);
    while (each.find() && each.start() < read) {
      String lower = each.group().toLowerCase(Locale.ROOT);
      boolean stays = kept.contains(lower) || own.contains(lower);
      String found = stays ? null : correction(each.group(), beside, each.start() == first);
      if (found != null) {
        out.append(text, done, each.start()).append(found);
        done = each.end();
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
    int line = words.line(lower);
    boolean slipped = word.charAt(1) != lower.charAt(1); // the shift key, held too long or pressed too late
    if (!word.regionMatches(2, lower, 2, word.length() - 2) || slipped && word.length() < SHORTEST_NAME) {
      return null;
    }
    boolean name = slipped || word.charAt(0) != lower.charAt(0) && !begins;
    if (name && (line > 0 || word.length() < SHORTEST_NAME) || line > 0 && line <= PROTECTED) {
      return null;
    }
    long most = (long) REACH << Math.min(word.length() - (name ? 1 : 0), REACHING);
    Set<String> others = line > 0 ? NONE : beside;
    Best best = new Best(line > 0 ? Math.min(most, line / RARER) : most, others);
    offerEdits(lower, best);
    return best.word != null || lower.length() < TWO_EDITS ? best.word : twoEditsOff(lower, others);
  }

  /** The most frequent known word beside with the same first letter that is so near; null without one. */
  private String twoEditsOff(String word, Set<String> beside) {
    TreeMap<Integer, String> known = new TreeMap<Integer, String>(); // by their lines
    for (String one : beside) {
      int line = one.charAt(0) == word.charAt(0) ? words.line(one) : 0;
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
    int high = words.size();
    for (int at = 0; low < high; at++) {
      offerLettersAt(at, word, low, high, best);
      if (at == word.length()) {
        return;
      }
      int first = at == 0 ? FIRST : 1;
      char one = word.charAt(at);
      boolean doubled = at > 0 && word.charAt(at - 1) == one || at + 1 < word.length() && word.charAt(at + 1) == one;
      best.offer(words.find(low, high, at, word, at + 1), first * (doubled ? 1 : OTHER));
      if (at + 1 < word.length()) {
        int begin = words.begin(low, high, at, word.charAt(at + 1));
        int end = words.begin(begin, high, at, word.charAt(at + 1) + 1);
        int after = words.begin(begin, end, at + 1, one);
        best.offer(words.find(after, words.begin(after, end, at + 1, one + 1), at + 2, word, at + 2), 1);
      }
      low = words.begin(low, high, at, one);
      high = words.begin(low, high, at, one + 1);
    }
  }

  /** Words in a range with any letter put in at a place or in the place of the one there. */
  private void offerLettersAt(int at, String word, int low, int high, Best best) {
    int first = at == 0 ? FIRST : 1;
    String beside = at < word.length() ? NEIGHBOURS[word.charAt(at) - 'a'] : "";
    for (int next = words.begin(low, high, at, 'a'); next < high; ) {
      int letter = words.letter(next, at);
      int end = words.begin(next, high, at, letter + 1);
      best.offer(words.find(next, end, at + 1, word, at), first);
      if (at < word.length()) {
        int factor = beside.indexOf(letter) >= 0 ? BESIDE : OTHER;
        best.offer(words.find(next, end, at + 1, word, at + 1), first * factor);
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
      int found = words.lineAt(place);
      String one = words.wordAt(place);
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
}
