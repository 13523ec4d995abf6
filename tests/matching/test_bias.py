"""Promise of the bias figures: the gap is counted, its interval covers, the probe finds what was planted."""

import numpy as np
import pytest

from mobilebert_matching.evaluation.bias_measures import length_features, length_probe, tpr_gap
from mobilebert_matching.evaluation.metrics import auc, bootstrap
from mobilebert_runtime.errors import DataError


def pairs_of(lengths):
    return [(" ".join("w" * a), " ".join("w" * b)) for a, b in lengths]


def world(seed, count=3000):
    """Pairs whose label says nothing of their lengths."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 25, (count, 2))
    return rng, pairs_of(lengths), lengths, rng.integers(0, 2, count)


def test_the_gap_is_the_difference_of_two_shares():
    labels = np.array([1, 1, 1, 1, 1, 1, 0, 0, 1])
    predictions = np.array([1, 1, 1, 0, 1, 0, 1, 0, 0])
    category = np.array([1, 1, 1, 1, 4, 4, 1, 4, 2])
    gap = tpr_gap(labels, predictions, category)
    assert (gap.value, gap.count) == (3 / 4 - 1 / 2, 6)
    gap = tpr_gap(*(np.tile(part, 5) for part in (labels, predictions, category)))
    assert (gap.value, gap.count) == (3 / 4 - 1 / 2, 30)
    assert gap.low < gap.value < gap.high


@pytest.mark.parametrize("few", [1, 4])
def test_a_gap_of_fewer_than_ten_positives_in_a_category_has_no_interval(few):
    category = np.repeat([few, 5 - few], [9, 50])
    gap = tpr_gap(np.ones(59, int), np.ones(59, int), category)
    assert (gap.value, gap.low, gap.high) == (0, None, None)
    gap = tpr_gap(np.ones(60, int), np.r_[0, np.ones(59, int)], np.r_[few, category])
    assert gap.low < gap.value < gap.high


def test_the_interval_of_the_gap_is_that_of_resampled_positives():
    rng = np.random.default_rng(0)
    labels, predictions, category = rng.integers(0, 2, 900), rng.integers(0, 2, 900), rng.integers(1, 5, 900)
    rows = np.flatnonzero((labels == 1) & np.isin(category, (1, 4)))

    def gap(drawn):
        hit, place = predictions[rows[drawn]], category[rows[drawn]]
        return hit[place == 1].mean() - hit[place == 4].mean()

    expected = bootstrap(gap, len(rows), resamples=2000)
    found = tpr_gap(labels, predictions, category)
    np.testing.assert_allclose((found.low, found.high), expected, atol=0.02)


def test_the_gap_of_nothing_is_none():
    gap = tpr_gap(np.array([1, 0]), np.array([1, 1]), np.array([1, 4]))
    assert (gap.value, gap.low, gap.high, gap.count) == (None, None, None, 1)
    with pytest.raises(DataError):
        tpr_gap(np.array([1, 2]), np.array([1, 1]), np.array([1, 4]))


def test_the_interval_of_the_gap_covers_the_truth_in_19_of_20_samples():
    rng, truth, covered = np.random.default_rng(0), 0.8 - 0.7, 0
    for seed in range(200):
        category = np.repeat([1, 4], [300, 150])
        predictions = (rng.random(450) < np.where(category == 1, 0.8, 0.7)).astype(int)
        gap = tpr_gap(np.ones(450, int), predictions, category, resamples=500, seed=seed)
        covered += gap.low <= truth <= gap.high
    assert 181 <= covered <= 198  # 95%, three standard deviations


def test_features_by_hand():
    np.testing.assert_array_equal(
        length_features([("a b c", "d"), ("a", "b c")]), [[3, 1, 2, 2, 1, 3], [1, 2, 1, 1, 1, 2]]
    )


def test_the_probe_is_at_chance_for_errors_that_lengths_do_not_cause():
    above = {"error": 0, "false_negative": 0, "label": 0}
    for seed in range(10):
        rng, pairs, _, labels = world(seed, 600)
        wrong = rng.random(len(pairs)) < 0.2
        found = length_probe(pairs, labels, np.where(wrong, 1 - labels, labels), 0.5, draws=0)
        for question in above:
            above[question] += not found[question]["at_chance"]
    assert max(above.values()) <= 2  # 2.5% expected of each; three or more of 10: 1 in 600


def test_the_probe_finds_a_matcher_that_leans_on_lengths():
    rng, pairs, lengths, labels = world(1)
    divergence = np.abs(lengths[:, 0] - lengths[:, 1]) / lengths.min(1)
    evidence = 3.0 * (2 * labels - 1) + 2.0 * rng.normal(size=len(labels))
    for strength, biased in ((0.0, False), (1.5, True)):
        probabilities = 1 / (1 + np.exp(-evidence + strength * (divergence - np.median(divergence))))
        found = length_probe(pairs, labels, probabilities, 0.5, draws=0)
        assert found["false_negative"]["at_chance"] is not biased
        assert found["label"]["at_chance"]
        wrong = labels != (probabilities >= 0.5)
        assert found["error"]["positives"] == found["false_negative"]["pairs"] == wrong.sum()
        assert found["false_negative"]["positives"] == (wrong & (labels == 1)).sum()


def test_where_lengths_give_labels_away_errors_blind_to_lengths_are_told_apart_as_the_draws_say():
    inside, above, leaning = 0, 0, []
    for seed in range(6):
        rng, pairs, lengths, _ = world(seed, 1200)
        labels = (rng.random(len(pairs)) < 1 / (1 + np.exp((26 - lengths.sum(1)) / 12))).astype(int)
        wrong = rng.random(len(pairs)) < np.where(labels == 1, 0.25, 0.15)
        found = length_probe(pairs, labels, np.where(wrong, 1 - labels, labels), 0.5, seed, draws=40)
        blind, (low, high) = found["length_blind"]["auc"], found["length_blind"]["interval"]
        assert abs(blind - found["label"]["auc"]) < 0.04  # both are what lengths know of the labels
        above += not found["false_negative"]["at_chance"]
        inside += low <= found["false_negative"]["auc"] <= high
        # A matcher that calls short texts different and long ones the same.
        leans = (lengths.sum(1) < 26) == (labels == 1)
        found = length_probe(pairs, labels, np.where(wrong & leans, 1 - labels, labels), 0.5, seed, draws=40)
        leaning.append(found["false_negative"]["auc"] > found["length_blind"]["interval"][1])
    assert above == 6  # though lengths have no part in them
    assert inside >= 4  # 95% expected; three or fewer of six: 1 in 400
    assert all(leaning)


def test_the_interval_holds_the_auc_of_scores_it_was_made_from():
    _, pairs, lengths, _ = world(2, 400)
    labels = (lengths[:, 0] > lengths[:, 1]).astype(int)  # the probe can know this
    found = length_probe(pairs, labels, np.zeros(400), 0.5)["label"]
    assert 0.9 < found["interval"][0] <= found["auc"] <= found["interval"][1] <= 1.0
    assert found["auc"] <= auc(labels, lengths[:, 0] - lengths[:, 1])


def test_the_threshold_is_the_matchers():
    _, pairs, _, labels = world(3, 200)
    found = length_probe(pairs, labels, np.full(200, 0.4), 0.4)
    assert found["error"]["positives"] == (labels == 0).sum()
    assert found["false_negative"] == {
        "pairs": int((labels == 0).sum()),
        "positives": 0,
        "auc": None,
        "interval": None,
        "at_chance": None,
    }
    assert found["length_blind"] == {"auc": None, "interval": None}


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(DataError, match="2 pairs, 2 labels, 3 probabilities"):
        length_probe(pairs_of([(1, 1), (2, 2)]), np.array([0, 1]), np.zeros(3), 0.5)
