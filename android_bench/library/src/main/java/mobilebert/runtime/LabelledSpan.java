package mobilebert.runtime;

import androidx.annotation.NonNull;

/** A part of a text and its label. */
public final class LabelledSpan {
  @NonNull public final String label;

  /** Mean probability of its tokens. */
  public final float score;

  /** First character in the text. */
  public final int start;

  /** The character after the last. */
  public final int end;

  @NonNull public final String text;

  LabelledSpan(String label, float score, int start, int end, String text) {
    this.label = label;
    this.score = score;
    this.start = start;
    this.end = end;
    this.text = text;
  }
}
