"""Promise of calibration without labels: no more than the share that was asked for becomes a false match."""

import numpy as np
import pytest
from scipy.special import logit

from mobilebert_matching.evaluation.unlabelled_calibration import nearest_others, threshold_without_labels
from mobilebert_runtime.errors import DataError


@pytest.mark.parametrize("share", [0.01, 0.05, 0.3])
def test_just_the_share_are_matches_and_the_threshold_is_as_far_from_both_its_neighbours(share):
    scores = np.random.default_rng(0).random(1000)
    threshold = threshold_without_labels(scores, share)
    assert (scores >= threshold).mean() == pytest.approx(share)
    lower, higher = scores[scores < threshold].max(), scores[scores >= threshold].min()
    assert logit(threshold) - logit(lower) == pytest.approx(logit(higher) - logit(threshold))


def test_equal_scores_are_all_matches_or_none():
    scores = np.array([0.2] * 50 + [0.9] * 10 + [0.5] * 40)
    assert threshold_without_labels(scores, 0.1) == pytest.approx(0.75)  # of log-odds 0 and log 9
    assert 0.9 < threshold_without_labels(scores, 0.05) < 0.91


def test_each_text_meets_the_nearest_other_one_of_all_though_few_are_scored():
    vectors = np.random.default_rng(0).normal(size=(500, 12))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    left, right = nearest_others(vectors, 40).T
    assert len(left) == 40
    assert (left[0], left[-1]) == (0, 499)
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -2)
    assert np.array_equal(right, similarity.argmax(1)[left])
    assert len(nearest_others(vectors)) == 500


def test_too_few_texts_and_texts_that_are_stored_twice_are_refused():
    with pytest.raises(DataError, match="12 different texts; expected at least 50"):
        threshold_without_labels(np.arange(12) / 20, 0.02)
    with pytest.raises(DataError, match="more than 2 of 100 texts score 1"):
        threshold_without_labels(np.r_[np.ones(40), np.zeros(60)], 0.02)
