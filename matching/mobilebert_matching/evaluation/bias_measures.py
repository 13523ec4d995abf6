"""Does a matcher lean on the lengths of its texts? Two figures for any matcher: a gap and a probe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mobilebert_matching.evaluation import metrics
from mobilebert_matching.length_bias.bias_audit import somers_d
from mobilebert_matching.length_bias.length_divergence import pairwise, word_counts
from mobilebert_matching.length_bias.length_prior import FEWEST
from mobilebert_runtime.errors import CheckError
from mobilebert_runtime.tokenizer import Pair

FOLDS = 5
DRAWS = 100  # of errors that lengths have no part in
ROUNDING = 1e-9  # points by which a gap may be off for being a difference of floats


class RecallGapError(CheckError):
    """A matcher's recall depends on lengths more than is allowed, or that can't be known."""


@dataclass(frozen=True)
class Difference:
    """A difference of two rates with its 95% interval."""

    value: float | None  # None: one of the rates is of nothing
    low: float | None  # None, and so is `high`: one of the rates is of fewer than `FEWEST`
    high: float | None
    count: int  # the denominators, together


def tpr_gap(
    labels: np.ndarray, predictions: np.ndarray, category: np.ndarray, *, resamples: int = 2000, seed: int = 0
) -> Difference:
    """TPR(CAT1) − TPR(CAT4), with a percentile bootstrap interval over the positives of both categories.

    Zero for a matcher that finds paraphrases of very different lengths as well as those of equal length; the
    larger it is, the more the matcher takes diverging lengths for different meaning.

    Of fewer than `FEWEST` positives in a category there is no interval: the bootstrap draws them alone, and
    where it finds all of them, or none, it is sure of that rate.

    Args:
        labels: (N,) 0 or 1.
        predictions: (N,) 0 or 1.
        category: (N,) 1 to 4.
        resamples: bootstrap samples.
        seed: of the draws.

    Raises:
        DataError: other labels, or arrays of different lengths.
    """
    rates = metrics.true_positive_rate(labels, predictions, category)
    first, last = rates[1], rates[4]
    count = first.count + last.count
    if first.value is None or last.value is None:
        return Difference(None, None, None, count)
    if min(first.count, last.count) < FEWEST:
        return Difference(first.value - last.value, None, None, count)
    # The gap depends on four counts alone, so resampling positives is resampling the counts.
    hits = np.array([first.value * first.count, last.value * last.count])
    counts = np.stack([hits, [first.count, last.count] - hits]).round()  # (2, 2): hit or missed, by category
    drawn = np.random.default_rng(seed).multinomial(count, counts.ravel() / count, resamples)
    drawn = drawn.reshape(resamples, 2, 2).astype(np.float64)
    both = (drawn.sum(axis=1) > 0).all(axis=1)  # a resample may lack a category
    rates_drawn = drawn[both, 0] / drawn[both].sum(axis=1)
    low, high = (float(v) for v in np.quantile(rates_drawn[:, 0] - rates_drawn[:, 1], [0.025, 0.975]))
    return Difference(first.value - last.value, low, high, count)


def require_recall_gap(gap: float | None, points: float, positives: tuple[int, int]) -> None:
    """Raise `RecallGapError` where the recall gap is too large, or there are too few pairs to judge it.

    Args:
        gap: TPR(CAT1) − TPR(CAT4), None where a category has no positives.
        points: the largest size allowed, in percentage points.
        positives: pairs of label 1 in CAT1 and in CAT4.
    """
    if gap is None or min(positives) < FEWEST:
        raise RecallGapError(
            f"recall gap: CAT1 has {positives[0]} and CAT4 {positives[1]} pairs of label 1, too few to judge "
            f"it; give --data with at least {FEWEST} in each"
        )
    size = abs(gap) * 100
    if size > points + ROUNDING:
        # With as many digits as show the difference.
        digits = next(digits for digits in range(1, 11) if round(size, digits) > points)
        raise RecallGapError(
            f"recall gap: TPR CAT1 − CAT4 is {gap * 100:+.{digits}f} points, "
            f"--max-recall-gap allows {points:.12g}"
        )


def length_features(pairs: Sequence[Pair]) -> np.ndarray:
    """All that a probe sees, (N, 6): words of a, of b, Δ of Eq. (1), their difference, minimum and maximum.

    Raises:
        DataError: a text without words.
    """
    a, b = word_counts(first for first, _ in pairs), word_counts(second for _, second in pairs)
    columns = (a, b, pairwise(a, b), np.abs(a - b), np.minimum(a, b), np.maximum(a, b))
    return np.stack(columns, axis=1).astype(np.float64)


def length_probe(
    pairs: Sequence[Pair],
    labels: np.ndarray,
    probabilities: np.ndarray,
    threshold: float,
    seed: int = 0,
    *,
    draws: int = DRAWS,
) -> dict[str, Any]:
    """Can a classifier that sees lengths alone predict a matcher's residual errors?

    Three questions to the same probe, each answered by the AUC of its cross-validated scores:

    - `error`: is the pair an error? Above chance also for a fair matcher, where some lengths are harder;
    - `false_negative`: is an error a false negative, not a false positive? The sign of the residual: what a
      matcher does that says "different" because the lengths differ;
    - `label`: the label itself. Where lengths give the labels of a set away, a matcher blind to lengths has
      more false negatives where there are more positives. `length_blind` says what `false_negative` is then:
      the same probe on as many errors of each label, drawn from all pairs of that label alike.

    The probe is logistic regression on standardised features. Against gradient boosting, on 1,200 errors of
    QQP's lengths: alike false alarms without a bias, and with one a higher AUC at a third of the time.

    Args:
        pairs: N pairs.
        labels: (N,) 0 or 1.
        probabilities: (N,) of label 1.
        threshold: the prediction is 1 from this probability on.
        seed: of the folds, and of the draws.
        draws: of errors for `length_blind`.

    Returns:
        Question → `pairs` asked about, `positives` among them, `auc`, its 95% `interval` (DeLong), and
        `at_chance`: the interval does not lie above 0.5. Below it is no knowledge either, for the probe
        learned the sign on other folds. The last three are None with fewer than `FOLDS` pairs of a class.
        `length_blind` → `auc`, the mean over the draws, and `interval` with 95% of them; None as above.

    Raises:
        DataError: arrays of different lengths, or other labels; or a text without words.
    """
    labels, probabilities = np.asarray(labels), np.asarray(probabilities)
    if not len(pairs) == len(labels) == len(probabilities) or not np.isin(labels, (0, 1)).all():
        raise metrics.DataError(
            f"{len(pairs)} pairs, {len(labels)} labels, {len(probabilities)} probabilities; "
            "expected as many of each, and labels 0 or 1"
        )
    features = length_features(pairs)
    wrong = labels != (probabilities >= threshold)
    return {
        "error": _probe(features, wrong, seed),
        "false_negative": _probe(features[wrong], labels[wrong] == 1, seed),
        "label": _probe(features, labels == 1, seed),
        "length_blind": _length_blind(features, labels, wrong, seed, draws),
    }


def _length_blind(
    features: np.ndarray, labels: np.ndarray, wrong: np.ndarray, seed: int, draws: int
) -> dict[str, Any]:
    """What the probe says of which errors are false negatives, where lengths have no part in an error.

    Args:
        features: (N, 6) of all pairs.
        labels: (N,) 0 or 1.
        wrong: (N,) which pairs are errors: of each label as many are drawn.
        seed: of the draws and of the folds.
        draws: how many sets of errors.
    """
    pairs = [np.flatnonzero(labels == label) for label in (0, 1)]
    errors = [int(wrong[own].sum()) for own in pairs]
    if min(errors) < FOLDS or not draws:
        return {"auc": None, "interval": None}
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        rows = np.concatenate(
            [rng.choice(own, count, replace=False) for own, count in zip(pairs, errors, strict=True)]
        )
        found.append(_probe(features[rows], labels[rows] == 1, seed)["auc"])
    low, high = np.quantile(found, (0.025, 0.975))
    return {"auc": float(np.mean(found)), "interval": (float(low), float(high))}


def _probe(features: np.ndarray, target: np.ndarray, seed: int) -> dict[str, Any]:
    """Cross-validated AUC of one yes-or-no question, (N, 6) against (N,)."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    positives = int(target.sum())
    out: dict[str, Any] = {"pairs": len(target), "positives": positives}
    if min(positives, len(target) - positives) < FOLDS:
        return out | {"auc": None, "interval": None, "at_chance": None}
    # By Newton's steps: the other solver's BLAS threads make it ten times slower on a busy machine. Without
    # a pipeline and cross_val_predict, whose checks of arguments take as long as the fits.
    probe, score = LogisticRegression(solver="newton-cholesky"), np.empty(len(target))
    for fitted, asked in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(features, target):
        mean, spread = features[fitted].mean(axis=0), features[fitted].std(axis=0)
        standard = (features - mean) / np.where(spread > 0, spread, 1.0)
        probe.fit(standard[fitted], target[fitted])
        score[asked] = probe.predict_proba(standard[asked])[:, 1]
    found = somers_d(-score, np.stack([~target, target]).astype(np.int64), clustered=False)
    auc, low, high = ((1 + value) / 2 for value in (found.value, found.low, found.high))
    return out | {"auc": auc, "interval": (low, high), "at_chance": low <= 0.5}
