"""How good a matcher is on labelled pairs: overall, with intervals, and per length-divergence category."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from matching import metrics
from matching.length_divergence import CATEGORIES, Quartiles, pairwise, word_counts
from matching.wordpiece import Pair


def evaluate(
    pairs: Sequence[Pair],
    labels: np.ndarray,
    probabilities: np.ndarray,
    threshold: float,
    quartiles: Quartiles | None = None,
) -> dict[str, Any]:
    """Every classification metric, its 95% intervals, and the same by category.

    Args:
        pairs: N pairs.
        labels: (N,) 0 or 1.
        probabilities: (N,) of label 1.
        threshold: the prediction is 1 from this probability on.
        quartiles: cuts of CAT1 to CAT4, from the training distribution; those of `pairs` when None.

    Returns:
        `metrics.classification` plus `accuracy_interval` (Wilson) and `auc_interval` (bootstrap), and
        `categories`: pairs, accuracy and true positive rate of each with Wilson intervals.
    """
    predictions = (probabilities >= threshold).astype(np.int64)
    correct = predictions == labels
    divergence = pairwise(*(word_counts(side) for side in zip(*pairs, strict=True)))
    category = (quartiles or Quartiles.of(divergence)).category(divergence)
    rates = metrics.true_positive_rate(labels, predictions, category)

    def auc(rows: np.ndarray) -> float:
        both = 0 < labels[rows].sum() < len(rows)
        return metrics.auc(labels[rows], probabilities[rows]) if both else float("nan")

    return metrics.classification(labels, probabilities, threshold) | {
        "threshold": threshold,
        "accuracy_interval": metrics.wilson(int(correct.sum()), len(labels)),
        "auc_interval": metrics.bootstrap(auc, len(labels), resamples=200),
        "categories": [
            {
                "category": f"CAT{c}",
                "pairs": int((category == c).sum()),
                "accuracy": float(correct[category == c].mean()) if (category == c).any() else None,
                "accuracy_interval": metrics.wilson(
                    int(correct[category == c].sum()), int((category == c).sum())
                ),
                "true_positive_rate": rates[c].value,
                "true_positive_rate_interval": (rates[c].low, rates[c].high),
            }
            for c in CATEGORIES
        ],
    }
