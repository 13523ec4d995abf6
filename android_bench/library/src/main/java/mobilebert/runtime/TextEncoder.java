package mobilebert.runtime;

import androidx.annotation.NonNull;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * One text or two as the network reads them: with the template's special tokens, the longer text cut first, padded to a
 * length. Immutable: threads may share one.
 */
public final class TextEncoder {
  /** The files that it is made of. */
  static final String[] FILES = {"io.json", "tokenizer.json", "vocab.txt", "spelling.txt"};

  private static final int[] NONE = {};

  /** How many times more tokens are read of two long texts, again and again, until one ends. */
  private static final int FURTHER = 4;

  private final Tokenizer tokenizer;
  private final int padding;
  private final TemplateIds single;
  private final TemplateIds pair;

  /** Null where texts are read as they are. */
  private final SpellingCorrector spelling;

  /** Is that text of a pair read first whose token ids come first, as words do in a dictionary? */
  private final boolean sortTexts;

  /** Does a text that is too long lose its first tokens? */
  private final boolean cutsLeft;

  TextEncoder(Tokenizer tokenizer, TokenizerCard card, SpellingCorrector spelling) throws IOException {
    this.tokenizer = tokenizer;
    this.spelling = spelling;
    sortTexts = card.sortTexts;
    cutsLeft = card.cutsLeft;
    if (!tokenizer.hasId(card.padId)) {
      throw new IOException("tokenizer.json has no token that pads texts, as io.json says; export the artefact again");
    }
    padding = card.padId;
    single = TemplateIds.of(card.single, tokenizer);
    pair = card.pair == null ? null : TemplateIds.of(card.pair, tokenizer);
  }

  /** The encoder of an artefact folder; throws where tokenizer.json is not what the card says. */
  @NonNull
  public static TextEncoder read(File folder, ArtefactCard card) throws IOException {
    return read(folder, card, Tokenizer.file(folder, card.tokenizer), words(folder, card));
  }

  /**
   * The same of a folder that does not change. What is made of its files is kept in one beside it, for the next time; a
   * byte-level BPE is read anew each time.
   *
   * @param artefact tells which files the folder has
   */
  static TextEncoder read(File folder, ArtefactCard card, File kept, String artefact) throws IOException {
    if (!card.tokenizer.kind.equals(TokenizerCard.WORDPIECE)) {
      return read(folder, card);
    }
    PreparedFile prepared = PreparedFile.read(kept, artefact);
    if (prepared != null) {
      Tokenizer tokenizer = WordPiece.compared(folder, prepared.added, card.tokenizer.lowercase);
      return new TextEncoder(tokenizer, card.tokenizer, corrector(prepared.words));
    }
    Fields file = Tokenizer.file(folder, card.tokenizer);
    WordList words = words(folder, card);
    TextEncoder encoder = read(folder, card, file, words);
    Map<String, Object> added = new HashMap<String, Object>();
    if (file.has("added_tokens")) {
      added.put("added_tokens", file.data.get("added_tokens"));
    }
    PreparedFile.write(kept, artefact, Json.write(added), words == null ? new byte[0] : words.write());
    return encoder;
  }

  private static TextEncoder read(File folder, ArtefactCard card, Fields file, WordList words) throws IOException {
    Tokenizer tokenizer = Tokenizer.read(folder, card.tokenizer, file);
    TextEncoder encoder = new TextEncoder(tokenizer, card.tokenizer, corrector(words));
    TemplateIds pair = TemplateIds.read(file, true);
    if (!encoder.single.same(TemplateIds.read(file, false)) || encoder.pair != null && !encoder.pair.same(pair)) {
      throw file.fault("its template is not that of io.json");
    }
    return encoder;
  }

  /**
   * The same encoder of the same card, which corrects less; throws where it corrects nothing.
   *
   * @param own lower-case words that are not corrected; null where none are
   */
  TextEncoder respelt(TokenizerCard card, Set<String> own) throws IOException {
    if (spelling == null) {
      throw new IOException("words, spelling: the artefact corrects no words; leave them out");
    }
    return new TextEncoder(tokenizer, card, own == null ? null : spelling.keeping(own));
  }

