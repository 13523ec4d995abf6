"""Percentiles, an exact rank test and a shift estimate for latencies.

The unit of evidence is the *session median*. Inferences inside a session share a memory layout, a clock and a
neighbour: they are autocorrelated, and a test that pools them calls equal artefacts different in nearly half
of all runs.
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


def rank_test(base: ArrayLike, candidate: ArrayLike) -> Floats:
    """One-sided p of "candidate is not larger than base": exact permutation test on midranks.

    Without ties this is the exact Mann–Whitney test (Mann & Whitney 1947); with ties it stays exact, since
    the null distribution is counted over the observed midranks.

    Args:
        base: (..., n) session medians.
        candidate: (..., m) session medians; leading dimensions as in `base`.

    Returns:
        (...) probabilities in (0, 1].
    """
    base, candidate = np.asarray(base, np.float64), np.asarray(candidate, np.float64)
    pooled = np.concatenate([base, candidate], axis=-1)
    flat = pooled.reshape(-1, pooled.shape[-1])  # (..., n + m) → (R, n + m)
    below = (flat[:, None, :] < flat[:, :, None]).sum(-1)
    equal = (flat[:, None, :] == flat[:, :, None]).sum(-1)
    doubled = 2 * below + equal + 1  # midrank × 2, an integer
    size = candidate.shape[-1]
    score = doubled[:, -size:].sum(-1)
    patterns, which = np.unique(np.sort(doubled, axis=-1), axis=0, return_inverse=True)
    p = np.empty(len(flat))
    for number, pattern in enumerate(patterns):
        rows = which.ravel() == number
        p[rows] = _upper_tail(tuple(pattern.tolist()), size)[score[rows]]
    return p.reshape(pooled.shape[:-1])


def ratio(base: ArrayLike, candidate: ArrayLike) -> Floats:
    """Hodges–Lehmann estimate of candidate / base: the median ratio over all pairs of sessions, (...)."""
    return np.exp(np.median(_pair_logs(base, candidate), axis=-1))


def ratio_interval(base: ArrayLike, candidate: ArrayLike, tail: float = P_LIMIT) -> tuple[Floats, Floats]:
    """Distribution-free confidence interval of candidate / base that goes with the rank test (Lehmann 1963).

    Args:
        base: (..., n) session medians.
        candidate: (..., m) session medians.
        tail: error probability on each side.

    Returns:
        Lower and upper bounds, (...) each; 0 and infinity when n and m are too small for that confidence.
    """
    logs = np.sort(_pair_logs(base, candidate), axis=-1)
    n, m = np.shape(base)[-1], np.shape(candidate)[-1]
    upper_tail = _upper_tail(tuple(range(2, 2 * (n + m) + 1, 2)), m)  # of doubled rank sums, no ties
    smallest = m * (m + 1)  # the doubled rank sum at U = 0
    likely = [u for u in range(n * m + 1) if upper_tail[smallest + 2 * u] > tail]
    cut = n * m - likely[-1]  # pairs left out on each side: P(U > nm - cut) ≤ tail
    if not cut:
        return np.zeros(logs.shape[:-1]), np.full(logs.shape[:-1], np.inf)
    return np.exp(logs[..., cut - 1]), np.exp(logs[..., -cut])


def verdict(base: ArrayLike, candidate: ArrayLike) -> NDArray[np.str_]:
    """The gate's timing rule on (..., n) and (..., m) session medians.

    Returns:
        (...) of "regression" (p < 0.01 and more than 3% slower), "inconclusive" (no regression shown, but the
        interval still holds a slowdown of 8%: a pass would mean nothing) or "pass".
    """
    slower = (rank_test(base, candidate) < P_LIMIT) & (ratio(base, candidate) > 1 + EFFECT_LIMIT)
    blind = ratio_interval(base, candidate)[1] > 1 + BLIND_LIMIT
    return np.select([slower, blind], ["regression", "inconclusive"], "pass")


def interleaved(count: int, sessions: int) -> list[int]:
    """Order of `sessions` sessions of each of `count` contenders: forwards, then backwards (A B B A …).

    A drift that is linear in time adds the same to each contender when `sessions` is even, nearly so when
    odd.
    """
    rounds: Iterable[range] = (
        range(count) if turn % 2 == 0 else range(count - 1, -1, -1) for turn in range(sessions)
    )
    return [contender for one_round in rounds for contender in one_round]


def _pair_logs(base: ArrayLike, candidate: ArrayLike) -> Floats:
    """Log ratios of all pairs: (..., n), (..., m) → (..., n · m)."""
    logs = (
        np.log(np.asarray(candidate, np.float64))[..., None]
        - np.log(np.asarray(base, np.float64))[..., None, :]
    )
    return logs.reshape(*logs.shape[:-2], -1)


@lru_cache(maxsize=1024)
def _upper_tail(ranks: tuple[int, ...], size: int) -> Floats:
    """P(sum of `size` ranks drawn without replacement ≥ s) for s = 0 … sum(ranks), by counting subsets."""
    total = sum(ranks)
    ways = np.zeros((size + 1, total + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : total + 1 - rank].copy()
    tail = np.cumsum(ways[size, ::-1])[::-1]
    return tail / tail[0]
