package com.google.ai.edge.litert;

/** Of the stand-in for LiteRT. */
public final class LiteRtException extends Exception {
  private static final long serialVersionUID = 1;

  public LiteRtException(int code, String message) {
    super(message);
  }
}
