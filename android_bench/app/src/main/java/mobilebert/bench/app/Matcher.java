package mobilebert.bench.app;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import mobilebert.bench.core.ArtefactCard;
import mobilebert.bench.core.Network;
import mobilebert.bench.core.PairEncoder;

/** Scores pairs with an artefact: a pair runs in the shortest of its buckets that holds it. */
final class Matcher implements Closeable {
  private final ArtefactCard card;
  private final int[] lengths;
  private final PairEncoder encoder;
  private final Network network;

  Matcher(File folder, int threads) throws IOException {
    card = ArtefactCard.read(folder);
    lengths = card.lengths();
    encoder = BenchmarkRun.encoder(folder, card);
    network = Networks.open(folder, card, threads);
  }

  /** One answer. */
  static final class Answer {
    final float probability;
    final String label;
    final int tokens;
    final int length;
    final double milliseconds;

    Answer(float probability, String label, PairEncoder.Encoded input, double milliseconds) {
      this.probability = probability;
      this.label = label;
      this.tokens = input.tokens;
      this.length = input.inputIds.length;
      this.milliseconds = milliseconds;
    }
  }

  /** Encodes and scores a pair; the first one of a length may take longer than the next. */
  Answer match(String textA, String textB) {
    long start = System.nanoTime();
    PairEncoder.Encoded input = encoder.encode(textA, textB, lengths);
    float probability = card.probability(network.logits(input), textA, textB);
    double milliseconds = (System.nanoTime() - start) / 1e6;
    return new Answer(probability, card.label(probability), input, milliseconds);
  }

  @Override
  public void close() throws IOException {
    network.close();
  }
}
