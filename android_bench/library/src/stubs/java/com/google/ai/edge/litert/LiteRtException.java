package com.google.ai.edge.litert;

/** Signatures the app uses, for the build without Gradle; never packaged. */
public final class LiteRtException extends Exception {
  private static final long serialVersionUID = 1;

  public LiteRtException(int code, String message) {
    super(message);
  }
}
