"""Counts the decisions of a matcher that quantising changes, and what they cost, with intervals.

A pair whose score lies next to the threshold may get the other label by a change of a hundredth of a logit;
it is nearly as likely to be right after it as before. So what is bounded is the accuracy that would be lost
if the PyTorch model's probabilities are right, and the changes of clear decisions; how many decisions change
is told (decision 021).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mobilebert_export.verification.agreement import matching_costs, threshold_distances
from mobilebert_export.verification.network_outputs import reference_logits
from mobilebert_matching.evaluation import metrics
from mobilebert_runtime.card import ArtefactCard
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.tokenizer import Pair

if TYPE_CHECKING:
    from torch import nn

    from mobilebert_export.verification.accuracy_budget import Budget
    from mobilebert_quantize.recipes import Tolerance

# A decision is clear where the log-odds are farther from the threshold than two logits move that are each off
# by .08, the largest |Δlogit| asked of 99 pairs in a hundred.
NEAR = 0.16
# Share of clear decisions that may change, as counted.
MAX_CLEAR_CHANGED = 0.003
# Share of all decisions that may change, with 95% confidence, where a score is no probability.
MAX_CHANGED = 0.02
# What a file keeps that has room for another processor's rounding, or another seed's weights: the share of
# all decisions that changes, and |Δlogit| of 99 pairs in a hundred. .005 and .08 are asked of all processors.
ROOM_CHANGED, ROOM_P99 = 0.004, 0.07
_Z95 = 1.959964


@dataclass(frozen=True)
class DecisionChanges:
    """What quantising does to the decisions on some pairs, each in its own length bucket.

    Attributes:
        pairs: pairs compared.
        changed: that get another label than from the PyTorch model.
        near: whose float log-odds lie within `NEAR` of the threshold.
        changed_clear: changed ones among the others.
        expected_loss: share of right answers lost if the PyTorch model's probabilities are right, and the end
            of its 95% interval; None where scores are no probabilities.
        max_expected_loss: bound of the latter.
        p50_logit: median over pairs of the larger |Δlogit|.
        p99_logit: its 99th percentile.
        max_logit: its largest value.
    """

    pairs: int
    changed: int
    near: int
    changed_clear: int
    expected_loss: tuple[float, float] | None
    max_expected_loss: float
    p50_logit: float
    p99_logit: float
    max_logit: float

    @property
    def changed_share(self) -> float:
        """Share of changed decisions."""
        return self.changed / self.pairs

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the share of changed decisions."""
        return metrics.wilson(self.changed, self.pairs)

    @property
    def failures(self) -> tuple[str, ...]:
        """One sentence per broken tolerance."""
        found, highest = [], self.interval[1]
        if self.expected_loss is not None:
            likely, most = self.expected_loss
            if most > self.max_expected_loss:
                found.append(
                    f"expected to lose {100 * likely:.2f} points of accuracy, with 95% confidence at most "
                    f"{100 * most:.2f}, above {100 * self.max_expected_loss:.2f}"
                )
        elif highest > MAX_CHANGED:
            found.append(
                f"changes {self.changed_share:.1%} of decisions, with 95% confidence at most "
                f"{highest:.1%}, above {MAX_CHANGED:.0%}"
            )
        clear = self.pairs - self.near
        if self.changed_clear > MAX_CLEAR_CHANGED * clear:
            found.append(f"changes {self.changed_clear} of {clear} decisions that are clear of the threshold")
        return tuple(found)

    @property
    def thin(self) -> tuple[str, ...]:
        """One sentence for each figure with little margin."""
        found = []
        if self.changed > ROOM_CHANGED * self.pairs:
            found.append(f"changes {self.changed_share:.1%} of decisions, more than {ROOM_CHANGED:.1%}")
        if self.p99_logit > ROOM_P99:
            found.append(f"99th percentile of |Δlogit| {self.p99_logit:.3f}, above {ROOM_P99}")
        return tuple(found)

    def to_json(self) -> dict[str, object]:
        """Plain data for report.json."""
        return asdict(self) | {"changed_share": self.changed_share, "interval": list(self.interval)}


def sentence(changes: DecisionChanges, budget: Budget | None = None) -> str:
    """The line of a report; with the accuracy where labelled pairs were given."""
    low, high = changes.interval
    text = (
        f"changes {changes.changed_share:.1%} of decisions on {changes.pairs:,} pairs "
        f"({low:.1%} to {high:.1%} with 95% confidence; {changes.changed_clear} that were clear)"
    )
    if changes.expected_loss is not None:
        text += f", expected to cost {100 * changes.expected_loss[0]:.2f} points of accuracy"
    if budget is None:
        return text
    return f"{text}; accuracy on the labelled pairs {budget.accuracy - budget.float32_accuracy:+.2f} points"


class ChangeCounter:
    """Compares artefacts with one PyTorch model, which is asked once.

    Args:
        model: pair classifier in eval mode.
        pairs: text pairs.
    """

    def __init__(self, model: nn.Module, pairs: Sequence[Pair]) -> None:
        self._model = model
        self._pairs = list(pairs)
        self._expected: NDArray[np.float32] | None = None

    def count(self, matcher: Matcher, tolerance: Tolerance) -> DecisionChanges:
        """The decisions that an artefact, loaded in its runtime, changes."""
        if self._expected is None:
            encoded = matcher.tokenizer.encode(self._pairs, matcher.card.seq_len)
            self._expected = reference_logits(self._model, encoded)
        found, shift = matcher.logits(self._pairs), matcher.card.shift(self._pairs)
        return compare_decisions(self._expected, found, matcher.card, shift, tolerance)


def compare_decisions(
    expected: NDArray[np.float32],
    found: NDArray[np.float32],
    card: ArtefactCard,
    shift: Sequence[float],
    tolerance: Tolerance,
) -> DecisionChanges:
    """The changes between two sets of logits, float32 (N, labels); `shift` is `card.shift` of the pairs."""
    costs = matching_costs(expected, found, card, shift)
    changed = ~np.isnan(costs)
    near = _distances(expected, card, shift) <= NEAR
    difference = np.abs(expected - found).max(axis=1)
    loss = None if card.activation == "identity" else _with_interval(np.nan_to_num(costs))
    return DecisionChanges(
        len(expected),
        int(changed.sum()),
        int(near.sum()),
        int((changed & ~near).sum()),
        loss,
        tolerance.max_expected_loss,
        *(float(np.quantile(difference, part)) for part in (0.5, 0.99, 1.0)),
    )


def _with_interval(costs: NDArray[np.float64]) -> tuple[float, float]:
    """Mean, and the upper end of its 95% interval (normal).

    Few costs are not 0, for which a normal interval is narrow; a cost that is rare and large is a changed
    clear decision, and those are bounded by count.
    """
    mean = float(costs.mean())
    return mean, mean + _Z95 * float(costs.std()) / math.sqrt(len(costs))


def _distances(
    logits: NDArray[np.float32], card: ArtefactCard, shift: Sequence[float]
) -> NDArray[np.float64]:
    """How far each pair is from another decision, (N, labels) → (N,): log-odds, or logits of two labels."""
    if len(card.labels) > 2:
        ordered = np.sort(logits.astype(np.float64), axis=1)
        return np.asarray(ordered[:, -1] - ordered[:, -2])
    return threshold_distances(logits, card, shift)
