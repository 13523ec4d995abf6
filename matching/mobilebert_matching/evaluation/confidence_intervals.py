"""95% intervals of the classification metrics, all at once: what a figure of a test set is worth."""

from __future__ import annotations

import numpy as np

from mobilebert_matching.evaluation import metrics
from mobilebert_matching.length_bias.bias_audit import somers_d

RESAMPLES = 2000
ECE_RESAMPLES = 500
Interval = tuple[float, float]


def classification_intervals(
    labels: np.ndarray, predictions: np.ndarray, probabilities: np.ndarray
) -> dict[str, Interval]:
    """Intervals of accuracy and F1 and, where both classes occur, of what needs both, by name.

    Accuracy (and micro-F1, which is the same) Wilson's; AUC DeLong's; the others by bootstrap over pairs.

    Args:
        labels: (N,) 0 or 1.
        predictions: (N,) 0 or 1.
        probabilities: (N,) of label 1, or any score that ranks the same.
    """
    right = metrics.wilson(int((labels == predictions).sum()), len(labels))
    # All but AUC depend on the four counts alone, so resampling pairs is resampling the counts.
    counts = np.bincount(2 * labels + predictions, minlength=4)
    drawn = np.random.default_rng(0).multinomial(len(labels), counts / len(labels), RESAMPLES).astype(float)
    correct, wrong = drawn[:, [0, 3]].T, drawn[:, 1] + drawn[:, 2]  # (2, RESAMPLES) by class, (RESAMPLES,)
    # A class that is neither there nor predicted has F1 0, as `metrics.f1` says.
    f1 = np.divide(2 * correct, 2 * correct + wrong, out=np.zeros_like(correct), where=correct + wrong > 0)
    out = {"accuracy": right, "f1": _middle(f1[1]), "f1_micro": right}
    if not 0 < labels.sum() < len(labels):
        return out
    of_class = np.stack([drawn[:, :2].sum(1), drawn[:, 2:].sum(1)])
    both = (of_class > 0).all(0)  # a resample of one class has no balanced accuracy
    recall = correct[:, both] / of_class[:, both]
    one_hot = np.stack([labels == 0, labels == 1]).astype(np.int64)
    separation = somers_d(-probabilities, one_hot, clustered=False)
    return out | {
        "balanced_accuracy": _middle(recall.mean(0)),
        "f1_macro": _middle(f1.mean(0)),
        "auc": ((1 + separation.low) / 2, (1 + separation.high) / 2),
    }


def calibration_interval(labels: np.ndarray, probabilities: np.ndarray) -> Interval:
    """Interval of the expected calibration error: the basic bootstrap over pairs, at least 0.

    ECE is a mean of absolute values, so noise adds to it, and a resample adds its own noise again: the usual
    percentile interval lies too high (at 4,000 pairs with a true error of 0.013 it held the truth in 42 of
    100 simulations). The basic interval, reflected at the estimate, takes that shift out (92 of 100). It is
    never cut below the estimate itself.

    Args:
        labels: (N,) 0 or 1.
        probabilities: (N,) of label 1.
    """

    def error(rows: np.ndarray) -> float:
        return metrics.expected_calibration_error(labels[rows], probabilities[rows])

    found = error(np.arange(len(labels)))
    low, high = metrics.bootstrap(error, len(labels), resamples=ECE_RESAMPLES)
    return max(2 * found - high, 0.0), max(2 * found - low, found)


def _middle(draws: np.ndarray) -> Interval:
    """The middle 95% of bootstrap values."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)
