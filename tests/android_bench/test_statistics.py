"""The gate's statistics against SciPy and brute force; its error rates on a simulated noisy machine."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from android_bench.measuring import statistics
from tests.helpers.simulated_machine import session_medians


@pytest.mark.parametrize("n", [5, 7, 12])
def test_signed_rank_test_is_the_exact_wilcoxon_test(n):
    generator = np.random.default_rng(n)
    base, candidate = np.exp(generator.normal(size=(50, n))), np.exp(generator.normal(0.8, size=(50, n)))
    difference = np.log(candidate) - np.log(base)
    expected = stats.wilcoxon(difference, alternative="greater", method="exact", axis=1).pvalue
    np.testing.assert_allclose(statistics.signed_rank_test(base, candidate), expected, rtol=1e-12)


def test_signed_rank_test_stays_exact_with_ties():
    base, candidate = np.ones(6), np.exp([1.0, 1.0, -1.0, 2.0, 2.0, 0.0])
    ranks = stats.rankdata([1, 1, 1, 2, 2, 0]) * (candidate != 1)  # the pair without a difference is out
    sums = [np.dot(ranks, signs) for signs in product((0, 1), repeat=6)]
    expected = np.mean(np.array(sums) >= ranks[candidate > 1].sum())
    assert statistics.signed_rank_test(base, candidate) == pytest.approx(expected, rel=1e-12)
    assert statistics.signed_rank_test(np.ones(7), np.ones(7)) == 1


def test_ratio_and_its_interval():
    generator = np.random.default_rng(0)
    base, candidate = np.exp(generator.normal(size=9)), 1.1 * np.exp(generator.normal(size=9))
    logs = np.log(candidate / base)
    averages = [(logs[i] + logs[j]) / 2 for i in range(9) for j in range(i, 9)]
    assert statistics.ratio(base, candidate) == pytest.approx(np.exp(np.median(averages)))
    assert statistics.ratio(base, 2 * base) == pytest.approx(2)
    low, high = statistics.ratio_interval(base, candidate)
    assert low < statistics.ratio(base, candidate) < high
    assert statistics.ratio_interval([1.0, 2.0], [1.0, 2.0]) == (0.0, float("inf"))


def test_what_a_round_shares_cancels():
    """The machine is up to three times slower in some rounds; the 5% between the two stay 5%."""
    slowdown = np.exp(np.random.default_rng(0).uniform(0, np.log(3), 7))
    assert statistics.ratio(10 * slowdown, 10.5 * slowdown) == pytest.approx(1.05)
    assert statistics.verdict(10 * slowdown, 10.5 * slowdown) == "regression"
    assert statistics.verdict(10 * slowdown, 10.1 * slowdown) == "pass"


def test_interval_and_test_agree_and_cover():
    """The lower bound passes 1 exactly when p ≤ 0.01, and 98% of intervals hold the true ratio."""
    generator = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        base, candidate = np.exp(0.02 * generator.normal(size=(2, 7)))
        low, high = statistics.ratio_interval(base, 1.03 * candidate)
        held += low <= 1.03 <= high
        assert (low > 1) == (statistics.signed_rank_test(base, 1.03 * candidate) <= statistics.P_LIMIT)
    assert held >= 0.97 * 400


def test_summary():
    summary = statistics.summarise([[5.0, 1.0], [3.0, 2.0], [4.0, 100.0]])
    assert (summary.count, summary.minimum, summary.p50) == (6, 1.0, 3.5)
    assert summary.p50 < summary.p90 < summary.p99 < 100
    with pytest.raises(ValueError, match="no samples"):
        statistics.summarise([])


def test_contenders_take_turns_forwards_and_backwards():
    assert "".join("AB"[i] for i in statistics.interleaved(2, 4)) == "ABBAABBA"
    assert statistics.interleaved(3, 2) == [0, 1, 2, 2, 1, 0]
    order = np.array(statistics.interleaved(2, 8))
    assert np.flatnonzero(order == 0).mean() == np.flatnonzero(order == 1).mean(), "linear drift cancels"


def rates(slowdown: float, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """Shares of verdicts after 7 + 7 sessions, and after extending what was inconclusive to 14 + 14."""
    base, candidate = session_medians(3000, slowdown=slowdown, seed=seed, sessions=14)
    first = statistics.verdict(base[:, :7], candidate[:, :7])
    final = np.where(first == "inconclusive", statistics.verdict(base, candidate), first)
    kinds = "pass", "regression", "inconclusive"
    shares = [{kind: float((found == kind).mean()) for kind in kinds} for found in (first, final)]
    return shares[0], shares[1]


def test_gate_rarely_cries_wolf_and_sees_eight_percent():
    """2% session noise, bad neighbours, drift, autocorrelated inferences, outliers; fixed seeds."""
    equal_first, equal = rates(0.0, seed=1)
    slower_first, slower = rates(0.08, seed=2)
    assert equal_first["regression"] <= 0.01
    assert equal["regression"] <= 0.01
    assert equal["pass"] >= 0.99
    assert slower["regression"] >= 0.99
    assert slower_first["pass"] <= 0.01, "already 7 + 7 sessions do not let 8% through"
    assert slower["pass"] <= 0.01


def test_pooling_inferences_would_cry_wolf():
    """Why the session is the unit: a rank test over all inferences of equal artefacts fails all the time."""
    base, candidate = session_medians(200, slowdown=0.0, seed=3, pooled=True)
    p = stats.mannwhitneyu(candidate, base, alternative="greater", axis=1).pvalue
    assert (p < 0.01).mean() > 0.2
