"""A threshold without labels, from the scores of pairs that are not the same: a user's own stored texts.

Whoever stores texts to be matched (questions of a help page, product names) stores each meaning once. So a
stored text and the nearest other one are a pair that is not the same, and the hardest of its kind: the share
of these that a matcher calls the same is its rate of false matches there. What it misses, they don't say.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from mobilebert_runtime.errors import DataError

MOST = 2000  # texts whose pairs are scored


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


def require_enough(texts: int, false_matches: float) -> None:
    """Raise `DataError` for so few texts that the share allowed is less than one of them."""
    fewest = int(np.ceil(round(1 / false_matches, 6)))
    if texts < fewest:
        raise DataError(
            f"{texts} different texts; expected at least {fewest}, so that one of them is within "
            f"--false-matches {false_matches:g}"
        )


def threshold_without_labels(scores: np.ndarray, false_matches: float) -> float:
    """A threshold at which no more than a share of pairs that are not the same become matches.

    It is halfway, in log-odds, between the highest score that may not be a match and the next higher one, so
    that scores which int8 moves a little stay on their sides.

    Args:
        scores: (N,) probabilities of each stored text and the nearest other one.
        false_matches: the share, above 0 and below 1.

    Raises:
        DataError: fewer scores than one false match needs, or all that many are at 1.
    """
    require_enough(len(scores), false_matches)
    ranked = np.sort(scores)[::-1]
    allowed = int(false_matches * len(scores) + 1e-9)
    if ranked[allowed] >= 1:
        raise DataError(
            f"more than {allowed} of {len(scores)} texts score 1 beside another one; give each meaning once"
        )
    lower = ranked[allowed]
    lowest = float(np.nextafter(lower, 1))
    if not (above := ranked[ranked > lower]).size:
        return lowest
    higher = min(above[-1], np.nextafter(1, 0))
    return max(lowest, float(expit((logit(lower) + logit(higher)) / 2)))
