package mobilebert.bench.app;

import android.content.Context;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import mobilebert.bench.core.ArtefactCard;
import mobilebert.bench.core.Network;
import mobilebert.bench.core.PairEncoder;

/** Scores pairs with an artefact and its siblings of other lengths: a pair runs in the shortest one that holds it. */
final class Matcher implements Closeable {
  private final List<File> folders;
  private final List<ArtefactCard> cards = new ArrayList<ArtefactCard>();
  private final Network[] networks;
  private final PairEncoder encoder;
  private final int threads;

  Matcher(Context context, File chosen, int threads) throws IOException {
    this.threads = threads;
    folders = Artefacts.buckets(context, chosen);
    for (File folder : folders) {
      cards.add(ArtefactCard.read(folder));
    }
    networks = new Network[folders.size()];
    encoder = BenchmarkRun.encoder(chosen, ArtefactCard.read(chosen));
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

  /** Encodes and scores a pair; the first one of a length also loads that length's network. */
  Answer match(String textA, String textB) throws IOException {
    int[] lengths = new int[cards.size()];
    for (int i = 0; i < lengths.length; i++) {
      lengths[i] = cards.get(i).seqLen;
    }
    long start = System.nanoTime();
    PairEncoder.Encoded input = encoder.encode(textA, textB, lengths);
    int bucket = 0;
    while (lengths[bucket] != input.inputIds.length) {
      bucket++;
    }
    if (networks[bucket] == null) {
      networks[bucket] = Networks.open(folders.get(bucket), cards.get(bucket), threads);
      start = System.nanoTime();
    }
    float probability = cards.get(bucket).probability(networks[bucket].logits(input));
    double milliseconds = (System.nanoTime() - start) / 1e6;
    return new Answer(probability, cards.get(bucket).label(probability), input, milliseconds);
  }

  @Override
  public void close() throws IOException {
    for (Network network : networks) {
      if (network != null) {
        network.close();
      }
    }
  }
}
