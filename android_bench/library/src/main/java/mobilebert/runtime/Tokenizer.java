package mobilebert.runtime;

import java.io.File;
import java.io.IOException;

/** Splits texts into the ids of a vocabulary, as the Python side's tokenizer does. Immutable: threads may share one. */
abstract class Tokenizer {
  /** The tokenizer of an artefact folder; throws an {@link IOException} where its files are not what the card says. */
  static Tokenizer read(File folder, TokenizerCard card) throws IOException {
    if (card.kind.equals(TokenizerCard.UNIGRAM)) {
      throw new IOException(
          "io.json asks for a tokenizer of kind unigram (SentencePiece), which this library does not have; "
              + "export a model with WordPiece or byte-level BPE");
    }
    Fields file = Fields.read(new File(folder, "tokenizer.json"));
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

  /** Tokens of a text, without special tokens around it. Added tokens written in the text keep their ids. */
  abstract Tokens tokens(String text);
}
