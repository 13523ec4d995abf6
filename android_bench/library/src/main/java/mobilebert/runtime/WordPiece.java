package mobilebert.runtime;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * WordPiece as a BERT splits texts, lower-casing or not: equal to the Python side's tokenizer on any text.
 *
 * <p>Immutable: threads may share one.
 */
final class WordPiece extends Tokenizer {
  /** A longer word becomes one unknown token. */
  private static final int LONGEST_WORD = 100;

  private static final String UNKNOWN = "[UNK]";

  private static final List<String> OTHER_NORMALIZERS =
      Arrays.asList(
          "Strip", "StripAccents", "NFC", "NFD", "NFKC", "NFKD", "Sequence", "Lowercase", "Nmt", "Precompiled", "Replace",
          "Prepend", "ByteLevel");

  private final Map<String, Integer> vocabulary;
  private final TextNormalizer normalizer;
  private final AddedTokens added;
  private final int unknown;

  /** Reads vocab.txt and tokenizer.json of an artefact folder; throws where they do not say the same. */
  WordPiece(File folder, Fields file, boolean lowercase) throws IOException {
    this(file, checked(file, lowercase), new TextNormalizer(lowercase));
    byte[] text = Files.readBytes(new File(folder, "vocab.txt"));
    Files.text(text, "vocab.txt"); // refuses what is not UTF-8
    if (!vocabulary.equals(entries(text))) {
      throw file.fault("its entries are not those of vocab.txt");
    }
  }

  /**
   * Of a folder whose tokenizer.json was compared with its vocab.txt, the same without tokenizer.json.
   *
   * @param file has its member "added_tokens"
   */
  static WordPiece compared(File folder, Fields file, boolean lowercase) throws IOException {
    Map<String, Integer> vocabulary = entries(Files.readBytes(new File(folder, "vocab.txt")));
    return new WordPiece(file, vocabulary, new TextNormalizer(lowercase));
  }

  private WordPiece(Fields file, Map<String, Integer> vocabulary, TextNormalizer normalizer) throws IOException {
    this.normalizer = normalizer;
    this.vocabulary = vocabulary;
    unknown = vocabulary.get(UNKNOWN);
    added = new AddedTokens(file, vocabulary, normalizer);
    vocabulary.putAll(added.ids());
  }

  /** Ids by token of a vocab.txt, a token a line; of one in two lines the last counts. */
  private static Map<String, Integer> entries(byte... text) {
    Map<String, Integer> found = new HashMap<String, Integer>(1 << 16);
    int start = 0;
    for (int i = 0, line = 0; i <= text.length; i++) {
      if (i < text.length ? text[i] == '\n' : start < i) {
        found.put(new String(text, start, i - start, StandardCharsets.UTF_8), line++);
        start = i + 1;
      }
    }
    return found;
  }

  /** The vocabulary of a file that was checked. */
  private static Map<String, Integer> checked(Fields file, boolean lowercase) throws IOException {
    checkRules(file, lowercase);
    Map<String, Integer> vocabulary = file.object("model").object("vocab").ids();
    if (!vocabulary.containsKey(UNKNOWN)) {
      throw file.fault("its vocabulary has no " + UNKNOWN);
    }
    return vocabulary;
  }

  /** Throws unless tokenizer.json, by which Python splits texts, says what this class does. */
  private static void checkRules(Fields file, boolean lowercase) throws IOException {
    Fields rules = file.object("normalizer");
    // As in `tokenizers`, which leaves its type to the members where none or an unknown one is given.
    if (OTHER_NORMALIZERS.contains(rules.data.get("type"))) {
      throw rules.fault("type is not BertNormalizer");
    }
    boolean clean = rules.truth("clean_text") && rules.truth("handle_chinese_chars");
    boolean accents = rules.lacks("strip_accents") || rules.truth("strip_accents") == lowercase;
    if (!clean || !accents || rules.truth("lowercase") != lowercase) {
      throw rules.fault("its rules are not those of a " + (lowercase ? "lower-casing" : "cased") + " BERT");
    }
    file.object("pre_tokenizer").expect("type", "BertPreTokenizer");
    Fields model = file.object("model");
    if (model.has("type")) { // files of early versions of `tokenizers` have none
      model.expect("type", "WordPiece");
    }
    if (!model.has("type") && model.has("merges")) {
      throw model.fault("is no WordPiece: it has merges");
    }
    model.expect("unk_token", UNKNOWN);
    model.expect("continuing_subword_prefix", "##");
    model.expect("max_input_chars_per_word", LONGEST_WORD);
  }

  @Override
  Integer id(String token) {
    return vocabulary.get(token);
  }

  @Override
  boolean hasId(int id) {
    return vocabulary.containsValue(id);
  }

  @Override
  int longestAdded() {
    return added.longest();
  }

  @Override
  Tokens tokens(String text, final Cancellation cancellation) {
    final Tokens out = new Tokens();
    final AddedTokens.Pieces words =
        new AddedTokens.Pieces() {
          @Override
          public void text(AlignedText piece) {
            addWords(out, piece, cancellation);
          }

          @Override
          public void token(int id, int start, int end) {
            out.addWord(id, start, end);
          }
        };
    added.splitRaw(
        AlignedText.of(text),
        new AddedTokens.Pieces() {
          @Override
          public void text(AlignedText piece) {
            added.splitNormalized(normalizer.normalize(piece), words);
          }

          @Override
          public void token(int id, int start, int end) {
            out.addWord(id, start, end);
          }
        });
    return out;
  }

  /** Words end at white space; a punctuation character is a word of its own. */
  private void addWords(Tokens out, AlignedText line, Cancellation cancellation) {
    int start = 0;
    for (int i = 0; i <= line.length(); i++) {
      boolean space = i < line.length() && line.codes[i] == ' ';
      boolean punctuation = i < line.length() && normalizer.isPunctuation(line.codes[i]);
      if (i < line.length() && !space && !punctuation) {
        continue;
      }
      Cancellation.check(cancellation);
      addWord(out, line, start, i);
      if (punctuation) {
        addWord(out, line, i, i + 1);
      }
      start = i + 1;
    }
  }

  /** Greedy longest match from the left; a word with a part that matches nothing is unknown as a whole. */
  private void addWord(Tokens out, AlignedText line, int from, int to) {
    if (from >= to) {
      return;
    }
    out.nextWord();
    int[] ends = new int[to - from];
    int[] ids = new int[to - from];
    int count = to - from > LONGEST_WORD ? -1 : 0;
    for (int start = from; start < to && count >= 0; ) {
      int end = to;
      Integer id = null;
      while (end > start && id == null) {
        String piece = new String(line.codes, start, end - start);
        id = vocabulary.get(start == from ? piece : "##" + piece);
        end -= id == null ? 1 : 0;
      }
      if (id == null) {
        count = -1;
        break;
      }
      ids[count] = id;
      ends[count++] = end;
      start = end;
    }
    if (count < 0) {
      out.add(unknown, line.starts[from], line.ends[to - 1]);
      return;
    }
    for (int i = 0; i < count; i++) {
      out.add(ids[i], line.starts[i == 0 ? from : ends[i - 1]], line.ends[ends[i] - 1]);
    }
  }
}
