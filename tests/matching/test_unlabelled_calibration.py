"""Promise of calibration without labels: no more than the share that was asked for becomes a false match."""

import numpy as np
import pytest

from mobilebert_matching.evaluation.unlabelled_calibration import nearest_others, threshold_without_labels
from mobilebert_runtime.errors import DataError


@pytest.mark.parametrize("share", [0.01, 0.05, 0.3])
def test_no_more_than_the_share_are_matches_and_no_lower_threshold_does_that(share):
    scores = np.random.default_rng(0).random(1000)
    threshold = threshold_without_labels(scores, share)
    assert (scores >= threshold).mean() == pytest.approx(share)
    assert (scores >= np.nextafter(threshold, 0)).mean() > share


def test_equal_scores_are_all_matches_or_none():
    scores = np.array([0.2] * 50 + [0.9] * 10 + [0.5] * 40)
    assert 0.5 < threshold_without_labels(scores, 0.1) < 0.51
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
