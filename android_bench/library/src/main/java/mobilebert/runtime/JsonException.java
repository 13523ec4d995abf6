package mobilebert.runtime;

import java.io.IOException;

/** A text is not JSON, or not the JSON object that was expected. */
public final class JsonException extends IOException {
  private static final long serialVersionUID = 1;

  JsonException(String message) {
    super(message);
  }
}
