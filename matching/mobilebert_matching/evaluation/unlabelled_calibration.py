"""A threshold without labels, from the scores of pairs that are not the same: a user's own stored texts.

Whoever stores texts to be matched (questions of a help page, product names) stores each meaning once. So a
stored text and the nearest other one are a pair that is not the same, and the hardest of its kind. Domains
differ in where the scores of such pairs lie and how far they spread; where between them and the matches the
threshold of equal error lies differs less. That place is fitted once, on domains with labels, and a new
domain needs its texts alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mobilebert_runtime.errors import DataError

FEWEST = 30  # pairs of which a median and a spread are taken
MOST = 2000  # texts whose pairs are scored
_NORMAL = 1.4826  # median absolute deviation → standard deviation of a normal distribution


def nearest_others(vectors: np.ndarray, most: int = MOST) -> np.ndarray:
    """Texts and the nearest other one of each, places (N, 2), of at most `most` texts evenly among all.

    Args:
        vectors: (M, H), unit vectors of different texts.
        most: pairs at most.
    """
    left = np.unique(np.linspace(0, len(vectors) - 1, min(most, len(vectors))).astype(int))
    right = []
    for part in np.array_split(left, len(left) // 256 + 1):
        similarity = vectors[part] @ vectors.T
        similarity[np.arange(len(part)), part] = -2
        right.append(similarity.argmax(1))
    return np.stack([left, np.concatenate(right)], 1)


@dataclass(frozen=True)
class UnlikeScores:
    """Where the log-odds of pairs that are not the same lie; medians, so that a few duplicates do no harm."""

    location: float
    spread: float

    @classmethod
    def of(cls, log_odds: np.ndarray) -> UnlikeScores:
        """Median and median absolute deviation of N log-odds.

        Raises:
            DataError: fewer than `FEWEST`, or more than half of them are equal.
        """
        require_enough(len(log_odds))
        location = float(np.median(log_odds))
        spread = _NORMAL * float(np.median(np.abs(log_odds - location)))
        if not spread > 0:
            raise DataError("more than half of the pairs have one score; give texts that differ")
        return cls(location, spread)

    def at(self, place: float) -> float:
        """The log-odds that many spreads above the location."""
        return self.location + place * self.spread

    def place_of(self, log_odds: float) -> float:
        """How many spreads above the location log-odds lie."""
        return (log_odds - self.location) / self.spread


def require_enough(texts: int) -> None:
    """Raise `DataError` for fewer than `FEWEST` texts."""
    if texts < FEWEST:
        raise DataError(
            f"{texts} different texts; expected at least {FEWEST} to see how the scores of unlike pairs lie"
        )


def fit_place(domains: Sequence[tuple[np.ndarray, float]]) -> float:
    """Where thresholds lie among labelled domains: the median over them, in spreads above the location.

    Args:
        domains: of each the log-odds (N,) of pairs that are not the same, and the threshold of equal error.

    Raises:
        DataError: no domain, or see `UnlikeScores.of`.
    """
    if not domains:
        raise DataError("no domain with labels to fit a threshold's place to")
    return float(np.median([UnlikeScores.of(unlike).place_of(threshold) for unlike, threshold in domains]))


def threshold_without_labels(unlike: np.ndarray, place: float) -> float:
    """The threshold, a probability, of a domain of which only pairs that are not the same are known.

    Args:
        unlike: (N,) log-odds of each stored text and the nearest other one.
        place: of `fit_place`.

    Raises:
        DataError: see `UnlikeScores.of`.
    """
    return float(1 / (1 + np.exp(-UnlikeScores.of(unlike).at(place))))