  private static WordList words(File folder, ArtefactCard card) throws IOException {
    return card.tokenizer.spelling ? WordList.read(folder) : null;
  }

  private static SpellingCorrector corrector(WordList words) {
    return words == null ? null : new SpellingCorrector(words);
  }

  /** One encoded input: rows of equal length, and how many of them are tokens. */
  public static final class Encoded {
    public final int[] inputIds;
    public final int[] attentionMask;
    public final int[] tokenTypeIds;
    public final int tokens;

    Encoded(int length, int tokens, int padding) {
      inputIds = new int[length];
      Arrays.fill(inputIds, tokens, length, padding);
      attentionMask = new int[length];
      Arrays.fill(attentionMask, 0, tokens, 1);
      tokenTypeIds = new int[length];
      this.tokens = tokens;
    }
  }

  /** A text, or a part of it, encoded within its template, and the characters of each of its tokens. */
  static final class Window {
    final Encoded encoded;

    /** Place in the encoded row of the text's first token. */
    final int place;

    final int[] starts;
    final int[] ends;

    /** Number of the word that each token is a part of. */
    final int[] words;

    private Window(Encoded encoded, int place, int[] starts, int[] ends, int... words) {
      this.encoded = encoded;
      this.place = place;
      this.starts = starts;
      this.ends = ends;
      this.words = words;
    }

    Window(Encoded encoded, int place, Tokens tokens) {
      this(encoded, place, tokens.starts(), tokens.ends(), tokens.words());
    }

    /** A part of the text, encoded by itself. */
    Window part(Encoded part, int from, int to) {
      return new Window(
          part,
          place,
          Arrays.copyOfRange(starts, from, to),
          Arrays.copyOfRange(ends, from, to),
          Arrays.copyOfRange(words, from, to));
    }
  }

  /**
   * Encodes a pair, or one text where the other is null, at the shortest of the lengths that holds it, or cuts it to
   * the longest.
   *
   * @param lengths sequence lengths of the network (buckets), ascending
   */
  @NonNull
  public Encoded encode(String textA, String textB, int... lengths) {
    return encode(textA, textB, null, lengths);
  }

  /** The same, which another thread may end. */
  Encoded encode(String textA, String textB, Cancellation cancellation, int... lengths) {
    TemplateIds template = textB == null ? single : pair;
    if (template == null) {
      throw new IllegalArgumentException("this artefact reads one text, and two were given");
    }
    String[] texts = read(textA, textB);
    int[][] ids = tokens(texts, lengths[lengths.length - 1], cancellation);
    int[] a = ids[0];
    int[] b = ids[1];
    if (sortTexts && textB != null) { // two that differ only beyond the longest length are one and the same
      int longest = lengths[lengths.length - 1];
      int[] first = Arrays.copyOf(a, Math.min(a.length, longest));
      int[] second = Arrays.copyOf(b, Math.min(b.length, longest));
      boolean swap = comesBefore(second, first);
      a = swap ? second : first;
      b = swap ? first : second;
    }
    int[] kept = keep(a.length, b.length, room(template, lengths));
    int fromA = cutsLeft ? a.length - kept[0] : 0;
    int fromB = cutsLeft ? b.length - kept[1] : 0;
    return fill(template, a, fromA, kept[0], b, fromB, kept[1], lengths);
  }

