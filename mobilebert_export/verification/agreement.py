"""How far two sets of outputs of one task are apart: the figures that a tolerance bounds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.card import (
    EMBEDDING,
    EMBEDDING_NAME,
    MATCHING,
    OUTPUT_NAME,
    QUESTION_ANSWERING,
    TOKEN_CLASSIFICATION,
    ArtefactCard,
)
from mobilebert_runtime.matcher import positive_probability

# Tokens of the longest answer; more are a span that no reader would call one.
LONGEST_ANSWER = 30
ROUNDING = 1e-5  # of logits and cosines in float32, from another order of their sums
Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]
Outputs = Mapping[str, Floats]


@dataclass(frozen=True)
class Agreement:
    """How far two sets of outputs agree; None where a task has no such figure."""

    max_abs_logit: float  # largest |Δ| of an output
    label_agreement: float | None = None  # share of texts, tokens or spans that get the same label or place
    # Share of right answers lost by the others, if the first outputs' probabilities are right.
    expected_loss: float | None = None
    rank_agreement: float | None = None  # Spearman correlation of scores; of logits, the worst label's
    min_cosine: float | None = None  # of two vectors of one text, the worst text


def agree(
    given: Outputs, also: Outputs, card: ArtefactCard, shift: Sequence[float], mask: NDArray[np.int32]
) -> Agreement:
    """Compare outputs of N inputs.

    Args:
        given: float32 by output name, (N, labels) or (N, S, labels) or (N, S, 2) or (N, D).
        also: the same.
        card: what the outputs mean.
        shift: `card.shift` of N pairs; read for matching.
        mask: (N, S), 1 at real tokens; read where every token has an output.
    """
    if card.task == EMBEDDING:
        return _of_vectors(given[EMBEDDING_NAME], also[EMBEDDING_NAME])
    expected, found = given[OUTPUT_NAME], also[OUTPUT_NAME]
    if card.task in (TOKEN_CLASSIFICATION, QUESTION_ANSWERING):
        real = mask.astype(bool)
        costs = (
            span_costs(expected, found, mask)
            if card.task == QUESTION_ANSWERING
            else label_costs(expected[real], found[real])
        )
        largest, ranks = _largest(expected[real], found[real]), _worst_rank(expected[real], found[real])
        return Agreement(largest, _unchanged(costs), _mean(costs), ranks)
    largest = _largest(expected, found)
    if card.task == MATCHING:
        costs = matching_costs(expected, found, card, shift)
        scores = [positive_log_odds(logits, card.positive) for logits in (expected, found)]
        cosine = (
            float(_cosines(given[EMBEDDING_NAME], also[EMBEDDING_NAME]).min()) if card.embedding else None
        )
        loss = None if card.activation == "identity" else _mean(costs)
        return Agreement(largest, _unchanged(costs), loss, rank_correlation(*scores), cosine)
    return _of_classes(expected, found, card, largest)


def _of_classes(expected: Floats, found: Floats, card: ArtefactCard, largest: float) -> Agreement:
    if card.activation == "identity":
        return Agreement(largest, rank_agreement=_worst_rank(expected, found))
    if card.activation == "softmax":
        costs, labels = label_costs(expected, found), range(len(card.labels))
        scores = [[positive_log_odds(logits, i) for logits in (expected, found)] for i in labels]
        ranks = min(rank_correlation(*one) for one in scores)
    else:  # label by label
        costs, ranks = sigmoid_costs(expected, found), _worst_rank(expected, found)
    return Agreement(largest, _unchanged(costs), _mean(costs), ranks)


def _worst_rank(expected: Floats, found: Floats) -> float:
    """Spearman's correlation of two (N, labels), of the label that has the lowest."""
    columns = range(expected.shape[1])
    return min(rank_correlation(expected[:, i], found[:, i]) for i in columns)


def _unchanged(costs: Floats64) -> float:
    return float(np.isnan(costs).mean())


def _mean(costs: Floats64) -> float:
    return float(np.nansum(costs) / max(costs.size, 1))


def _of_vectors(expected: Floats, found: Floats) -> Agreement:
    """Of texts that follow each other in pairs."""
    pairs = [_cosines(vectors[0::2], vectors[1::2]) for vectors in (expected, found)]
    return Agreement(
        _largest(expected, found),
        rank_agreement=rank_correlation(*pairs),
        min_cosine=float(_cosines(expected, found).min()),
    )


def _cosines(first: Floats, second: Floats) -> NDArray[np.float64]:
    """(N, D) and (N, D) → (N,)."""
    units = [
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        for vectors in (first.astype(np.float64), second.astype(np.float64))
    ]
    return (units[0] * units[1]).sum(1)


def _largest(expected: Floats, found: Floats) -> float:
    return float(np.abs(expected - found).max())


def rank_correlation(first: NDArray[np.floating], second: NDArray[np.floating]) -> float:
    """Spearman's correlation. Constant scores have no order to agree on: then only two constants agree.

    What differs by float rounding alone is equal: short inputs make texts that are cut to the same tokens,
    whose equal scores would be put in an order by it.
    """
    from scipy.stats import rankdata

    same = np.abs(first - second) <= ROUNDING
    ranks = [rankdata(scores) for scores in (first, np.where(same, first, second))]
    constant = [np.ptp(rank) == 0 for rank in ranks]
    return float(all(constant)) if any(constant) else float(np.corrcoef(ranks)[0, 1])


