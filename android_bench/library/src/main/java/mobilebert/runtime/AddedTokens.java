package mobilebert.runtime;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Tokens that tokenizer.json adds to a vocabulary: where one is written in a text it is that token, whatever the model
 * would make of it. The longest at the leftmost place wins. Immutable: threads may share one.
 */
final class AddedTokens {
  private final Map<String, Integer> ids = new HashMap<String, Integer>();
  private final List<Added> raw = new ArrayList<Added>();
  private final List<Added> normalized = new ArrayList<Added>();

  private static final class Added {
    final int id;
    final int[] codes;
    final boolean takesSpaceBefore;
    final boolean takesSpaceAfter;

    Added(Fields token, int id, int[] codes) throws IOException {
      this.id = id;
      this.codes = codes;
      takesSpaceBefore = token.truth("lstrip");
      takesSpaceAfter = token.truth("rstrip");
    }
  }

  /** What the pieces of a text become. */
  interface Pieces {
    /** Text without added tokens; may be empty. */
    void text(AlignedText piece);

    void token(int id, int start, int end);
  }

  /**
   * Reads member "added_tokens".
   *
   * @param normalizer what the text has gone through before "normalized" tokens are looked for; null for nothing
   */
  AddedTokens(Fields file, TextNormalizer normalizer) throws IOException {
    for (Fields token : file.objects("added_tokens", Integer.MAX_VALUE)) {
      String content = token.anyText("content");
      if (content.isEmpty()) {
        throw token.fault("content is empty");
      }
      if (token.truth("single_word")) {
        throw token.fault(content + " is a whole word only (single_word), which this library does not know");
      }
      int id = token.whole("id", 0, Integer.MAX_VALUE);
      ids.put(content, id);
      AlignedText codes = AlignedText.of(content);
      if (!token.truth("normalized")) {
        raw.add(new Added(token, id, codes.codes));
      } else {
        normalized.add(new Added(token, id, normalizer == null ? codes.codes : normalizer.normalize(codes).codes));
      }
    }
  }

  /** Ids by token. */
  Map<String, Integer> ids() {
    return ids;
  }

  /** Splits a text at the tokens that are looked for before it is normalised. */
  void splitRaw(AlignedText text, Pieces out) {
    split(raw, text, out);
  }

  /** Splits a normalised text. */
  void splitNormalized(AlignedText text, Pieces out) {
    split(normalized, text, out);
  }

  private static void split(List<Added> tokens, AlignedText text, Pieces out) {
    int done = 0;
    for (int at = 0; at < text.length() && !tokens.isEmpty(); ) {
      Added found = longest(tokens, text, at);
      if (found == null) {
        at++;
        continue;
      }
      int from = at;
      at += found.codes.length;
      int to = at;
      while (found.takesSpaceBefore && from > done && Categories.isSpace(text.codes[from - 1])) {
        from--;
      }
      while (found.takesSpaceAfter && to < text.length() && Categories.isSpace(text.codes[to])) {
        to++;
      }
      from = Math.max(from, done);
      if (done < from) {
        out.text(text.slice(done, from));
      }
      out.token(found.id, text.starts[from], text.ends[to - 1]);
      done = to;
      at = Math.max(at, done);
    }
    if (done < text.length()) {
      out.text(text.slice(done, text.length()));
    }
  }

  private static Added longest(List<Added> tokens, AlignedText text, int at) {
    Added best = null;
    for (Added one : tokens) {
      boolean longer = one.codes.length > 0 && (best == null || one.codes.length > best.codes.length);
      if (longer && matches(one.codes, text, at)) {
        best = one;
      }
    }
    return best;
  }

  private static boolean matches(int[] codes, AlignedText text, int at) {
    if (at + codes.length > text.length()) {
      return false;
    }
    for (int i = 0; i < codes.length; i++) {
      if (text.codes[at + i] != codes[i]) {
        return false;
      }
    }
    return true;
  }
}
