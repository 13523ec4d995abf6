package mobilebert.runtime;

import java.io.Closeable;
import java.io.IOException;

/**
 * Scores pairs with an artefact: a pair runs in the shortest of its buckets that holds it.
 *
 * <p>One object may be called from many threads at once. Texts are then encoded side by side, but the network runs one
 * inference at a time, as an interpreter has one set of tensors. Encoding and decisions alone, with a network that takes
 * no time, 8 threads on two busy cores: 2,700 to 3,900 pairs a second on one object, 4,500 to 5,900 with one object a
 * thread, each of which has its own vocabulary. Inference takes longer than either.
 */
public final class Matcher implements Closeable {
  private final ArtefactCard card;
  private final int[] lengths;
  private final TextEncoder encoder;
  private final Network network;

  /** Owns the network from here on: nobody else may run or close it. */
  public Matcher(ArtefactCard card, TextEncoder encoder, Network network) {
    this.card = card;
    this.encoder = encoder;
    this.network = network;
    lengths = card.lengths();
  }

  /** One answer. */
  public static final class Answer {
    public final float score;
    public final String label;
    public final int tokens;
    /** Tokens of the bucket it ran in. */
    public final int length;
    /** With the wait for other threads' inferences. */
    public final double milliseconds;

    Answer(float score, String label, TextEncoder.Encoded input, double milliseconds) {
      this.score = score;
      this.label = label;
      this.tokens = input.tokens;
      this.length = input.inputIds.length;
      this.milliseconds = milliseconds;
    }
  }

  /**
   * Encodes and scores a pair; the first one of a length may take longer than the next. Throws an {@link
   * IllegalStateException} when the network is closed, fails, or answers with anything but a row of finite logits.
   */
  public Answer match(String textA, String textB) {
    long start = System.nanoTime();
    TextEncoder.Encoded input = encoder.encode(textA, textB, lengths);
    float[] logits;
    synchronized (network) {
      logits = network.run(input)[0].clone();
    }
    boolean sound = logits.length == card.labels.size();
    for (float value : logits) {
      sound &= !Float.isNaN(value) && !Float.isInfinite(value);
    }
    if (!sound) {
      throw new IllegalStateException(
          "the network's answer is not a row of finite logits; export the artefact again");
    }
    float score = card.decision.score(logits, textA, textB);
    double milliseconds = (System.nanoTime() - start) / 1e6;
    return new Answer(score, card.decision.label(score), input, milliseconds);
  }

  @Override
  public void close() throws IOException {
    synchronized (network) {
      network.close();
    }
  }
}
