package mobilebert.bench.core;

import java.io.Closeable;

/**
 * A loaded model file: batch 1, rows as long as one of the card's buckets in, logits out.
 *
 * <p>One thread at a time; {@link Matcher} has the lock. The row of logits may be overwritten by the next call.
 */
public interface Network extends Closeable {
  /** Name and version of the runtime, for the record. */
  String runtime();

  float[] logits(PairEncoder.Encoded input);
}
