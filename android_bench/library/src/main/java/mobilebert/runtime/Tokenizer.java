package mobilebert.runtime;

import java.io.File;
import java.io.IOException;

/** Splits texts into the ids of a vocabulary, as the Python side's tokenizer does. Immutable: threads may share one. */
abstract class Tokenizer {
  /** The tokenizer of an artefact folder; throws an {@link IOException} where its files are not what the card says. */
  static Tokenizer read(File folder, ArtefactCard card) throws IOException {
    if (!card.tokenizer.kind.equals(TokenizerCard.WORDPIECE)) {
      throw new IOException(
          "io.json asks for a tokenizer of kind " + card.tokenizer.kind + "; this library reads wordpiece");
    }
    if (!card.tokenizer.lowercase) {
      throw new IOException("io.json asks for a cased tokenizer; this library has the lower-casing one");
    }
    return WordPiece.read(folder);
  }

  /** Id of a token; null where the vocabulary has none of this name. */
  abstract Integer id(String token);

  /** Ids of a text, without special tokens around it. Special tokens written in the text keep their ids. */
  abstract int[] ids(String text);
}
