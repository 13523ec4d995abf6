"""How many of a matcher's decisions quantising changes: on many pairs, with an interval.

A pair whose score lies next to the threshold may get the other label by a change of a hundredth of a logit;
such pairs are as likely to be right after it as before, and are counted apart. What may hardly happen is that
a clear decision changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilebert_export.agreement import decisions, positive_log_odds
from mobilebert_export.verification import reference_logits
from mobilebert_runtime.card import ArtefactCard
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.tokenizer import Pair

# A decision is clear where the log-odds are farther from the threshold than two logits move that are each off
# by .08, the largest |Δlogit| asked of 99 pairs in a hundred.
NEAR = 0.16
# Share of decisions that may change at most, with 95% confidence; and of the clear ones, as counted.
MAX_CHANGED = 0.02
MAX_CLEAR_CHANGED = 0.003
_Z95 = 1.959964


def wilson_interval(hits: int, count: int) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927): it holds for few hits, and for none."""
    if not count:
        return 0.0, 1.0
    share, square = hits / count, _Z95**2 / count
    centre = (share + square / 2) / (1 + square)
    half = _Z95 / (1 + square) * math.sqrt(share * (1 - share) / count + square / (4 * count))
    return max(centre - half, 0.0), min(centre + half, 1.0)


@dataclass(frozen=True)
class DecisionChanges:
    """What quantising does to the decisions on some pairs, each in its own length bucket.

    Attributes:
        pairs: pairs compared.
        changed: that get another label than from the PyTorch model.
        near: whose float log-odds lie within `NEAR` of the threshold.
        changed_clear: changed ones among the others.
        p50_logit: median over pairs of the larger |Δlogit|.
        p99_logit: its 99th percentile.
        max_logit: its largest value.
    """

    pairs: int
    changed: int
    near: int
    changed_clear: int
    p50_logit: float
    p99_logit: float
    max_logit: float

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the share of changed decisions."""
        return wilson_interval(self.changed, self.pairs)

    @property
    def failures(self) -> tuple[str, ...]:
        """One sentence per broken tolerance."""
        found, highest = [], self.interval[1]
        if highest > MAX_CHANGED:
            found.append(
                f"changes {self.changed / self.pairs:.1%} of decisions, with 95% confidence at most "
                f"{highest:.1%}, above {MAX_CHANGED:.0%}"
            )
        clear = self.pairs - self.near
        if self.changed_clear > MAX_CLEAR_CHANGED * clear:
            found.append(f"changes {self.changed_clear} of {clear} decisions that are clear of the threshold")
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """Plain data for report.json."""
        return asdict(self) | {"changed_share": self.changed / self.pairs, "interval": list(self.interval)}


def sentence(changes: dict[str, Any], budget: dict[str, Any] | None) -> str:
    """The line of a report: the `to_json` of both; accuracy where labelled pairs were given."""
    low, high = changes["interval"]
    text = (
        f"changes {changes['changed_share']:.1%} of decisions on {changes['pairs']:,} pairs "
        f"({low:.1%} to {high:.1%} with 95% confidence; {changes['changed_clear']} that were clear)"
    )
    if budget is None:
        return text
    change = budget["accuracy"] - budget["float32_accuracy"]
    return f"{text}; accuracy on the labelled pairs {change:+.2f} points"


class ChangeCounter:
    """Compares artefacts with one PyTorch model, which is asked once.

    Args:
        model: pair classifier in eval mode.
        pairs: text pairs.
    """

    def __init__(self, model: Any, pairs: Sequence[Pair]) -> None:
        self._model = model
        self._pairs = list(pairs)
        self._expected: NDArray[np.float32] | None = None

    def count(self, matcher: Matcher) -> DecisionChanges:
        """What an artefact, loaded in its runtime, decides otherwise."""
        if self._expected is None:
            encoded = matcher.tokenizer.encode(self._pairs, matcher.card.seq_len)
            self._expected = reference_logits(self._model, encoded)
        found, shift = matcher.logits(self._pairs), matcher.card.shift(self._pairs)
        return compare_decisions(self._expected, found, matcher.card, shift)


def compare_decisions(
    expected: NDArray[np.float32], found: NDArray[np.float32], card: ArtefactCard, shift: Sequence[float]
) -> DecisionChanges:
    """The changes between two sets of logits, float32 (N, labels); `shift` is `card.shift` of the pairs."""
    changed = decisions(expected, card, shift) != decisions(found, card, shift)
    near = _distances(expected, card, shift) <= NEAR
    difference = np.abs(expected - found).max(axis=1)
    return DecisionChanges(
        len(expected),
        int(changed.sum()),
        int(near.sum()),
        int((changed & ~near).sum()),
        *(float(np.quantile(difference, part)) for part in (0.5, 0.99, 1.0)),
    )


def _distances(
    logits: NDArray[np.float32], card: ArtefactCard, shift: Sequence[float]
) -> NDArray[np.float64]:
    """How far each pair is from another decision, (N, labels) → (N,): log-odds, or logits of two labels."""
    if len(card.labels) > 2:
        ordered = np.sort(logits.astype(np.float64), axis=1)
        return ordered[:, -1] - ordered[:, -2]
    odds = positive_log_odds(logits, card.positive)
    if card.activation == "identity":
        return np.abs(odds - card.threshold)
    if not 0 < card.threshold < 1:
        return np.full(len(odds), np.inf)
    border = math.log(card.threshold / (1 - card.threshold))
    return np.abs(odds - card.temperature * (border - np.asarray(shift)))
