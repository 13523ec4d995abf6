package mobilebert.bench.core;

import java.io.Closeable;

/** A loaded model file: batch 1, rows as long as one of the card's buckets in, logits out. */
public interface Network extends Closeable {
  /** Name and version of the runtime, for the record. */
  String runtime();

  float[] logits(PairEncoder.Encoded input);
}