  /**
   * Ids of a pair, or of one text: as many of the first as the network reads, and of two long texts as many more as tell
   * which is the longer one, to which the odd token goes. All of them where a text loses its first tokens.
   */
  private int[][] tokens(String[] texts, int longest, Cancellation cancellation) {
    if (cutsLeft) {
      int[] whole = tokenizer.tokens(texts[0], cancellation).ids();
      return new int[][] {whole, texts.length == 1 ? NONE : tokenizer.tokens(texts[1], cancellation).ids()};
    }
    Tokens a = tokenizer.first(texts[0], longest, cancellation);
    if (texts.length == 1) {
      return new int[][] {a.ids(), NONE};
    }
    Tokens b = tokenizer.first(texts[1], longest, cancellation);
    for (int least = longest; isOpen(a, b) || isOpen(b, a); ) {
      least = FURTHER * Math.max(least, Math.min(a.size(), b.size()));
      a = a.isCut() ? tokenizer.first(texts[0], least, cancellation) : a;
      b = b.isCut() ? tokenizer.first(texts[1], least, cancellation) : b;
    }
    return new int[][] {a.ids(), b.ids()};
  }

  /** May a text of which more follows have more tokens than another one, or as many, or fewer? */
  private static boolean isOpen(Tokens one, Tokens other) {
    return one.isCut() && (other.isCut() || one.size() <= other.size());
  }

  /** Does a row of ids come before another one in a dictionary? */
  private static boolean comesBefore(int[] row, int[] other) {
    int same = 0;
    while (same < row.length && same < other.length && row[same] == other[same]) {
      same++;
    }
    return same < other.length && (same == row.length || row[same] < other[same]);
  }

  /** A pair, or one text where the other is null, with its spelling corrected. */
  private String[] read(String textA, String textB) {
    if (textB == null) {
      return new String[] {spelling == null ? textA : spelling.corrected(textA)};
    }
    return spelling == null ? new String[] {textA, textB} : spelling.correctedPair(textA, textB);
  }

  /** A single text, cut to the longest length, with the characters of its tokens. */
  Window spans(String text, int... lengths) {
    Tokens tokens = tokenizer.first(text, lengths[lengths.length - 1], null);
    int[] ids = tokens.ids();
    int kept = Math.min(ids.length, room(single, lengths));
    Encoded encoded = fill(single, ids, 0, kept, NONE, 0, 0, lengths);
    return new Window(encoded, single.place(true, 0), tokens).part(encoded, 0, kept);
  }

  /**
   * A question with every part of a context that the longest length holds beside it; each part shares so many tokens
   * with the one before. Throws an {@link IllegalArgumentException} when the question leaves no room for that.
   */
  List<Window> windows(String question, String context, int stride, Cancellation cancellation, int... lengths) {
    int[] first = tokenizer.tokens(question, cancellation).ids();
    Tokens tokens = tokenizer.tokens(context, cancellation);
    int[] second = tokens.ids();
    int room = lengths[lengths.length - 1] - pair.size - first.length;
    if (second.length > room && room <= stride) {
      throw new IllegalArgumentException(
          "the question has " + first.length + " tokens; at most " + (room + first.length - stride - 1)
              + " fit beside parts of its context that share " + stride);
    }
    Window whole = new Window(null, pair.place(false, first.length), tokens);
    List<Window> windows = new ArrayList<Window>();
    int from = 0;
    do {
      int to = Math.min(second.length, from + room);
      Encoded encoded = fill(pair, first, 0, first.length, second, from, to - from, lengths);
      windows.add(whole.part(encoded, from, to));
      from += room - stride;
    } while (from + stride < second.length);
    return windows;
  }

  private static int room(TemplateIds template, int... lengths) {
    return Math.max(0, lengths[lengths.length - 1] - template.size);
  }

  private Encoded fill(
      TemplateIds template, int[] a, int fromA, int countA, int[] b, int fromB, int countB, int... lengths) {
    int tokens = countA + countB + template.size;
    int length = lengths[lengths.length - 1];
    for (int i = lengths.length - 1; i >= 0 && lengths[i] >= tokens; i--) {
      length = lengths[i];
    }
    Encoded out = new Encoded(length, tokens, padding);
    template.fill(out.inputIds, out.tokenTypeIds, a, fromA, countA, b, fromB, countB);
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
