package mobilebert.runtime;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Unknown words of a text put right before it becomes tokens, by spelling.txt: mobilebert_runtime/spelling.py, rule for
 * rule. Immutable: threads may share one.
 */
final class SpellingCorrector {
  private static final String FILE = "spelling.txt";
  private static final int SHORTEST = 4;
  private static final int LONGEST = 24;
  private static final int SHORTEST_CAPITALISED = 6;
  private static final int CORRECTIONS = 20000;
  private static final int MOST_WORDS = 500000;
  private static final int READ = 4096;

  /** Between spaces or at punctuation; what holds digits, apostrophes, hyphens, dots or other letters is no word. */
  private static final Pattern WORD =
      Pattern.compile("(?<![^\\s\"(\\[])[A-Za-z]{4,24}(?=[\\s,;:!?\")\\]]|\\.?(?![\\s\\S])|\\.\\s)");

  private static final Pattern LINE = Pattern.compile("[a-z]{" + SHORTEST + "," + LONGEST + "}");

  /** All words one after the other in the order of the alphabet, and where each begins: no object for each. */
  private final String known;

  private final int[] starts;

  /** The line of each word in the file. */
  private final int[] ranks;

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
    ranks = new int[words.length];
    for (int i = 0; i < order.length; i++) {
      if (i > 0 && words[order[i]].equals(words[order[i - 1]])) {
        throw fault(Math.max(order[i], order[i - 1]));
      }
      ranks[i] = order[i];
      all.append(words[order[i]]);
      starts[i + 1] = all.length();
    }
    known = all.toString();
  }

  private static IOException fault(int line) {
    return new IOException(
        FILE + ": line " + (line + 1) + ": expected another word of " + SHORTEST + " to " + LONGEST + " letters a to z");
  }

  /** The text with every unknown word that is at one edit of a frequent one replaced by the most frequent of these. */
  String corrected(String text) {
    int read = text.codePointCount(0, text.length()) <= READ ? text.length() : text.offsetByCodePoints(0, READ);
    int first = firstLetter(text);
    StringBuilder out = new StringBuilder();
    int done = 0;
    Matcher words = WORD.matcher(text);
    while (words.find() && words.start() < read) {
      String found = correction(words.group(), words.start() == first);
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
  private String correction(String word, boolean begins) {
    String lower = word.toLowerCase(Locale.ROOT);
    boolean name = word.charAt(0) != lower.charAt(0) && !begins && word.length() < SHORTEST_CAPITALISED;
    if (name || !word.regionMatches(1, lower, 1, word.length() - 1) || rank(lower) >= 0) {
      return null;
    }
    Best best = new Best();
    for (int at = 0; at <= lower.length(); at++) {
      String head = lower.substring(0, at);
      String tail = lower.substring(at);
      for (char letter = 'a'; letter <= 'z'; letter++) {
        best.offer(head + letter + tail);
        if (!tail.isEmpty()) {
          best.offer(head + letter + tail.substring(1));
        }
      }
      if (!tail.isEmpty()) {
        best.offer(head + tail.substring(1));
      }
      if (tail.length() > 1) {
        best.offer(head + tail.charAt(1) + tail.charAt(0) + tail.substring(2));
      }
    }
    return best.word;
  }

  /** The most frequent of the words that are corrections. */
  private final class Best {
    String word;
    private int rank = CORRECTIONS;

    void offer(String one) {
      int found = rank(one);
      if (found >= 0 && found < rank) {
        word = one;
        rank = found;
      }
    }
  }

  /** A word's line in the file; -1 where it is not there. */
  private int rank(String word) {
    int low = 0;
    int high = ranks.length - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int order = compare(middle, word);
      if (order == 0) {
        return ranks[middle];
      }
      if (order < 0) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -1;
  }

  private int compare(int place, String word) {
    int length = starts[place + 1] - starts[place];
    for (int i = 0; i < Math.min(length, word.length()); i++) {
      int order = known.charAt(starts[place] + i) - word.charAt(i);
      if (order != 0) {
        return order;
      }
    }
    return length - word.length();
  }
}
