"""Metrics against hand-made cases, brute force and scikit-learn's and trec_eval's own definitions."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilebert_matching.evaluation import metrics


def brute_average_precision(ranked_labels):
    hits, total = 0, 0.0
    for rank, label in enumerate(ranked_labels, 1):
        if label:
            hits += 1
            total += hits / rank
    return total / hits


def test_import_is_light():
    heavy = "{'torch', 'sklearn', 'scipy', 'pyarrow'}"
    modules = "mobilebert_matching.evaluation.metrics, mobilebert_matching.data.pairs"
    code = f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "[]\n"


def test_classification_by_hand():
    labels = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    probabilities = np.array([0.9, 0.8, 0.2, 0.7, 0.1, 0.1, 0.3, 0.4])
    found = metrics.classification(labels, probabilities)
    # TP 2, FN 1, FP 1, TN 4.
    assert found["pairs"] == 8
    assert found["accuracy"] == found["f1_micro"] == 6 / 8
    assert found["balanced_accuracy"] == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert found["f1_macro"] == pytest.approx((2 * 2 / (2 * 2 + 2) + 2 * 4 / (2 * 4 + 2)) / 2)
    wins = [(p > n) + 0.5 * (p == n) for p in probabilities[labels == 1] for n in probabilities[labels == 0]]
    assert found["auc"] == pytest.approx(np.mean(wins))


def test_one_class_is_said_not_guessed():
    found = metrics.classification(np.ones(4), np.full(4, 0.9))
    assert found["auc"] is None
    assert found["balanced_accuracy"] is None
    with pytest.raises(metrics.DataError, match="needs two classes"):
        metrics.auc(np.ones(4), np.arange(4))


def test_threshold_is_inclusive():
    assert metrics.classification(np.array([1, 0]), np.array([0.6, 0.4]), threshold=0.6)["accuracy"] == 1


def test_calibration_error():
    # 10 pairs said with 0.8 of which 8 are right, 10 with 0.9 (as p = 0.1) of which 5 are right.
    probabilities = np.array([0.8] * 10 + [0.1] * 10)
    labels = np.array([1] * 8 + [0] * 2 + [0] * 5 + [1] * 5)
    assert metrics.expected_calibration_error(labels, probabilities) == pytest.approx(0.5 * 0 + 0.5 * 0.4)
    assert metrics.expected_calibration_error(np.array([1, 0]), np.array([1.0, 0.0])) == 0
    with pytest.raises(metrics.DataError, match="expected 0 to 1"):
        metrics.expected_calibration_error(np.array([1, 0]), np.array([3.0, -1.0]))


def test_calibration_bins_are_closed_on_the_right():
    labels = np.array([1, 0])
    probabilities = np.array([0.5, 0.75])  # 0.75 is the edge of the bins (0.5, 0.75] and (0.75, 1] of 4
    # Bins (0.25, 0.5]: gap 1 - 0.5; (0.5, 0.75]: gap 0 - 0.75.
    assert metrics.expected_calibration_error(labels, probabilities, bins=4) == pytest.approx(
        (0.5 + 0.75) / 2
    )


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=25
    ).filter(lambda rows: any(label for _, label, _ in rows))
)
def test_ranking_equals_the_worst_order_of_ties(rows):
    groups, labels, scores = (np.array(column) for column in zip(*rows, strict=True))
    found = metrics.ranking(labels, scores, [f"q{g}" for g in groups])
    precision, reciprocal = [], []
    for group in dict.fromkeys(groups.tolist()):
        mine = groups == group
        if labels[mine].any():
            order = sorted(zip(-scores[mine], labels[mine], strict=True))
            ranked = [label for _, label in order]
            precision.append(brute_average_precision(ranked))
            reciprocal.append(1 / (ranked.index(1) + 1))
    assert found.queries == len(precision)
    assert found.queries + found.without_relevant == len(set(groups.tolist()))
    np.testing.assert_allclose(found.average_precision, precision, rtol=1e-6)
    np.testing.assert_allclose(found.reciprocal_rank, reciprocal, rtol=1e-6)
    assert found.map == pytest.approx(np.mean(precision))
    assert found.mrr == pytest.approx(np.mean(reciprocal))


def test_ties_are_never_better_than_any_order_of_them():
    labels = np.array([1, 0, 1, 0, 0])
    found = metrics.ranking(labels, np.zeros(5), ["q"] * 5)
    every = [brute_average_precision(order) for order in set(itertools.permutations(labels.tolist()))]
    assert found.map == pytest.approx(min(every))


def test_constant_scores_earn_nothing_even_when_the_relevant_come_first_in_the_file():
    labels = np.array([1] + [0] * 9)
    found = metrics.ranking(labels, np.full(10, 0.5), ["q"] * 10)
    assert found.map == found.mrr == pytest.approx(0.1)
    assert metrics.ranking(labels, np.arange(10)[::-1], ["q"] * 10).map == 1.0


def test_scores_equal_in_float32_are_still_apart():
    scores = np.array([1.0 + 1e-12, 1.0])
    assert metrics.ranking(np.array([1, 0]), scores, [7, 7]).map == 1.0


def test_ranking_without_relevant_documents():
    found = metrics.ranking(np.array([0, 1]), np.array([1.0, 0.0]), ["none", "one"])
    assert (found.map, found.queries, found.without_relevant) == (1.0, 1, 1)
    with pytest.raises(metrics.DataError, match="no query has a relevant"):
        metrics.ranking(np.zeros(3), np.arange(3), ["q"] * 3)


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([], [], "N ≥ 1"),
        ([0, 1], [0.5], "shape"),
        ([0, 2], [0.5, 0.5], "expected 0 and 1"),
        ([0, 1], [0.5, math.nan], "NaN"),
        ([0, 1], [0.5, math.inf], "infinite"),
    ],
)
def test_bad_input(labels, scores, message):
    with pytest.raises(metrics.DataError, match=message) as error:
        metrics.classification(np.array(labels), np.array(scores))
    assert error.value.exit_code == 2


def test_true_positive_rate_by_category():
    labels = np.array([1, 1, 1, 1, 0, 0])
    predictions = np.array([1, 0, 1, 1, 1, 0])
    categories = np.array([1, 1, 2, 4, 4, 3])
    found = metrics.true_positive_rate(labels, predictions, categories)
    assert [found[c].value for c in range(1, 5)] == [0.5, 1.0, None, 1.0]
    assert [found[c].count for c in range(1, 5)] == [2, 1, 0, 1]
    assert (found[3].low, found[3].high) == (0.0, 1.0)


def test_wilson_textbook_value():
    # Newcombe 1998, Table I: 15 of 148, method 3.
    assert metrics.wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    with pytest.raises(metrics.DataError):
        metrics.wilson(3, 2)


@pytest.mark.parametrize(("hits", "count"), [(0, 2000), (3, 2000), (40, 2000), (1, 7), (7, 7)])
def test_wilson_formula(hits, count):
    """Wilson 1927, for few hits, for none and for all."""
    share, square = hits / count, 1.959964**2 / count
    centre = (share + square / 2) / (1 + square)
    half = 1.959964 / (1 + square) * np.sqrt(share * (1 - share) / count + square / (4 * count))
    assert metrics.wilson(hits, count) == pytest.approx((centre - half, centre + half), abs=1e-6)


def test_bootstrap_covers_and_repeats():
    values = np.random.default_rng(1).normal(size=400)
    low, high = metrics.bootstrap(lambda rows: values[rows].mean(), 400, resamples=400)
    assert (low, high) == metrics.bootstrap(lambda rows: values[rows].mean(), 400, resamples=400)
    assert high - low == pytest.approx(2 * 1.96 / 20, rel=0.15)
