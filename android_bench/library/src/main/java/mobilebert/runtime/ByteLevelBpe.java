package mobilebert.runtime;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * Byte-level BPE, the tokenizer of GPT-2 and RoBERTa: words by a pattern, their UTF-8 bytes as characters of an alphabet
 * of 256, joined by the merges in the order of their ranks. Immutable: threads may share one.
 */
final class ByteLevelBpe extends Tokenizer {
  private static final int NONE = -1;
  private static final char[] ALPHABET = alphabet();
  private static final char SPACE = ALPHABET[' '];

  private final AddedTokens added;
  private final Map<String, Integer> vocabulary;
  private final Merges merges;
  private final WordPattern pattern;
  private final boolean ignoreMerges;
  private final boolean prefixSpace;

  /** Does the post-processor leave spaces out of a token's characters, and does it know of the prefixed one? */
  private final boolean trims;

  private final boolean trimsPrefix;
  private final int unknown;
  private final boolean fuseUnknown;

  /** Id of each byte's character; -1 where the vocabulary lacks it. */
  private final int[] bytes = new int[256];

  /** Reads tokenizer.json; throws where it asks for anything that this class does not do. */
  ByteLevelBpe(Fields file) throws IOException {
    if (!file.lacks("normalizer")) {
      throw file.fault("its normalizer changes texts before the BPE, which this library does not do");
    }
    Fields split = file.object("pre_tokenizer");
    if (!split.is("type", "ByteLevel")) {
      throw split.fault("it is not ByteLevel alone: this library does not split in other ways");
    }
    prefixSpace = split.truth("add_prefix_space");
    split.truth("trim_offsets"); // the post-processor's counts
    pattern = !split.has("use_regex") || split.truth("use_regex") ? new WordPattern() : null;
    Fields post = PostProcessor.of(file);
    Fields trimmer = post == null ? null : trimmer(post);
    trims = trimmer != null && trimmer.truth("trim_offsets");
    trimsPrefix = trims && trimmer.truth("add_prefix_space");
    Fields model = file.object("model");
    if (model.has("type")) { // files of early versions of `tokenizers` have none
      model.expect("type", "BPE");
    }
    vocabulary = model.object("vocab").ids();
    added = new AddedTokens(file, vocabulary, null);
    ignoreMerges = model.truthOrFalse("ignore_merges");
    fuseUnknown = model.truthOrFalse("fuse_unk");
    boolean whole = true;
    for (int i = 0; i < bytes.length; i++) {
      Integer id = vocabulary.get(String.valueOf(ALPHABET[i]));
      bytes[i] = id == null ? -1 : id;
      whole &= id != null;
    }
    Integer id = model.lacks("unk_token") ? (Integer) NONE : vocabulary.get(model.anyText("unk_token"));
    if (id == null && !whole) {
      throw model.fault("unk_token is not in the vocabulary, which lacks a byte");
    }
    unknown = id == null ? NONE : id;
    checkModel(model, whole);
    merges = new Merges(model, vocabulary);
  }

  /** The post-processor, or the member of a sequence, that leaves spaces out of a token's characters; or null. */
  private static Fields trimmer(Fields post) throws IOException {
    PostProcessor kind = PostProcessor.kind(post);
    if (kind == PostProcessor.SEQUENCE) {
      for (Fields one : PostProcessor.parts(post)) {
        Fields found = trimmer(one);
        if (found != null) {
          return found;
        }
      }
      return null;
    }
    return kind == PostProcessor.ROBERTA || kind == PostProcessor.BYTE_LEVEL ? post : null;
  }

