package mobilebert.bench.core;

import java.io.Closeable;

/** A loaded model file: batch 1, rows of the card's sequence length in, logits out. */
public interface Network extends Closeable {
  /** Name and version of the runtime, for the record. */
  String runtime();

  float[] logits(PairEncoder.Encoded input);
}
