package mobilebert.runtime;

import java.io.IOException;

/** How an artefact's texts become ids: member "tokenizer" of its card. */
final class TokenizerCard {
  static final String WORDPIECE = "wordpiece";
  static final String BYTE_LEVEL_BPE = "byte-level-bpe";
  static final String UNIGRAM = "unigram";

  final String kind;

  /** Of a WordPiece. */
  final boolean lowercase;

  /** Of the token that fills a row up. */
  final int padId;

  final Template single;

  /** Null where the tokenizer has none. */
  final Template pair;

  /** Are words corrected by spelling.txt first? */
  final boolean spelling;

  /** Is that text of a pair read first whose token ids come first? */
  final boolean sortTexts;

  /** Does a text that is too long lose its first tokens, not its last? */
  final boolean cutsLeft;

  static TokenizerCard read(Fields fields, String truncation) throws IOException {
    Fields found = fields.object("tokenizer");
    found.only(
        "kind",
        "file",
        "vocab",
        "lowercase",
        "truncation",
        "pad_id",
        "template",
        "spelling",
        "sort_texts",
        "truncation_side");
    String kind = found.text("kind");
    boolean wordPiece = kind.equals(WORDPIECE);
    if (!(wordPiece || kind.equals(BYTE_LEVEL_BPE) || kind.equals(UNIGRAM))) {
      throw found.fault("kind is none of wordpiece, byte-level-bpe, unigram");
    }
    if (found.isNull("lowercase") == wordPiece) {
      throw found.fault("lowercase does not fit the kind");
    }
    boolean lowercase = wordPiece && found.truth("lowercase");
    int padId = found.whole("pad_id", 0, Integer.MAX_VALUE);
    Fields templates = found.object("template");
    Template single = Template.read(templates, "single", "$A");
    Template pair = templates.isNull("pair") ? null : Template.read(templates, "pair", "$A", "$B");
    found.expect("file", "tokenizer.json");
    found.expect("vocab", wordPiece ? "vocab.txt" : null);
    found.expect("truncation", truncation);
    boolean spelling = !found.isNull("spelling");
    boolean sortTexts = found.truth("sort_texts");
    if (spelling) {
      found.expect("spelling", "spelling.txt");
      if (!lowercase) {
        throw found.fault("spelling does not fit a tokenizer that keeps capitals");
      }
    }
    String side = found.has("truncation_side") ? found.text("truncation_side") : "right";
    boolean cutsLeft = side.equals("left");
    if (!(cutsLeft || side.equals("right")) || cutsLeft && sortTexts) {
      throw found.fault("truncation_side is neither right nor left, or left and texts are sorted");
    }
    return new TokenizerCard(kind, lowercase, padId, single, pair, spelling, sortTexts, cutsLeft);
  }

  private TokenizerCard(
      String kind,
      boolean lowercase,
      int padId,
      Template single,
      Template pair,
      boolean spelling,
      boolean sortTexts,
      boolean cutsLeft) {
    this.kind = kind;
    this.lowercase = lowercase;
    this.padId = padId;
    this.single = single;
    this.pair = pair;
    this.spelling = spelling;
    this.sortTexts = sortTexts;
    this.cutsLeft = cutsLeft;
  }
}
