package mobilebert.runtime;

import androidx.annotation.NonNull;

/**
 * A loaded model file, in one runtime or another: batch 1, rows as long as one of the card's buckets in.
 *
 * <p>One thread at a time: who calls it has the lock. The rows may be overwritten by the next call.
 */
public interface Network extends AutoCloseable {
  /** Name and version of the runtime, for the record. */
  @NonNull
  String runtime();

  /**
   * Runs one input. Throws an {@link IllegalStateException} when the network is closed or fails.
   *
   * @return the values of each output, flat, in the order of the card's outputs
   */
  @NonNull
  float[][] run(@NonNull TextEncoder.Encoded input);

  @Override
  void close();
}
