package mobilebert.runtime;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;

/**
 * One text or two as the network reads them: with the template's special tokens, the longer text cut first, padded to a
 * length. Immutable: threads may share one.
 */
public final class TextEncoder {
  private final Tokenizer tokenizer;
  private final int padding;
  private final Layout single;
  private final Layout pair;

  /** A template with the ids of its special tokens. */
  private static final class Layout {
    final Template template;
    final int[] ids;
    final int size;

    Layout(Template template, Tokenizer tokenizer) throws IOException {
      this.template = template;
      size = template.size();
      ids = new int[template.names.size()];
      for (int i = 0; i < ids.length; i++) {
        String name = template.names.get(i);
        ids[i] = Template.isText(name) ? -1 : known(tokenizer, name);
      }
    }
  }

  TextEncoder(Tokenizer tokenizer, TokenizerCard card) throws IOException {
    this.tokenizer = tokenizer;
    padding = card.padId >= 0 ? card.padId : known(tokenizer, "[PAD]");
    single = card.single == null ? null : new Layout(card.single, tokenizer);
    pair = card.pair == null ? null : new Layout(card.pair, tokenizer);
  }

  /** The encoder of an artefact folder. */
  public static TextEncoder read(File folder, ArtefactCard card) throws IOException {
    return new TextEncoder(Tokenizer.read(folder, card), card.tokenizer);
  }

  /** One encoded input: rows of equal length, and how many of them are tokens. */
  public static final class Encoded {
    public final int[] inputIds;
    public final int[] attentionMask;
    public final int[] tokenTypeIds;
    public final int tokens;

    Encoded(int length, int tokens, int padding) {
      inputIds = new int[length];
      Arrays.fill(inputIds, padding);
      attentionMask = new int[length];
      Arrays.fill(attentionMask, 0, tokens, 1);
      tokenTypeIds = new int[length];
      this.tokens = tokens;
    }
  }

  /**
   * Encodes a pair, or one text where the other is null, at the shortest of the lengths that holds it, or cuts it to
   * the longest.
   *
   * @param lengths sequence lengths of the network (buckets), ascending
   */
  public Encoded encode(String textA, String textB, int... lengths) {
    Layout layout = textB == null ? single : pair;
    if (layout == null) {
      throw new IllegalArgumentException("this artefact reads " + (textB == null ? "two texts" : "one text"));
    }
    int[] a = tokenizer.ids(textA);
    int[] b = textB == null ? new int[0] : tokenizer.ids(textB);
    int[] kept = keep(a.length, b.length, Math.max(0, lengths[lengths.length - 1] - layout.size));
    return fill(layout, a, kept[0], b, kept[1], lengths);
  }

  private Encoded fill(Layout layout, int[] a, int keptA, int[] b, int keptB, int... lengths) {
    int tokens = keptA + keptB + layout.size;
    int length = lengths[lengths.length - 1];
    for (int i = lengths.length - 1; i >= 0 && lengths[i] >= tokens; i--) {
      length = lengths[i];
    }
    Encoded out = new Encoded(length, tokens, padding);
    int at = 0;
    for (int i = 0; i < layout.ids.length; i++) {
      int before = at;
      if (layout.ids[i] >= 0) {
        out.inputIds[at++] = layout.ids[i];
      } else {
        boolean first = layout.template.names.get(i).equals("$A");
        System.arraycopy(first ? a : b, 0, out.inputIds, at, first ? keptA : keptB);
        at += first ? keptA : keptB;
      }
      Arrays.fill(out.tokenTypeIds, before, at, layout.template.types.get(i));
    }
    return out;
  }

  /**
   * How many tokens of each text stay within a budget: the shorter text whole if it takes less than half, otherwise
   * half each, the odd token going to the longer text (to the second of two equal ones).
   */
  static int[] keep(int a, int b, int budget) {
    if (a + b <= budget) {
      return new int[] {a, b};
    }
    int shorter = Math.min(a, b);
    int less = shorter > budget / 2 ? budget / 2 : shorter;
    int more = budget - less;
    return a > b ? new int[] {more, less} : new int[] {less, more};
  }

  private static int known(Tokenizer tokenizer, String token) throws IOException {
    Integer id = tokenizer.id(token);
    if (id == null) {
      throw new IOException("tokenizer.json has no " + token + ", which io.json names; export the artefact again");
    }
    return id;
  }
}
