"""Words and word vectors that the word-level matchers read."""