  /** Throws where the model does what this class does not; its bytes need no fallback where it has all of them. */
  private static void checkModel(Fields model, boolean whole) throws IOException {
    for (String name : new String[] {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (!model.lacks(name) && !model.anyText(name).isEmpty()) {
        throw model.fault(name + " is not empty: this library does not know it");
      }
    }
    if (model.truthOrFalse("byte_fallback") && !whole) {
      throw model.fault("byte_fallback is what this library does not know");
    }
    if (!model.lacks("dropout") && (float) model.number("dropout", 0, 1) > 0) {
      throw model.fault("dropout would make its answers random");
    }
  }

  @Override
  Integer id(String token) {
    Integer id = added.ids().get(token);
    return id == null ? vocabulary.get(token) : id;
  }

  @Override
  boolean hasId(int id) {
    return vocabulary.containsValue(id) || added.ids().containsValue(id);
  }

  @Override
  int longestAdded() {
    return added.longest();
  }

  @Override
  Tokens tokens(final String text, final Cancellation cancellation) {
    final Tokens out = new Tokens();
    final AddedTokens.Pieces second =
        new AddedTokens.Pieces() {
          @Override
          public void text(AlignedText piece) {
            addPiece(out, piece, cancellation);
          }

          @Override
          public void token(int id, int start, int end) {
            out.nextWord();
            addTrimmed(out, id, text, start, end, start, end);
          }
        };
    added.splitRaw(
        AlignedText.of(text),
        new AddedTokens.Pieces() {
          @Override
          public void text(AlignedText piece) {
            added.splitNormalized(piece, second);
          }

          @Override
          public void token(int id, int start, int end) {
            out.nextWord();
            addTrimmed(out, id, text, start, end, start, end);
          }
        });
    return out;
  }

  private void addPiece(Tokens out, AlignedText given, Cancellation cancellation) {
    AlignedText piece = given;
    if (prefixSpace && piece.codes[0] != ' ') {
      AlignedText.Builder longer = new AlignedText.Builder(piece.length() + 1);
      longer.add(' ', piece.starts[0], piece.ends[0]);
      for (int i = 0; i < piece.length(); i++) {
        longer.add(piece.codes[i], piece.starts[i], piece.ends[i]);
      }
      piece = longer.build();
    }
    for (int start = 0; start < piece.length(); ) {
      Cancellation.check(cancellation);
      int end = pattern == null ? piece.length() : pattern.end(piece.codes, start);
      addWord(out, piece, start, end);
      start = end;
    }
  }

  /** The tokens of one word, from code point to code point. */
  private void addWord(Tokens out, AlignedText piece, int from, int to) {
    out.nextWord();
    byte[] encoded = new String(piece.codes, from, to - from).getBytes(StandardCharsets.UTF_8);
    int[] holders = new int[encoded.length];
    int at = 0;
    for (int i = from; i < to; i++) {
      int code = piece.codes[i];
      int count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      java.util.Arrays.fill(holders, at, at + count, i);
      at += count;
    }
    StringBuilder text = new StringBuilder(encoded.length);
    for (byte one : encoded) {
      text.append(ALPHABET[one & 255]);
    }
    Integer whole = ignoreMerges ? vocabulary.get(text.toString()) : null;
    if (whole != null) {
      addToken(out, whole, text, piece, holders, 0, encoded.length);
      return;
    }
    Merges.Word word = new Merges.Word(encoded.length);
    boolean before = false;
    for (int i = 0; i < encoded.length; i++) {
      int id = bytes[encoded[i] & 255];
      boolean fused = id < 0 && unknown >= 0 && fuseUnknown && before;
      before = id < 0;
      if (fused) {
        word.stretchLast(i + 1);
      } else if (id >= 0 || unknown >= 0) {
        word.add(id >= 0 ? id : unknown, i, i + 1);
      }
    }
    merges.apply(word);
    for (int i = word.first(); i >= 0; i = word.next(i)) {
      addToken(out, word.id(i), text, piece, holders, word.start(i), word.end(i));
    }
  }

  /** A token of the characters that hold its bytes. */
  private void addToken(
      Tokens out, int id, CharSequence text, AlignedText piece, int[] holders, int from, int to) {
    addTrimmed(out, id, text, from, to, piece.starts[holders[from]], piece.ends[holders[to - 1]]);
  }

  /**
   * Adds a token without the spaces at its ends, where the post-processor trims.
   *
   * @param text holds the token, from one place to another
   * @param first character of the original that the token covers
   * @param last the one after them
   */
  private void addTrimmed(Tokens out, int id, CharSequence text, int from, int to, int first, int last) {
    int start = first;
    int end = last;
    if (trims) {
      int leading = 0;
      while (from + leading < to && isSpace(text.charAt(from + leading))) {
        leading++;
      }
      int trailing = 0;
      while (trailing < to - from && isSpace(text.charAt(to - 1 - trailing))) {
        trailing++;
      }
      // One space at the start may be the prefixed one, which covers no character; of more, none was prefixed.
      if (leading == 1 && trimsPrefix && (out.isEmpty() || start == 0)) {
        leading = 0;
      }
      start = Math.min(start + leading, end);
      end = Math.max(end - trailing, start);
    }
    out.add(id, start, end);
  }

  private static boolean isSpace(char one) {
    return one == SPACE || Categories.isSpace(one);
  }

  /** GPT-2's character for each byte: printable ones stand for themselves, the others follow from U+0100 on. */
  private static char[] alphabet() {
    char[] found = new char[256];
    int next = 256;
    for (int i = 0; i < found.length; i++) {
      boolean printable = i >= '!' && i <= '~' || i >= 0xA1 && i <= 0xAC || i >= 0xAE;
      found[i] = printable ? (char) i : (char) next++;
    }
    return found;
  }
}
