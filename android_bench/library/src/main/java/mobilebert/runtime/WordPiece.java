package mobilebert.runtime;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * WordPiece ids of a text, equal to those of the Python side's tokenizer on any text.
 *
 * <p>Immutable: threads may share one.
 */
final class WordPiece extends Tokenizer {
  /** A longer word becomes one unknown token. */
  static final int LONGEST_WORD = 100;

  private static final String[] SPECIAL = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

  private final Map<String, Integer> vocabulary;
  private final TextNormalizer normalizer = new TextNormalizer();
  private final List<String> special;
  private final int unknown;

  private WordPiece(Map<String, Integer> vocabulary) throws IOException {
    this.vocabulary = vocabulary;
    special = new ArrayList<String>();
    for (String token : SPECIAL) {
      if (vocabulary.containsKey(token)) {
        special.add(token);
      } else if (!token.equals("[MASK]")) {
        throw new IOException("vocab.txt has no " + token + "; it is not a BERT WordPiece vocabulary");
      }
    }
    unknown = vocabulary.get("[UNK]");
  }

  /** Reads vocab.txt of an artefact folder; throws where tokenizer.json, which Python reads, says something else. */
  static WordPiece read(File folder) throws IOException {
    Map<String, Integer> vocabulary = vocabulary(new StringReader(Files.readText(new File(folder, "vocab.txt"))));
    TokenizerFile.check(new File(folder, "tokenizer.json"), vocabulary);
    return new WordPiece(vocabulary);
  }

  /** Reads the text of vocab.txt: one token a line, the line number is its id. */
  static WordPiece read(Reader source) throws IOException {
    return new WordPiece(vocabulary(source));
  }

  private static Map<String, Integer> vocabulary(Reader source) throws IOException {
    Map<String, Integer> vocabulary = new HashMap<String, Integer>(65536);
    BufferedReader reader = new BufferedReader(source);
    try {
      int id = 0;
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        vocabulary.put(line, id++);
      }
    } finally {
      reader.close();
    }
    return vocabulary;
  }

  @Override
  Integer id(String token) {
    return vocabulary.get(token);
  }

  @Override
  int[] ids(String text) {
    IntList out = new IntList(text.length() / 3);
    int start = 0;
    int at = text.indexOf('[');
    while (at >= 0) {
      String token = specialAt(text, at);
      if (token != null) {
        addWords(out, text.substring(start, at));
        out.add(vocabulary.get(token));
        start = at + token.length();
      }
      at = text.indexOf('[', token == null ? at + 1 : start);
    }
    addWords(out, text.substring(start));
    return out.toArray();
  }

  private String specialAt(String text, int at) {
    for (String token : special) {
      if (text.startsWith(token, at)) {
        return token;
      }
    }
    return null;
  }

  private void addWords(IntList out, String text) {
    for (int[] word : normalizer.words(text)) {
      addWord(out, word);
    }
  }

  /** Greedy longest match from the left; a word with a part that matches nothing is unknown as a whole. */
  private void addWord(IntList out, int[] word) {
    if (word.length > LONGEST_WORD) {
      out.add(unknown);
      return;
    }
    int[] pieces = new int[word.length];
    int count = 0;
    int start = 0;
    while (start < word.length) {
      int end = word.length;
      Integer id = null;
      while (end > start) {
        String piece = new String(word, start, end - start);
        id = vocabulary.get(start == 0 ? piece : "##" + piece);
        if (id != null) {
          break;
        }
        end--;
      }
      if (id == null) {
        out.add(unknown);
        return;
      }
      pieces[count++] = id;
      start = end;
    }
    for (int i = 0; i < count; i++) {
      out.add(pieces[i]);
    }
  }
}
