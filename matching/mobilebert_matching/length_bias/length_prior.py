"""What the length divergence of a pair alone says about its label, and how to take it out of logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_expit, softmax

from mobilebert_matching.length_bias.length_divergence import CATEGORIES, Quartiles, pairwise, word_counts
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import Pair

# Pairs of each label that a category needs for its odds to be worth fitting: ten observations for each fitted
# number (Peduzzi et al. 1996, on logistic regression).
FEWEST = 10


@dataclass(frozen=True)
class LengthPrior:
    """Log-odds of label 1 in each length-divergence category of a training set, and over all of it.

    A model of the training distribution p is turned into one of the distribution q in which every category
    has the overall ratio of labels. Let c be the category of the pair x. The two differ in the label's
    frequency within a category, not in what the pairs of a label in a category look like:

        q(y | c) = p(y)    and    q(x | y, c) = p(x | y, c)        (label shift within each category)

    c follows from x, so by Bayes p(y | x) ∝ p(x | y, c) p(y | c), and the same holds for q. Dividing,

        q(y | x) ∝ p(y | x) p(y) / p(y | c)
        logit q(1 | x) = logit p(1 | x) + [logit p(1) − logit p(1 | c)]

    The bracket is `shift`. It depends on the pair's lengths alone, and is zero where there is no bias.

    The pairs themselves are distributed otherwise, too: q(x | c) / p(x | c) = Σ_y p(y | x) p(y) / p(y | c),
    which is `weight`. A model that tells all pairs apart needs the shift alone; one that cannot learns an
    average over the pairs it sees, which has to be the average over q: shifted targets with these weights.
    """

    quartiles: Quartiles
    log_odds: tuple[float, float, float, float]  # of label 1 in CAT1 to CAT4
    overall: float  # log-odds of label 1 over all categories

    @classmethod
    def fit(cls, pairs: Sequence[Pair], labels: np.ndarray) -> LengthPrior:
        """Count the labels in the categories that the quartiles of `pairs` cut.

        A category that no pair is in (quartiles may coincide) gets the overall log-odds, that is, no shift.

        Args:
            pairs: N pairs of the training distribution.
            labels: (N,) 0 or 1.

        Raises:
            DataError: other labels, or a category with one label only: its odds are 0 or infinite; or
                a text without words, or no pairs.
        """
        quartiles, counts = _counts(pairs, labels)
        for place, (negative, positive) in zip(CATEGORIES, counts.T.tolist(), strict=True):
            if (negative == 0) != (positive == 0):
                raise DataError(
                    f"CAT{place} has {positive} pairs of label 1 and {negative} of label 0; "
                    "its odds need both, give more pairs"
                )
        overall = float(np.log(counts[1].sum() / counts[0].sum()))
        log_odds = [
            float(np.log(positive / negative)) if negative else overall
            for negative, positive in counts.T.tolist()
        ]
        return cls(quartiles, (log_odds[0], log_odds[1], log_odds[2], log_odds[3]), overall)

    def scaled(self, strength: float) -> LengthPrior:
        """The prior of which `strength` is left: 1 leaves it as it is, 0 is the overall ratio everywhere."""
        kept = [self.overall + strength * (odds - self.overall) for odds in self.log_odds]
        return replace(self, log_odds=(kept[0], kept[1], kept[2], kept[3]))

    def category(self, pairs: Sequence[Pair]) -> np.ndarray:
        """1 to 4 for each pair, (N,) int64, by the quartiles of the training distribution."""
        return self.quartiles.category(_divergence(pairs))

    def of(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Log-odds of label 1 given the category of each pair, (N,) float64: the length-only model."""
        return np.asarray(self.log_odds)[self.category(pairs) - 1]

    def shift(self, pairs: Sequence[Pair]) -> np.ndarray:
        """What to add to the logit of label 1 of each pair, (N,): overall − the category's log-odds."""
        return self.overall - self.of(pairs)

    def ratios(self, pairs: Sequence[Pair]) -> np.ndarray:
        """p(y) / p(y | c) for both labels of each pair, (N, 2) float64."""
        sign = np.array([-1.0, 1.0])  # log p(1) = log_expit(log-odds), log p(0) = log_expit(−log-odds)
        return np.exp(log_expit(sign * self.overall) - log_expit(sign * self.of(pairs)[:, None]))

    def rebalancing_weights(self, pairs: Sequence[Pair], labels: np.ndarray) -> np.ndarray:
        """p(y) / p(y | c) of each pair, (N,): with them every category has the overall ratio of labels.

        Their mean is 1, also within a category: Σ_y p(y | c) p(y) / p(y | c) = Σ_y p(y) = 1.

        Args:
            pairs: N pairs.
            labels: (N,) 0 or 1.
        """
        return self.ratios(pairs)[np.arange(len(labels)), labels]

    def weight(self, pairs: Sequence[Pair], logits: np.ndarray) -> np.ndarray:
        """How much more often each pair is in the distribution without bias, (N,) float64, mean near 1.

        Args:
            pairs: N pairs.
            logits: (N, 2) of a model of the training distribution, not adjusted.

        Raises:
            DataError: other shapes.
        """
        _check(logits, len(pairs))
        return (softmax(np.asarray(logits, np.float64), axis=1) * self.ratios(pairs)).sum(axis=1)

    def to_json(self) -> dict[str, Any]:
        """Quartiles and log-odds, for records."""
        return {
            "quartiles": self.quartiles.as_list(),
            "log_odds": list(self.log_odds),
            "overall_log_odds": self.overall,
        }


