package mobilebert.runtime;

import java.util.concurrent.CancellationException;

/** Ends a call of many inferences from another thread: it throws a {@link CancellationException} after the one it is in. */
public final class Cancellation {
  private volatile boolean cancelled;

  /** Ends the calls that were given this object, now and later. */
  public void cancel() {
    cancelled = true;
  }

  public boolean isCancelled() {
    return cancelled;
  }

  static void check(Cancellation one) {
    if (one != null && one.cancelled) {
      throw new CancellationException("cancelled");
    }
  }
}
