"""Classifies a text or a pair of texts: one class, several classes at once, or a value.

```python
classifier = TextClassifier.load("artefacts/topics-int8")
classifier.classify(["The match ended in a draw."])  # [{"sport": 0.97, "politics": 0.02, …}]
```
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.artefact import ArtefactModel
from mobilebert_runtime.card import CLASSIFICATION
from mobilebert_runtime.texts import as_texts


class TextClassifier(ArtefactModel):
    """A text classifier in a runtime: texts or pairs in, a score of each label out."""

    task = CLASSIFICATION

    def classify(self, texts: Iterable[Any]) -> list[dict[str, float]]:
        """Scores of the labels by name, the highest first.

        Args:
            texts: texts, or pairs of texts where the card says two.

        Returns:
            For each: probabilities that sum to 1 (softmax), one probability for each label (sigmoid), or the
            values themselves (identity, a regression).
        """
        found = []
        for row in self.scores(texts):
            order = np.argsort(-row, kind="stable")
            found.append({self.card.labels[i]: float(row[i]) for i in order})
        return found

    def scores(self, texts: Iterable[Any]) -> NDArray[np.float32]:
        """Scores as an array, float32 (N, labels), columns in the order of `card.labels`."""
        return activated(self.logits(texts), self.card.activation)

    def logits(self, texts: Iterable[Any]) -> NDArray[np.float32]:
        """Raw logits, float32 (N, labels)."""
        listed = as_texts(texts, self.card.texts)
        rows = self.run_rows(self.tokenizer.ids(listed, self.card.seq_len))
        return np.stack(rows) if rows else np.zeros((0, len(self.card.labels)), np.float32)


def activated(logits: NDArray[np.float32], activation: str | None) -> NDArray[np.float32]:
    """Softmax over the last axis, sigmoid, or the logits themselves."""
    if activation == "identity":
        return logits
    wide = logits.astype(np.float64)
    if activation == "sigmoid":
        return np.exp(-np.logaddexp(0, -wide)).astype(np.float32)
    exponents = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return (exponents / exponents.sum(axis=-1, keepdims=True)).astype(np.float32)