def positive_log_odds(logits: Floats, positive: int) -> NDArray[np.float64]:
    """Log p/(1 − p) of the positive label, (N, labels) → (N,): ordered as the probability, not saturated.

    A label by itself has its logit.
    """
    if logits.shape[1] == 1:
        return logits[:, 0].astype(np.float64)
    rest = np.delete(logits.astype(np.float64), positive, axis=1)
    highest = rest.max(axis=1, keepdims=True)
    return logits[:, positive] - (highest[:, 0] + np.log(np.exp(rest - highest).sum(axis=1)))


def decisions(logits: Floats, card: ArtefactCard, shift: Sequence[float]) -> NDArray[np.int64]:
    """The decision a user of a matcher would see: a few labels by the threshold, more by the largest logit.

    That is one label, where 1 is a match and 0 is none, or two.
    """
    if len(card.labels) > 2:
        return logits.argmax(axis=1)
    called = positive_probability(logits, card, shift) >= card.threshold
    if len(card.labels) == 1:
        return called.astype(np.int64)
    return np.where(called, card.positive, 1 - card.positive)


def label_costs(expected: Floats, found: Floats) -> Floats64:
    """What each choice of another label costs, (N, labels) → (N,): p(first choice) − p(the other's).

    p is the softmax of the first logits, so that the sum is the number of right answers lost if the first
    model's probabilities are right. NaN where both choose the same.
    """
    logits = expected.astype(np.float64)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    chosen, rows = found.argmax(axis=1), np.arange(len(found))
    lost = (odds.max(axis=1) - odds[rows, chosen]) / odds.sum(axis=1)
    return np.where(expected.argmax(axis=1) == chosen, np.nan, lost)


def sigmoid_costs(expected: Floats, found: Floats) -> Floats64:
    """The same, (N, labels), of labels that are each chosen from a sigmoid of a half on."""
    return np.where((expected >= 0) == (found >= 0), np.nan, _certainty(np.abs(expected, dtype=np.float64)))


def matching_costs(expected: Floats, found: Floats, card: ArtefactCard, shift: Sequence[float]) -> Floats64:
    """The same, (N,), of a matcher's decisions; in units of its score where that is no probability.

    At a threshold that is not a half, a wrong match and a missed one weigh what makes the threshold right.
    """
    if len(card.labels) > 2:
        return label_costs(expected, found)
    same = decisions(expected, card, shift) == decisions(found, card, shift)
    distances = threshold_distances(expected, card, shift)
    if card.activation != "identity":
        distances = _certainty(distances / card.temperature)
    return np.where(same, np.nan, distances)


def span_costs(expected: Floats, found: Floats, mask: NDArray[np.int32]) -> Floats64:
    """The same, (N,), of the best spans, whose probability is the softmax over all spans that may be read."""
    chosen, best = best_spans(found, mask), best_spans(expected, mask)
    costs = np.full(len(expected), np.nan)
    for row in np.flatnonzero((chosen != best).any(axis=1)):
        sums = span_sums(expected[row], mask[row])
        odds = np.exp(sums - sums.max())
        costs[row] = (odds[tuple(best[row])] - odds[tuple(chosen[row])]) / odds.sum()
    return costs


def threshold_distances(logits: Floats, card: ArtefactCard, shift: Sequence[float]) -> Floats64:
    """How far each pair's log-odds are from a matcher's threshold, (N, one or two labels) → (N,)."""
    odds = positive_log_odds(logits, card.positive)
    if card.activation == "identity":
        return np.asarray(np.abs(odds - card.threshold))
    if not 0 < card.threshold < 1:
        return np.full(len(odds), np.inf)
    border = math.log(card.threshold / (1 - card.threshold))
    return np.asarray(np.abs(odds - card.temperature * (border - np.asarray(shift))))


def _certainty(distance: Floats64) -> Floats64:
    """2p − 1 of a decision whose log-odds are this far from even: p to be right, less 1 − p of the other."""
    return np.asarray(np.tanh(distance / 2))


def best_spans(logits: Floats, mask: NDArray[np.int32]) -> NDArray[np.int64]:
    """First and last token (N, 2) of the span with the largest sum of its start's and its end's logit.

    Args:
        logits: (N, S, 2).
        mask: (N, S), 1 at tokens that a span may hold.
    """
    spans = []
    for row, real in zip(logits, mask, strict=True):
        sums = span_sums(row, real)
        spans.append(np.unravel_index(int(sums.argmax()), sums.shape))
    return np.array(spans, np.int64)


def span_sums(logits: Floats, mask: NDArray[np.int32]) -> Floats64:
    """Start's logit plus end's of each span, (S, 2) and (S,) → (S, S): start, end; −∞ where none may be."""
    length, real = len(logits), mask.astype(bool)
    ahead = np.arange(length)[None, :] - np.arange(length)[:, None]
    allowed = (ahead >= 0) & (ahead < LONGEST_ANSWER) & real[:, None] & real[None, :]
    sums = logits[:, None, 0].astype(np.float64) + logits[None, :, 1]
    return np.where(allowed, sums, -np.inf)
