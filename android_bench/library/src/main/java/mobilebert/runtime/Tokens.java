package mobilebert.runtime;

/** Ids of a text's tokens, each with the characters it covers. */
final class Tokens {
  private final IntList ids = new IntList(16);
  private final IntList starts = new IntList(16);
  private final IntList ends = new IntList(16);
  private final IntList words = new IntList(16);
  private int word = -1;

  /** Has the text more tokens than these? */
  private boolean cut;

  /** What is added from here on belongs to another word. */
  void nextWord() {
    word++;
  }

  void add(int id, int start, int end) {
    ids.add(id);
    starts.add(start);
    ends.add(end);
    words.add(word);
  }

  /** Adds a token that is a word of its own. */
  void addWord(int id, int start, int end) {
    nextWord();
    add(id, start, end);
  }

  boolean isEmpty() {
    return ids.size() == 0;
  }

  int size() {
    return ids.size();
  }

  boolean isCut() {
    return cut;
  }

  /** The words before the last one and before the first that does not end up to a character. */
  Tokens upTo(int character) {
    int count = 0;
    while (count < size() && ends.get(count) <= character && words.get(count) < word) {
      count++;
    }
    while (count > 0 && count < size() && words.get(count - 1) == words.get(count)) {
      count--;
    }
    Tokens found = new Tokens();
    for (int i = 0; i < count; i++) {
      found.add(ids.get(i), starts.get(i), ends.get(i));
      found.words.set(i, words.get(i));
    }
    found.cut = true;
    return found;
  }

  int[] ids() {
    return ids.toArray();
  }

  /** First character of each token in the text. */
  int[] starts() {
    return starts.toArray();
  }

  /** The character after the last of each token. */
  int[] ends() {
    return ends.toArray();
  }

  /** Number of the word that the pre-tokenizer split off, of each token. */
  int[] words() {
    return words.toArray();
  }
}
