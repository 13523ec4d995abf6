package mobilebert.runtime;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
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
  private final boolean normalizes;

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
   * @param vocabulary ids of the model's entries; a token that is one of them has its id, any other the next free one,
   *     whatever the file says
   * @param normalizer what the text has gone through before "normalized" tokens are looked for; null for nothing
   */
  AddedTokens(Fields file, Map<String, Integer> vocabulary, TextNormalizer normalizer) throws IOException {
    normalizes = normalizer != null;
    List<Fields> tokens =
        file.has("added_tokens") ? file.objects("added_tokens", Integer.MAX_VALUE) : new ArrayList<Fields>();
    int next = vocabulary.size();
    for (Fields token : tokens) {
      String content = token.anyText("content");
      token.checkUnsigned("id", 32);
      token.truth("special");
      if (token.truth("single_word")) {
        throw token.fault(content + " is a whole word only (single_word), which this library does not know");
      }
      AlignedText text = AlignedText.of(content);
      boolean asWritten = !token.truth("normalized");
      Integer known = vocabulary.get(content);
      int id = known == null ? next : known;
      int[] codes = asWritten || normalizer == null ? text.codes : normalizer.normalize(text).codes;
      Added added = new Added(token, id, codes);
      if (content.isEmpty() || ids.containsKey(content)) {
        continue; // the first of its name counts
      }
      ids.put(content, id);
      next = Math.max(next, id + 1);
      (asWritten ? raw : normalized).add(added);
    }
  }

  /**
   * Characters of the longest token; {@link Tokenizer#UNKNOWN_LENGTH} where one is looked for in normalised text, which
   * may have lost any number of characters.
   */
  int longest() {
    int longest = 0;
    for (List<Added> tokens : Arrays.asList(raw, normalized)) {
      for (Added one : tokens) {
        longest = Math.max(longest, 2 * one.codes.length);
      }
    }
    return normalizes && !normalized.isEmpty() ? Tokenizer.UNKNOWN_LENGTH : longest;
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
