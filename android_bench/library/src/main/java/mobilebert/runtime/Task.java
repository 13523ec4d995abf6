package mobilebert.runtime;

import androidx.annotation.NonNull;

/** What an artefact's network does with one text or two. */
public enum Task {
  TEXT_MATCHING("text-matching", 2, 2),
  TEXT_CLASSIFICATION("text-classification", 1, 2),
  TOKEN_CLASSIFICATION("token-classification", 1, 1),
  QUESTION_ANSWERING("question-answering", 2, 2),
  SENTENCE_EMBEDDING("sentence-embedding", 1, 1);

  /** Its name in io.json. */
  @NonNull public final String id;

  final int leastTexts;
  final int mostTexts;

  Task(String id, int leastTexts, int mostTexts) {
    this.id = id;
    this.leastTexts = leastTexts;
    this.mostTexts = mostTexts;
  }

  /** Has the network a score for each label, of a text or of a token? */
  boolean hasLabels() {
    return this == TEXT_MATCHING || this == TEXT_CLASSIFICATION || this == TOKEN_CLASSIFICATION;
  }
}
