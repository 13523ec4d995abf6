"""Scores of a matcher: classification, calibration, ranking, and the interval each comes with."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from mobilebert_runtime.errors import DataError

ECE_BINS = 15


@dataclass(frozen=True)
class Ranking:
    """Mean average precision and mean reciprocal rank over queries, as fractions of 1."""

    map: float
    mrr: float
    queries: int  # those that have a relevant document, over which the means run
    without_relevant: int  # queries left out: neither measure is defined for them
    average_precision: np.ndarray  # (queries,), in the order the queries first appear
    reciprocal_rank: np.ndarray  # (queries,)


def classification(
    labels: np.ndarray, probabilities: np.ndarray, threshold: float = 0.5
) -> dict[str, float | int | None]:
    """Every classification metric of this file at once, by name; None where it needs two classes.

    Args:
        labels: (N,) 0 or 1.
        probabilities: (N,) of label 1.
        threshold: the prediction is 1 from this probability on.
    """
    labels, probabilities = _binary(labels), _finite(probabilities, len(labels))
    predictions = (probabilities >= threshold).astype(np.int64)
    both = 0 < labels.sum() < len(labels)
    return {
        "pairs": len(labels),
        "accuracy": accuracy(labels, predictions),
        "balanced_accuracy": balanced_accuracy(labels, predictions) if both else None,
        "f1": f1(labels, predictions),
        "f1_macro": f1_macro(labels, predictions),
        "f1_micro": f1_micro(labels, predictions),
        "auc": auc(labels, probabilities) if both else None,
        "ece": expected_calibration_error(labels, probabilities),
    }


def accuracy(labels: np.ndarray, predictions: np.ndarray) -> float:
    """Share of equal entries of two (N,) arrays of classes."""
    labels, predictions = _classes(labels, predictions)
    return float((labels == predictions).mean())


def balanced_accuracy(labels: np.ndarray, predictions: np.ndarray) -> float:
    """Mean recall over the classes of `labels` ("BA" of Table 2).

    Raises:
        DataError: one class only, where it would be no more than a recall.
    """
    from sklearn.metrics import balanced_accuracy_score

    labels, predictions = _classes(labels, predictions)
    _two_classes(labels, "balanced accuracy")
    return float(balanced_accuracy_score(labels, predictions))


def f1(labels: np.ndarray, predictions: np.ndarray) -> float:
    """F1 of the positive class, as MRPC and QQP are reported; 0 where it is never hit."""
    from sklearn.metrics import f1_score

    labels, predictions = _classes(_binary(labels), predictions)
    return float(f1_score(labels, predictions, zero_division=0.0))


def f1_macro(labels: np.ndarray, predictions: np.ndarray) -> float:
    """Mean F1 over the classes that occur in either array; the F1 of a class never hit is 0."""
    from sklearn.metrics import f1_score

    labels, predictions = _classes(labels, predictions)
    return float(f1_score(labels, predictions, average="macro", zero_division=0.0))


def f1_micro(labels: np.ndarray, predictions: np.ndarray) -> float:
    """F1 over all decisions pooled; with one label a pair this is the accuracy (as in Table 2)."""
    from sklearn.metrics import f1_score

    labels, predictions = _classes(labels, predictions)
    return float(f1_score(labels, predictions, average="micro", zero_division=0.0))


def auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """Area under the ROC curve: the chance that a positive outscores a negative, a tie counting one half.

    Raises:
        DataError: one class only.
    """
    from sklearn.metrics import roc_auc_score

    labels, scores = _binary(labels), _finite(scores, len(labels))
    _two_classes(labels, "AUC")
    return float(roc_auc_score(labels, scores))


def expected_calibration_error(labels: np.ndarray, probabilities: np.ndarray, bins: int = ECE_BINS) -> float:
    """ECE of Guo et al. 2017, Eq. (3): mean |accuracy − confidence| over bins, weighted by their sizes.

    The confidence is that of the more probable label, max(p, 1 − p). Bins have equal width on (0, 1] and are
    closed on the right, so for two classes only the upper half of them is filled.
    """
    labels, probabilities = _binary(labels), _finite(probabilities, len(labels))
    if probabilities.min() < 0 or probabilities.max() > 1:
        raise DataError(
            f"probabilities span {probabilities.min():.3g} to {probabilities.max():.3g}; expected 0 to 1"
        )
    confidence = np.maximum(probabilities, 1 - probabilities)
    hit = (probabilities >= 0.5) == (labels == 1)
    bin_of = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    gap = np.bincount(bin_of, hit - confidence, bins)
    return float(np.abs(gap).sum() / len(labels))


def ranking(labels: np.ndarray, scores: np.ndarray, groups: Sequence[Hashable]) -> Ranking:
    """MAP and MRR of lists ranked by descending score, computed by ir-measures (trec_eval's AP and RR).

    Ties are broken against the matcher: among equal scores the irrelevant documents come first. A matcher
    that cannot tell documents apart earns nothing by it (constant scores: the worst order, not the file's),
    and the result does not depend on the order of the rows. Queries without a relevant document are left out
    of both means and counted.

    Args:
        labels: (N,) 1 relevant, 0 not.
        scores: (N,) higher is more relevant.
        groups: N query keys; the rows of a query need not be adjacent.

    Raises:
        DataError: no query has a relevant document.
    """
    import ir_measures

    labels, scores = _binary(labels), _finite(scores, len(labels))
    if len(groups) != len(labels):
        raise DataError(f"{len(groups)} group keys for {len(labels)} labels; expected one a row")
    number: dict[Hashable, int] = {}
    query = np.array([number.setdefault(key, len(number)) for key in groups], np.int64)
    relevant = np.bincount(query, labels, len(number)) > 0
    if not relevant.any():
        raise DataError("no query has a relevant document; MAP and MRR are undefined")
    rows = np.flatnonzero(relevant[query])
    order = rows[np.lexsort((labels[rows], -scores[rows]))]  # descending score, irrelevant first
    # A position in this order is a score without ties: ir-measures has nothing left to break.
    run = [ir_measures.ScoredDoc(str(query[row]), str(row), float(-place)) for place, row in enumerate(order)]
    judged = [ir_measures.Qrel(str(query[row]), str(row), int(labels[row])) for row in rows]
    found = {"AP": np.zeros(len(number)), "RR": np.zeros(len(number))}
    for metric in ir_measures.iter_calc([ir_measures.AP, ir_measures.RR], judged, run):
        found[str(metric.measure)][int(metric.query_id)] = metric.value
    precision, reciprocal = found["AP"][relevant], found["RR"][relevant]
    return Ranking(
        map=float(precision.mean()),
        mrr=float(reciprocal.mean()),
        queries=int(relevant.sum()),
        without_relevant=int((~relevant).sum()),
        average_precision=precision,
        reciprocal_rank=reciprocal,
    )


@dataclass(frozen=True)
class Rate:
    """A share with its 95% Wilson interval."""

    value: float | None  # None: of nothing
    low: float
    high: float
    count: int  # the denominator


def true_positive_rate(
    labels: np.ndarray, predictions: np.ndarray, categories: np.ndarray
) -> dict[int, Rate]:
    """TPR of each length-divergence category, 1 to 4 (Figure 2).

    Args:
        labels: (N,) 0 or 1.
        predictions: (N,) 0 or 1.
        categories: (N,) 1 to 4.
    """
    labels, predictions = _classes(_binary(labels), predictions)
    out = {}
    for category in range(1, 5):
        hits = predictions[(labels == 1) & (categories == category)] == 1
        low, high = wilson(int(hits.sum()), len(hits))
        out[category] = Rate(float(hits.mean()) if len(hits) else None, low, high, len(hits))
    return out


def wilson(successes: int, count: int) -> tuple[float, float]:
    """Wilson's 95% score interval of a share; (0, 1) for a share of nothing."""
    from scipy.stats import binomtest

    if not 0 <= successes <= count:
        raise DataError(f"{successes} successes of {count}; expected 0 ≤ successes ≤ count")
    if count == 0:
        return 0.0, 1.0
    interval = binomtest(successes, count).proportion_ci(0.95, method="wilson")
    return float(interval.low), float(interval.high)


def bootstrap(
    statistic: Callable[[np.ndarray], float], count: int, *, resamples: int = 1000
) -> tuple[float, float]:
    """Percentile bootstrap interval, 95%, of any statistic of rows.

    Args:
        statistic: takes row numbers (M,), repeats included; NaN where undefined for them.
        count: N, the number of rows.
        resamples: bootstrap samples.
    """
    generator = np.random.default_rng(0)
    values = np.array([statistic(generator.integers(0, count, count)) for _ in range(resamples)], np.float64)
    if np.isnan(values).all():
        return math.nan, math.nan
    low, high = np.nanquantile(values, [0.025, 0.975])
    return float(low), float(high)


def _classes(labels: np.ndarray, predictions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    labels, predictions = np.asarray(labels), np.asarray(predictions)
    if labels.ndim != 1 or labels.shape != predictions.shape or not len(labels):
        raise DataError(
            f"labels {labels.shape} and predictions {predictions.shape}; expected (N,) both, N ≥ 1"
        )
    return labels, predictions


def _binary(labels: np.ndarray) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.ndim != 1 or not len(labels):
        raise DataError(f"labels have shape {labels.shape}; expected (N,), N ≥ 1")
    if not np.isin(labels, (0, 1)).all():
        raise DataError(f"labels hold {np.unique(labels)[:5]}; expected 0 and 1")
    return labels.astype(np.int64)


def _finite(scores: np.ndarray, count: int) -> np.ndarray:
    scores = np.asarray(scores, np.float64)
    if scores.shape != (count,):
        raise DataError(f"scores have shape {scores.shape}; expected ({count},) as the labels")
    if not np.isfinite(scores).all():
        raise DataError(
            f"{int((~np.isfinite(scores)).sum())} scores are NaN or infinite; the matcher is broken"
        )
    return scores


def _two_classes(labels: np.ndarray, what: str) -> None:
    if len(np.unique(labels)) < 2:
        raise DataError(f"all {len(labels)} labels are {labels[0]}; {what} needs two classes")
