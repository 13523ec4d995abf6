package mobilebert.runtime;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;

/** An artefact is missing, damaged or for something else, or this app lacks what it needs; the message says which. */
public final class ArtefactException extends RuntimeException {
  private static final long serialVersionUID = 1;

  ArtefactException(@NonNull String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
