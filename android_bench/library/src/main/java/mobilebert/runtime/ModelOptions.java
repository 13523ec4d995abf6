package mobilebert.runtime;

import androidx.annotation.NonNull;

/** How an artefact is opened. Each method changes this object and returns it. */
public final class ModelOptions {
  private static final int MOST_THREADS = 1024;

  private int threads = 4;
  private Backend backend = Networks.INSTANCE;

  /** CPU threads of one inference; 4 unless set. */
  @NonNull
  public ModelOptions threads(int count) {
    if (count < 1 || count > MOST_THREADS) {
      throw new IllegalArgumentException("threads is " + count + "; give 1 to " + MOST_THREADS);
    }
    threads = count;
    return this;
  }

  /** What runs the model file; unless set, the runtime that its card names, as this app has it. */
  @NonNull
  public ModelOptions backend(@NonNull Backend chosen) {
    backend = chosen;
    return this;
  }

  int threads() {
    return threads;
  }

  /** The one that is set. */
  @NonNull
  public Backend backend() {
    return backend;
  }
}
