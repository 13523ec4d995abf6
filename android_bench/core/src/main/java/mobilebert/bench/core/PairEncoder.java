package mobilebert.bench.core;

import java.util.Arrays;

/** Two texts as the network reads them: [CLS] a [SEP] b [SEP], the longer text cut first, padded to a length. Immutable: threads may share one. */
public final class PairEncoder {
  private static final int SPECIAL_TOKENS = 3;

  private final WordPiece wordPiece;
  private final int start;
  private final int separator;
  private final int padding;

  public PairEncoder(WordPiece wordPiece) {
    this.wordPiece = wordPiece;
    start = wordPiece.special("[CLS]");
    separator = wordPiece.special("[SEP]");
    padding = wordPiece.special("[PAD]");
  }

  /** One encoded pair: rows of equal length, and how many of them are tokens. */
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
   * Encodes a pair at the shortest of the lengths that holds it, or cuts it to the longest.
   *
   * @param lengths sequence lengths of the models at hand (length buckets), ascending; each at least 3
   */
  public Encoded encode(String textA, String textB, int... lengths) {
    int[] a = wordPiece.ids(textA);
    int[] b = wordPiece.ids(textB);
    int longest = lengths[lengths.length - 1];
    int[] kept = keep(a.length, b.length, longest - SPECIAL_TOKENS);
    int tokens = kept[0] + kept[1] + SPECIAL_TOKENS;
    int length = longest;
    for (int i = lengths.length - 1; i >= 0 && lengths[i] >= tokens; i--) {
      length = lengths[i];
    }
    Encoded out = new Encoded(length, tokens, padding);
    out.inputIds[0] = start;
    System.arraycopy(a, 0, out.inputIds, 1, kept[0]);
    out.inputIds[1 + kept[0]] = separator;
    System.arraycopy(b, 0, out.inputIds, 2 + kept[0], kept[1]);
    out.inputIds[tokens - 1] = separator;
    Arrays.fill(out.tokenTypeIds, 2 + kept[0], tokens, 1);
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
}
