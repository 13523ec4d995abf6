package mobilebert.runtime;

import java.io.File;
import java.io.IOException;

/** Splits texts into the ids of a vocabulary, as the Python side's tokenizer does. Immutable: threads may share one. */
abstract class Tokenizer {
  /** Characters beyond an added token by which the first tokens of a long text are told: a word goes on, or not. */
  private static final int MARGIN = 1024;

  /** Characters that are read at first for each token that is asked for. */
  private static final int EACH = 16;

  private static final int FURTHER = 4;

  /** What {@link #longestAdded} says where the first tokens of a text can't be told without the rest of it. */
  static final int UNKNOWN_LENGTH = -1;

  /** The tokenizer of an artefact folder; throws an {@link IOException} where its files are not what the card says. */
  static Tokenizer read(File folder, TokenizerCard card) throws IOException {
    return read(folder, card, file(folder, card));
  }

  /** tokenizer.json of a folder; throws where the card says that it is of a kind that this library does not have. */
  static Fields file(File folder, TokenizerCard card) throws IOException {
    if (card.kind.equals(TokenizerCard.UNIGRAM)) {
      throw new IOException(
          "io.json asks for a tokenizer of kind unigram (SentencePiece), which this library does not have; "
              + "export a model with WordPiece or byte-level BPE");
    }
    return Fields.read(new File(folder, "tokenizer.json"));
  }

  /** The same of a tokenizer.json that was read. */
  static Tokenizer read(File folder, TokenizerCard card, Fields file) throws IOException {
    UnusedFields.check(file);
    if (card.kind.equals(TokenizerCard.WORDPIECE)) {
      return new WordPiece(folder, file, card.lowercase);
    }
    return new ByteLevelBpe(file);
  }

  /** Id of a token; null where the vocabulary has none of this name. */
  abstract Integer id(String token);

  /** Is there a token of this id? */
  abstract boolean hasId(int id);

  /** Characters of the longest added token, or {@link #UNKNOWN_LENGTH}. */
  abstract int longestAdded();

  /**
   * Tokens of a text, without special tokens around it. Added tokens written in the text keep their ids.
   *
   * @param cancellation ends the call before its next word; null where nothing does
   */
  abstract Tokens tokens(String text, Cancellation cancellation);

  /**
   * The tokens of a text, or at least so many of its first: of a text of megabytes only a part is read. They are those
   * of the whole text: what lies close to where reading stopped, or belongs to a word that may go on there, is left out.
   */
  final Tokens first(String text, int least, Cancellation cancellation) {
    int added = longestAdded();
    int margin = MARGIN + 2 * added;
    for (long size = margin + (long) EACH * least; added >= 0 && size < text.length(); size *= FURTHER) {
      int end = Character.isHighSurrogate(text.charAt((int) size - 1)) ? (int) size - 1 : (int) size;
      Tokens found = tokens(text.substring(0, end), cancellation).upTo(end - margin);
      if (found.size() >= least) {
        return found;
      }
    }
    return tokens(text, cancellation);
  }
}
