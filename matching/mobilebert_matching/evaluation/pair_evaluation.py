"""How good a matcher is on labelled pairs: overall, by length divergence, on the test without length bias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from mobilebert_matching.evaluation import metrics
from mobilebert_matching.evaluation.bias_measures import length_probe, tpr_gap
from mobilebert_matching.evaluation.confidence_intervals import calibration_interval, classification_intervals
from mobilebert_matching.length_bias.debiased_sets import level
from mobilebert_matching.length_bias.length_divergence import CATEGORIES, Quartiles, pairwise, word_counts
from mobilebert_matching.length_bias.training_sets import TEST_SEED
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import Pair


def evaluate(
    pairs: Sequence[Pair],
    labels: np.ndarray,
    probabilities: np.ndarray,
    threshold: float,
    quartiles: Quartiles | None = None,
    *,
    seed: int = TEST_SEED,
) -> dict[str, Any]:
    """Every figure of a matcher on a test, with 95% intervals, and the same on its adversarial test.

    The adversarial test is Section 4.1 of Jiang et al. 2022 on these pairs: each category is down-sampled to
    the overall ratio of positives to negatives. With the default seed and the quartiles of the training file
    it is the one of `mobilebert_matching.length_bias.training_sets`, the same pairs for every matcher.

    Args:
        pairs: N pairs.
        labels: (N,) 0 or 1.
        probabilities: (N,) of label 1.
        threshold: the prediction is 1 from this probability on.
        quartiles: cuts of CAT1 to CAT4, from the training distribution; those of `pairs` when None.
        seed: of the adversarial test's down-sampling.

    Returns:
        The figures of the whole test (see `figures`), `threshold`, `quartiles`, and `adversarial`: its `seed`
        and its figures, or None with the reason in `adversarial_missing`.

    Raises:
        DataError: other labels, or arrays of different lengths; or a text without words.
    """
    divergence = pairwise(*(word_counts(side) for side in zip(*pairs, strict=True)))
    cuts = quartiles or Quartiles.of(divergence)
    category = cuts.category(divergence)
    record = figures(pairs, labels, probabilities, threshold, category) | {
        "threshold": threshold,
        "quartiles": cuts.as_list(),
    }
    try:
        rows, _ = level(divergence, labels == 1, cuts, seed=seed)
    except DataError as error:
        return record | {"adversarial": None, "adversarial_missing": str(error)}
    fair = figures([pairs[i] for i in rows], labels[rows], probabilities[rows], threshold, category[rows])
    return record | {"adversarial": {"seed": seed} | fair}


def figures(
    pairs: Sequence[Pair],
    labels: np.ndarray,
    probabilities: np.ndarray,
    threshold: float,
    category: np.ndarray,
) -> dict[str, Any]:
    """Figures of one set of pairs.

    Args:
        pairs: N pairs.
        labels: (N,) 0 or 1.
        probabilities: (N,) of label 1.
        threshold: the prediction is 1 from this probability on.
        category: (N,) 1 to 4.

    Returns:
        `metrics.classification`, each figure F with `F_interval` where it is defined; `positives`;
        `categories`: pairs, positives, accuracy and true positive rate of each, with Wilson intervals;
        `tpr_gap` and `length_probe` as in `mobilebert_matching.evaluation.bias_measures`.
    """
    values = metrics.classification(labels, probabilities, threshold)
    predictions = (probabilities >= threshold).astype(np.int64)
    intervals = classification_intervals(labels, predictions, probabilities)
    intervals["ece"] = calibration_interval(labels, probabilities)
    return values | {
        "positives": int(labels.sum()),
        **{f"{name}_interval": interval for name, interval in intervals.items()},
        "categories": _by_category(labels, predictions, category),
        "tpr_gap": asdict(tpr_gap(labels, predictions, category)),
        "length_probe": length_probe(pairs, labels, probabilities, threshold),
    }


def _by_category(labels: np.ndarray, predictions: np.ndarray, category: np.ndarray) -> list[dict[str, Any]]:
    correct = predictions == labels
    rates = metrics.true_positive_rate(labels, predictions, category)
    out = []
    for c in CATEGORIES:
        inside = correct[category == c]
        out.append(
            {
                "category": f"CAT{c}",
                "pairs": len(inside),
                "positives": rates[c].count,
                "accuracy": float(inside.mean()) if len(inside) else None,
                "accuracy_interval": metrics.wilson(int(inside.sum()), len(inside)),
                "true_positive_rate": rates[c].value,
                "true_positive_rate_interval": (rates[c].low, rates[c].high),
            }
        )
    return out
