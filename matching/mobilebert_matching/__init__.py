"""Text pairs: read, audit, debias, score, train and evaluate matchers."""
