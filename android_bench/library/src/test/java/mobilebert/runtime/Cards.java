package mobilebert.runtime;

import java.io.IOException;

/** Parts of cards for tests that have no folder. */
final class Cards {
  private Cards() {}

  /** A lower-casing BERT's. */
  static TokenizerCard tokenizer() throws IOException {
    String old =
        "{\"vocab\": \"vocab.txt\", \"file\": \"tokenizer.json\", \"lowercase\": true, \"truncation\": \"longest_first\"}";
    return TokenizerCard.readOld(new Fields(Json.parse("{\"tokenizer\": " + old + "}"), "io.json"));
  }
}
