"""Percentiles, an exact paired rank test and a shift estimate for latencies.

The unit of evidence is the *session median*. Inferences inside a session share a memory layout, a clock and a
neighbour: they are autocorrelated, and a test that pools them calls equal artefacts different in nearly half
of all runs. Sessions come in pairs, one of each candidate a round: a round shares the machine's drift, which
cancels in the pair's ratio.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

P_LIMIT = 0.01
EFFECT_LIMIT = 0.03
# A slowdown the gate must not miss: a green verdict rules it out.
BLIND_LIMIT = 0.08


@dataclass(frozen=True)
class Summary:
    """Location and tails of latency samples; all but `count` in the samples' unit (ms)."""

    count: int
    minimum: float
    p50: float
    p90: float
    p99: float
    mean: float


def summarise(samples: ArrayLike) -> Summary:
    """Summarise samples of any shape (linear interpolation between order statistics).

    Raises:
        ValueError: no samples.
    """
    values = np.asarray(samples, dtype=np.float64).ravel()
    if not values.size:
        raise ValueError("no samples to summarise")
    p50, p90, p99 = np.percentile(values, (50, 90, 99))
    return Summary(values.size, float(values.min()), float(p50), float(p90), float(p99), float(values.mean()))


def signed_rank_test(base: ArrayLike, candidate: ArrayLike) -> Floats:
    """One-sided p of "candidate is not larger than base" from pairs: exact Wilcoxon signed-rank test.

    Wilcoxon (1945) on the logarithms; the null distribution is counted over the observed midranks, so the
    test stays exact with ties. A pair without a difference says nothing for either side.

    Args:
        base: (..., n) session medians, one a round.
        candidate: (..., n) session medians of the same rounds.

    Returns:
        (...) probabilities in (0, 1].
    """
    difference = _log_ratios(base, candidate)
    flat = difference.reshape(-1, difference.shape[-1])  # (..., n) → (R, n)
    size = np.abs(flat)
    below = (size[:, None, :] < size[:, :, None]).sum(-1)
    equal = (size[:, None, :] == size[:, :, None]).sum(-1)
    doubled = np.where(size > 0, 2 * below + equal + 1, 0)  # midrank × 2, an integer
    score = np.where(flat > 0, doubled, 0).sum(-1)
    patterns, which = np.unique(np.sort(doubled, axis=-1), axis=0, return_inverse=True)
    p = np.empty(len(flat))
    for number, pattern in enumerate(patterns):
        rows = which.ravel() == number
        p[rows] = _upper_tail(tuple(pattern.tolist()))[score[rows]]
    return p.reshape(difference.shape[:-1])


def ratio(base: ArrayLike, candidate: ArrayLike) -> Floats:
    """Hodges–Lehmann estimate of candidate / base: median Walsh average of the pairs' log ratios, (...)."""
    return np.exp(np.median(_walsh(_log_ratios(base, candidate)), axis=-1))


def ratio_interval(base: ArrayLike, candidate: ArrayLike) -> tuple[Floats, Floats]:
    """Distribution-free 98% confidence interval of candidate / base that goes with the signed-rank test.

    Tukey's: Walsh averages cut at the test's critical value (Hollander & Wolfe, section 3.3).

    Args:
        base: (..., n) session medians, one a round.
        candidate: (..., n) session medians of the same rounds.

    Returns:
        Lower and upper bounds, (...) each; 0 and infinity when n is too small for that confidence.
    """
    walsh = np.sort(_walsh(_log_ratios(base, candidate)), axis=-1)
    count = np.shape(base)[-1]
    upper_tail = _upper_tail(tuple(range(2, 2 * count + 1, 2)))  # of doubled rank sums, no ties
    likely = [rank for rank in range(walsh.shape[-1] + 1) if upper_tail[2 * rank] > P_LIMIT]
    cut = walsh.shape[-1] - likely[-1]  # averages left out on each side
    if not cut:
        return np.zeros(walsh.shape[:-1]), np.full(walsh.shape[:-1], np.inf)
    return np.exp(walsh[..., cut - 1]), np.exp(walsh[..., -cut])


def verdict(
    base: ArrayLike, candidate: ArrayLike, effect: float = EFFECT_LIMIT, blind: float = BLIND_LIMIT
) -> NDArray[np.str_]:
    """The gate's timing rule on (..., n) session medians of base and candidate, a pair each round.

    Args:
        base: (..., n) session medians, one a round.
        candidate: (..., n) session medians of the same rounds.
        effect: slowdown that is allowed, as a share.
        blind: slowdown that a pass rules out.

    Returns:
        (...) of "regression" (p < 0.01 and slower by more than `effect`), "inconclusive" (no regression
        shown, but the interval does not rule out `blind`, as where a number is missing) or "pass".
    """
    slower = (signed_rank_test(base, candidate) < P_LIMIT) & (ratio(base, candidate) > 1 + effect)
    ruled_out = ratio_interval(base, candidate)[1] <= 1 + blind
    return np.select([slower, ~ruled_out], ["regression", "inconclusive"], "pass")


def interleaved(count: int, sessions: int) -> list[int]:
    """Order of `sessions` sessions of each of `count` candidates: forwards, then backwards (A B B A …).

    A drift that is linear in time adds the same to each candidate when `sessions` is even, nearly so when
    odd.
    """
    rounds: Iterable[range] = (
        range(count) if turn % 2 == 0 else range(count - 1, -1, -1) for turn in range(sessions)
    )
    return [candidate for one_round in rounds for candidate in one_round]


def _log_ratios(base: ArrayLike, candidate: ArrayLike) -> Floats:
    """Log of candidate / base, pair by pair, (..., n)."""
    return np.log(np.asarray(candidate, np.float64)) - np.log(np.asarray(base, np.float64))


def _walsh(differences: Floats) -> Floats:
    """Means of all pairs of differences, each with itself too: (..., n) → (..., n (n + 1) / 2)."""
    first, second = np.triu_indices(differences.shape[-1])
    return (differences[..., first] + differences[..., second]) / 2


@lru_cache(maxsize=1024)
def _upper_tail(ranks: tuple[int, ...]) -> Floats:
    """P(sum of the ranks with a positive sign ≥ s) for s = 0 … sum(ranks), each sign a fair coin."""
    ways = np.zeros(sum(ranks) + 1)
    ways[0] = 1
    for rank in ranks:
        shifted = np.zeros_like(ways)
        shifted[rank:] = ways[: len(ways) - rank]
        ways += shifted
    tail = np.cumsum(ways[::-1])[::-1]
    return tail / tail[0]
