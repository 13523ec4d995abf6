"""How far two sets of outputs of one task are apart: the figures that a tolerance bounds."""

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
Floats = NDArray[np.float32]
Outputs = Mapping[str, Floats]


@dataclass(frozen=True)
class Agreement:
    """What two sets of outputs have in common; None where a task has no such figure."""

    max_abs_logit: float  # largest |Δ| of an output
    label_agreement: float | None = None  # share of texts, tokens or spans that get the same label or place
    rank_agreement: float | None = None  # Spearman correlation of scores
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
    if card.task == TOKEN_CLASSIFICATION:
        real = mask.astype(bool)
        same = expected[real].argmax(-1) == found[real].argmax(-1)
        return Agreement(_largest(expected[real], found[real]), float(same.mean()))
    if card.task == QUESTION_ANSWERING:
        real = mask.astype(bool)
        same = (best_spans(expected, mask) == best_spans(found, mask)).all(1)
        return Agreement(_largest(expected[real], found[real]), float(same.mean()))
    largest = _largest(expected, found)
    if card.task == MATCHING:
        same = decisions(expected, card, shift) == decisions(found, card, shift)
        scores = [positive_log_odds(logits, card.positive) for logits in (expected, found)]
        cosine = (
            float(_cosines(given[EMBEDDING_NAME], also[EMBEDDING_NAME]).min()) if card.embedding else None
        )
        return Agreement(largest, float(same.mean()), rank_correlation(*scores), cosine)
    return _of_classes(expected, found, card, largest)


def _of_classes(expected: Floats, found: Floats, card: ArtefactCard, largest: float) -> Agreement:
    columns = range(len(card.labels))
    if card.activation == "softmax":
        same = expected.argmax(1) == found.argmax(1)
        scores = [[positive_log_odds(logits, i) for logits in (expected, found)] for i in columns]
    else:
        same = (expected >= 0) == (found >= 0)  # a sigmoid of at least a half, label by label
        scores = [[logits[:, i].astype(np.float64) for logits in (expected, found)] for i in columns]
    ranks = min(rank_correlation(*one) for one in scores)
    return Agreement(largest, None if card.activation == "identity" else float(same.mean()), ranks)


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
    """Spearman's correlation. Constant scores have no order to agree on: then only two constants agree."""
    from scipy.stats import rankdata

    ranks = [rankdata(scores) for scores in (first, second)]
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


def best_spans(logits: Floats, mask: NDArray[np.int32]) -> NDArray[np.int64]:
    """First and last token (N, 2) of the span with the largest sum of its start's and its end's logit.

    Args:
        logits: (N, S, 2).
        mask: (N, S), 1 at tokens that a span may hold.
    """
    length = logits.shape[1]
    ahead = np.arange(length)[None, :] - np.arange(length)[:, None]
    allowed = (ahead >= 0) & (ahead < LONGEST_ANSWER)  # (S, S): start, end
    spans = []
    for row, real in zip(logits, mask.astype(bool), strict=True):
        sums = row[:, None, 0] + row[None, :, 1]
        sums = np.where(allowed & real[:, None] & real[None, :], sums, -np.inf)
        spans.append(np.unravel_index(int(sums.argmax()), sums.shape))
    return np.array(spans, np.int64)