def too_few(pairs: Sequence[Pair], labels: np.ndarray) -> str | None:
    """Why a prior of these pairs would be noise: a category and a label of fewer than `FEWEST`; else None.

    Args:
        pairs: N pairs.
        labels: (N,) 0 or 1.

    Raises:
        DataError: as `LengthPrior.fit`, but for a category with one label only.
    """
    _, counts = _counts(pairs, labels)
    for place, both in zip(CATEGORIES, counts.T.tolist(), strict=True):
        if any(both) and min(both) < FEWEST:
            return f"CAT{place} has {min(both)} pairs of label {int(np.argmin(both))}, {FEWEST} are needed"
    return None


def adjusted(logits: np.ndarray, shift: np.ndarray, strength: float = 1.0) -> np.ndarray:
    """Logits of label 0 and 1 with `strength` times `shift` added to those of label 1.

    Args:
        logits: (N, 2); not changed.
        shift: (N,), from `LengthPrior.shift`.
        strength: 0 leaves the logits as they are, 1 is the shift Bayes asks for.

    Returns:
        (N, 2) of the type of `logits`.

    Raises:
        DataError: other shapes.
    """
    logits, shift = np.asarray(logits), np.asarray(shift)
    _check(logits, *shift.shape)
    out = logits.copy()
    out[:, 1] += strength * shift
    return out


def _counts(pairs: Sequence[Pair], labels: np.ndarray) -> tuple[Quartiles, np.ndarray]:
    """The quartiles of pairs, and (2, 4): how many have label 0 and 1 in CAT1 to CAT4.

    Raises:
        DataError: other labels than 0 and 1, a text without words, or no pairs.
    """
    labels = np.asarray(labels)
    if labels.shape != (len(pairs),) or not np.isin(labels, (0, 1)).all():
        raise DataError(
            f"{len(pairs)} pairs with labels {np.unique(labels)[:5]} of shape {labels.shape}; "
            f"expected one label a pair, 0 or 1"
        )
    divergence = _divergence(pairs)
    quartiles = Quartiles.of(divergence)
    category = quartiles.category(divergence)
    return quartiles, np.stack([np.bincount(category[labels == y], minlength=5)[1:] for y in (0, 1)])


def _check(logits: np.ndarray, *shape: int) -> None:
    if np.shape(logits) != (*shape, 2):
        raise DataError(f"logits have shape {np.shape(logits)}; expected {(*shape, 2)}: two classes")


def _divergence(pairs: Sequence[Pair]) -> np.ndarray:
    """Eq. (1) of each pair, (N,)."""
    return pairwise(word_counts(a for a, _ in pairs), word_counts(b for _, b in pairs))
