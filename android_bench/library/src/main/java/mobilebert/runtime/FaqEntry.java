package mobilebert.runtime;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;

/** A question with an id and a payload, such as its answer. Immutable. */
public final class FaqEntry {
  @NonNull public final String id;
  @NonNull public final String text;
  @Nullable public final String payload;

  /** An entry; neither id nor text may be empty. */
  public FaqEntry(@NonNull String id, @NonNull String text, @Nullable String payload) {
    if (id.isEmpty() || text.trim().isEmpty()) {
      throw new IllegalArgumentException("an entry needs an id and a text; id '" + id + "' has text '" + text + "'");
    }
    this.id = id;
    this.text = text;
    this.payload = payload;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    if (!(other instanceof FaqEntry)) {
      return false;
    }
    FaqEntry entry = (FaqEntry) other;
    boolean same = payload == null ? entry.payload == null : payload.equals(entry.payload);
    return same && id.equals(entry.id) && text.equals(entry.text);
  }

  @Override
  public int hashCode() {
    return 31 * (31 * id.hashCode() + text.hashCode()) + (payload == null ? 0 : payload.hashCode());
  }

  @Override
  public String toString() {
    return id + ": " + text;
  }
}
