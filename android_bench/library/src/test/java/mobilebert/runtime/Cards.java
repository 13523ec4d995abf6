package mobilebert.runtime;

import java.io.IOException;

/** Parts of cards for tests that have no folder. */
final class Cards {
  private Cards() {}

  /** A BERT's templates around a tokenizer of some kind. */
  static TokenizerCard tokenizer(String kind, String lowercase) throws IOException {
    return tokenizer(kind, lowercase, false);
  }

  /** The same, which may sort the texts of a pair. */
  static TokenizerCard tokenizer(String kind, String lowercase, boolean sortTexts) throws IOException {
    String vocab = kind.equals("wordpiece") ? "\"vocab.txt\"" : "null";
    String templates =
        "{\"single\": [\"[CLS]\", \"$A\", \"[SEP]\"], \"pair\": [\"[CLS]\", \"$A\", \"[SEP]\", \"$B:1\", \"[SEP]:1\"]}";
    String text =
        String.format(
            "{\"kind\": \"%s\", \"lowercase\": %s, \"vocab\": %s, \"file\": \"tokenizer.json\", \"pad_id\": 0,"
                + " \"truncation\": \"longest_first\", \"template\": %s, \"spelling\": null, \"sort_texts\": %b}",
            kind, lowercase, vocab, templates, sortTexts);
    Fields fields = new Fields(Json.parse("{\"tokenizer\": " + text + "}"), "io.json");
    return TokenizerCard.read(fields, "longest_first");
  }
}
