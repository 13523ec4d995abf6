package mobilebert.runtime;

import androidx.annotation.NonNull;
import java.util.Set;
import java.util.TreeSet;

/** How an artefact is opened. Each method changes this object and returns it. */
public final class ModelOptions {
  private static final int MOST_THREADS = 1024;

  private int threads = 4;
  private Backend backend = Networks.INSTANCE;
  private byte[] key;
  private boolean spelling = true;

  /** In lower case, sorted; null where none were given. */
  private Set<String> words;

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

  /**
   * Leaves words as they are where the artefact corrects misspelt ones, in any case: your names of products, medicines or
   * people. An {@link IllegalArgumentException} where an entry is empty.
   *
   * @param texts each a word, or a text whose words are meant
   */
  @NonNull
  public ModelOptions words(@NonNull Iterable<String> texts) {
    Set<String> found = new TreeSet<String>();
    int number = 1;
    for (String text : texts) {
      if (LengthShift.words(text) == 0) {
        throw new IllegalArgumentException("words: entry " + number + " is empty; leave it out");
      }
      found.addAll(SpellingCorrector.words(text));
      number++;
    }
    words = found;
    return checked();
  }

  /** Whether misspelt words are corrected where the artefact does so; true unless set. */
  @NonNull
  public ModelOptions spelling(boolean corrected) {
    spelling = corrected;
    return checked();
  }

  private ModelOptions checked() {
    if (words != null && !spelling) {
      throw new IllegalArgumentException(
          "words: are left as they are by the correction, which spelling(false) turns off");
    }
    return this;
  }

  /** Is anything to be corrected otherwise than the artefact says? */
  boolean respells() {
    return words != null || !spelling;
  }

  /** Lower-case words that are not corrected, sorted; null where none were given. */
  Set<String> words() {
    return words;
  }

  /** What is not corrected, for a fingerprint, as in Python: a word a line, or a hyphen. */
  String respelling() {
    if (words == null) {
      return "-";
    }
    StringBuilder lines = new StringBuilder();
    for (String word : words) {
      lines.append(word).append('\n');
    }
    return lines.toString();
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
