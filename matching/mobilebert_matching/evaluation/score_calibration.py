"""From logits to decisions: temperature, threshold and length shift, fitted on development pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, softmax

from mobilebert_matching.data.labelled_pairs import LabelledPairs
from mobilebert_matching.length_bias.length_prior import LengthPrior
from mobilebert_models import MatcherSettings
from mobilebert_runtime.card_parts import MOST_ADDED
from mobilebert_runtime.length_shift import LengthShift
from mobilebert_runtime.tokenizer import Pair

SLOPES, ANY_OFFSET = (1e-3, 1e3), (-1e3, 1e3)
# The runtimes take `MOST_ADDED`; the length shift has the other half.
WRITTEN_OFFSET = (-MOST_ADDED / 2, MOST_ADDED / 2)
EXACTLY = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 1000}  # of a fit by likelihood
SHARES = 41  # of the length shift that are tried for equal recall
CLEARLY = 1.96  # standard errors: 95%
FOLDS, SPLITS = 10, 10  # of the cross-validation of a threshold, and how often it divides the pairs anew


def fit_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """The T > 0 whose softmax(logits / T) has the least negative log-likelihood (Guo et al. 2017).

    Args:
        logits: (N, C).
        labels: (N,) class indices.
    """
    rows = np.arange(len(labels))

    def nll(log_temperature: float) -> float:
        return -float(log_softmax(logits / np.exp(log_temperature), axis=1)[rows, labels].mean())

    return float(np.exp(minimize_scalar(nll, bounds=(-3.0, 3.0), method="bounded").x))


def fit_threshold(probabilities: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> float:
    """The threshold with the highest accuracy; of equally good ones the one nearest to 0.5.

    Args:
        probabilities: (N,) of the positive class.
        labels: (N,) of 0 and 1.
        weights: (N,) how much each counts; default: alike.
    """
    order = np.argsort(probabilities, kind="stable")
    ranked, truth = probabilities[order].astype(np.float64), labels[order]
    counts = np.ones(len(labels), np.int64) if weights is None else np.asarray(weights)[order]
    # With the cut before position i, everything from i on is called positive.
    correct = np.concatenate([[0], np.cumsum(counts * (truth == 0))]) + np.concatenate(
        [np.cumsum((counts * truth)[::-1])[::-1], [0]]
    )
    cuts = np.concatenate([[0.0], (ranked[:-1] + ranked[1:]) / 2, [1.0]])
    # Between equal probabilities there is no cut.
    possible = np.concatenate([[True], np.diff(ranked) > 0, [True]])
    best = possible & (correct == correct[possible].max())
    return float(cuts[best][np.argmin(np.abs(cuts[best] - 0.5))])


def reliable_threshold(
    probabilities: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """That of `fit_threshold` where cross-validation finds it clearly better than 0.5, else 0.5.

    0.5 is the best threshold of a true probability. Another one pays only where the probabilities are not
    true, and of few pairs the best one found is often worse elsewhere. So thresholds are fitted on nine
    tenths of the pairs and compared with 0.5 on the last tenth, each in turn, in several random divisions.
    The mean difference must be more than `CLEARLY` of its standard errors.

    Args:
        probabilities: (N,) of the positive class, calibrated on these pairs.
        labels: (N,) of 0 and 1.
        weights: (N,) how much each counts; default: alike.
    """
    counts = np.ones(len(labels)) if weights is None else np.asarray(weights)
    draw, gains = np.random.default_rng(0), np.zeros(len(labels))
    half = (probabilities >= 0.5) == labels
    for _ in range(SPLITS):
        for held in np.array_split(draw.permutation(len(labels)), FOLDS):
            rest = np.delete(np.arange(len(labels)), held)
            threshold = fit_threshold(probabilities[rest], labels[rest], counts[rest])
            right = (probabilities[held] >= threshold) == labels[held]
            gains[held] += counts[held] * (right.astype(float) - half[held]) / SPLITS
    clearly = gains.mean() > CLEARLY * gains.std() / np.sqrt(len(labels))
    return fit_threshold(probabilities, labels, weights) if clearly else 0.5


def fit_slope_and_offset(
    logits: np.ndarray, labels: np.ndarray, offsets: tuple[float, float] = ANY_OFFSET
) -> tuple[float, float]:
    """Slope a > 0 and offset b for which sigmoid(a d + b) has the least negative log-likelihood.

    Platt scaling, on the difference d of the two logits.

    Args:
        logits: (N, 2).
        labels: (N,) 0 or 1.
        offsets: bounds of b.
    """
    count = len(labels)
    slope, _, offset = _fit_log_odds(logits, labels, np.zeros(count), np.ones(count), (0.0, 0.0), offsets)
    return slope, offset


def fit_settings(logits: np.ndarray, labels: np.ndarray, *, offset: bool = False) -> MatcherSettings:
    """Decision settings of a two-class matcher; of more classes the temperature alone.

    Args:
        logits: (N, C).
        labels: (N,) class indices.
        offset: also fit what is added to the log-odds, the same in every length-divergence category. The
            logits of a classifier that was trained on such pairs need none; a cosine's do.
    """
    logits, labels = logits.astype(np.float64), np.asarray(labels, np.int64)
    if offset:
        slope, added = fit_slope_and_offset(logits, labels, WRITTEN_OFFSET)
        scores = expit(slope * _difference(logits) + added)
        return MatcherSettings(
            temperature=1 / slope,
            threshold=reliable_threshold(scores, labels),
            length_shift=LengthShift((0.0,) * 3, (added,) * 4).to_json(),
        )
    temperature = fit_temperature(logits, labels)
    if logits.shape[1] != 2:
        names = tuple(f"class {i}" for i in range(logits.shape[1]))
        return MatcherSettings(labels=names, temperature=temperature)
    probabilities = softmax(logits / temperature, axis=1)[:, 1]
    return MatcherSettings(temperature=temperature, threshold=reliable_threshold(probabilities, labels))


def fit_debiased_settings(
    logits: np.ndarray,
    dev: LabelledPairs,
    prior: LengthPrior,
    *,
    offset: bool = False,
    equal_recall: bool = False,
) -> MatcherSettings:
    """Decision settings of a two-class matcher for pairs whose length divergence says nothing of the label.

    Development pairs have the training pairs' bias. Each counts p(y) / p(y | c), as in `LengthPrior.ratios`,
    which makes of them a sample without it. There, a logit difference d of a model that knows the bias is too
    high by the category's log-odds; of a model that was trained to forget it, by what is left. So the
    debiased log-odds are

        d / T + λ (logit p(1) − logit p(1 | c)),    0 ≤ λ ≤ 1

    and T and λ have the least weighted negative log-likelihood. It is convex in (1/T, λ). λ says how much of
    the bias the matcher still has.

    Args:
        logits: (N, 2).
        dev: N development pairs.
        prior: of the training pairs.
        offset: as in `fit_settings`: a third term of the log-odds, the same in every category.
        equal_recall: λ by equal true positive rates of CAT1 and CAT4 instead, T by likelihood with that λ.
    """
    pairs, labels = dev
    shift, weights = prior.shift(pairs), prior.rebalancing_weights(pairs, labels)
    bounds = WRITTEN_OFFSET if offset else (0.0, 0.0)

    def fit(shares: tuple[float, float]) -> tuple[float, float, float]:
        return _fit_log_odds(logits, labels, shift, weights, shares, bounds)

    slope, share, constant = fit((0.0, 1.0))
    if equal_recall:
        slope, share, constant = _fit_equal_recall(logits, dev, prior, fit)
    added = share * (prior.overall - np.asarray(prior.log_odds)) + constant
    debiased = expit(slope * _difference(logits) + share * shift + constant)
    return MatcherSettings(
        temperature=1 / slope,
        threshold=reliable_threshold(debiased, labels, weights),
        length_shift=LengthShift(tuple(prior.quartiles.as_list()), tuple(added.tolist())).to_json(),
    )


def _fit_equal_recall(
    logits: np.ndarray,
    dev: LabelledPairs,
    prior: LengthPrior,
    fit: Callable[[tuple[float, float]], tuple[float, float, float]],
) -> tuple[float, float, float]:
    """Slope, share λ and offset of which the true positive rates of CAT1 and CAT4 are nearest to equal.

    A rate counted over the few positives of a category is too noisy to fit on. Each pair counts as positive
    with the probability that the fit by likelihood gives it under the development pairs' own length prior.

    Args:
        logits: (N, 2).
        dev: N development pairs.
        prior: of the training pairs.
        fit: bounds of λ → the three of the least weighted negative log-likelihood.
    """
    pairs, labels = dev
    shift, category = prior.shift(pairs), prior.category(pairs)
    weights, difference = prior.rebalancing_weights(pairs, labels), _difference(logits)
    slope, share, constant = fit((0.0, 1.0))
    positive = expit(slope * difference + (share - 1) * shift + constant)

    def gap(found: tuple[float, float, float]) -> float:
        scores = expit(found[0] * difference + found[1] * shift + found[2])
        hits = positive * (scores >= fit_threshold(scores, labels, weights))
        rates = [hits[category == c].sum() / positive[category == c].sum() for c in (1, 4)]
        return abs(float(rates[0] - rates[1]))

    return min((fit((float(x), float(x))) for x in np.linspace(0, 1, SHARES)), key=gap)


def _difference(logits: np.ndarray) -> np.ndarray:
    """The second logit less the first, float64 (N,)."""
    return np.subtract(*np.asarray(logits, np.float64).T[::-1])


def _fit_log_odds(
    logits: np.ndarray,
    labels: np.ndarray,
    shift: np.ndarray,
    weights: np.ndarray,
    shares: tuple[float, float],
    offsets: tuple[float, float],
) -> tuple[float, float, float]:
    """Slope a, share λ and offset b for which a d + λ s + b has the least weighted negative log-likelihood.

    It is convex in the three. The targets are Platt's (1999, section 2.2): (N₁ + 1) / (N₁ + 2) for label 1
    and 1 / (N₀ + 2) for label 0, so that pairs which are told apart without an error have a finite fit.

    Args:
        logits: (N, 2), whose difference is d.
        labels: (N,) 0 or 1.
        shift: (N,) s.
        weights: (N,).
        shares: bounds of λ; two equal ones fix it.
        offsets: bounds of b.
    """
    difference, same = _difference(logits), np.asarray(labels) == 1
    unit = float(difference.std()) or 1.0  # the slope is sought in units in which it is near 1
    difference = difference / unit
    target = np.where(same, 1 - 1 / (weights[same].sum() + 2), 1 / (weights[~same].sum() + 2))

    def nll(given: np.ndarray) -> tuple[float, np.ndarray]:
        odds = given[0] * difference + given[1] * shift + given[2]
        pull = weights * (expit(odds) - target)
        gradient = np.array([pull @ difference, pull @ shift, pull.sum()])
        return float(weights @ (np.logaddexp(0, odds) - target * odds)) / len(same), gradient / len(same)

    start = (1.0, np.clip(0.5, *shares), 0.0)
    bounds = (tuple(bound * unit for bound in SLOPES), shares, offsets)
    slope, share, offset = minimize(nll, start, jac=True, bounds=bounds, options=EXACTLY).x
    return float(slope / unit), float(share), float(offset)


def refit(
    given: MatcherSettings,
    logits: np.ndarray,
    dev: LabelledPairs,
    prior: LengthPrior | None = None,
    *,
    offset: bool = False,
    equal_recall: bool = False,
) -> MatcherSettings:
    """A matcher's settings with its decision fitted anew; the names and the positive label stay.

    Args:
        given: of the matcher.
        logits: (N, C).
        dev: N development pairs; of two classes, label 1 is the positive one.
        prior: of the training pairs, where the decision is to be debiased.
        offset: as in `fit_settings`.
        equal_recall: as in `fit_debiased_settings`, with `prior`.
    """
    if len(given.labels) == 2:
        logits = logits[:, [1 - given.positive, given.positive]]
    if prior:
        fitted = fit_debiased_settings(logits, dev, prior, offset=offset, equal_recall=equal_recall)
    else:
        fitted = fit_settings(logits, dev.labels, offset=offset)
    return replace(fitted, labels=given.labels, positive=given.positive)


def probabilities(logits: np.ndarray, settings: MatcherSettings, pairs: Sequence[Pair]) -> np.ndarray:
    """The score of each pair: (N, C) logits → (N,) float64 in [0, 1]."""
    scaled = np.asarray(logits, np.float64) / settings.temperature
    if shift := LengthShift.from_json(settings.length_shift):
        scaled[:, settings.positive] += shift.of(pairs)
    return np.asarray(softmax(scaled, axis=1)[:, settings.positive])
