package mobilebert.runtime;

import androidx.annotation.NonNull;

/** How an artefact is opened. Each method changes this object and returns it. */
public final class ModelOptions {
  private static final int MOST_THREADS = 1024;

  private int threads = 4;
  private Backend backend = Networks.INSTANCE;
  private byte[] key;

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

  /**
   * Opens only what is signed with a minisign key; unless set, signatures are not looked at.
   *
   * @param publicKey the second line of minisign's key.pub
   */
  @NonNull
  public ModelOptions signedBy(@NonNull String publicKey) {
    key = Minisign.key(publicKey);
    if (key == null) {
      throw new IllegalArgumentException(
          publicKey + " is not a minisign public key; give the second line of its file");
    }
    return this;
  }

  /** Null where none was set. */
  byte[] key() {
    return key;
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
