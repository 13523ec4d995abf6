"""Promise of calibration without labels: a domain's own unlike pairs put the threshold where it is right."""

import numpy as np
import pytest

from mobilebert_matching.evaluation.unlabelled_calibration import (
    UnlikeScores,
    fit_place,
    nearest_others,
    threshold_without_labels,
)
from mobilebert_runtime.errors import DataError

# Location and spread of unlike pairs.
DOMAINS = ((-6.0, 1.0), (-2.0, 0.5), (1.0, 2.0), (-3.0, 1.5), (0.0, 0.8))


def scores(location, spread, count=4000, seed=0):
    """Log-odds of unlike pairs, and of matches that lie four spreads higher with half more spread."""
    draw = np.random.default_rng((seed, int(100 * location) + 10_000))
    unlike = draw.normal(location, spread, count)
    return unlike, draw.normal(location + 4 * spread, 1.5 * spread, count)


def accuracy(unlike, alike, log_odds):
    return ((unlike < log_odds).mean() + (alike >= log_odds).mean()) / 2


def equal_error(unlike, alike):
    cuts = np.linspace(unlike.min(), alike.max(), 4001)
    gaps = [abs((unlike >= c).mean() - (alike < c).mean()) for c in cuts]
    return float(cuts[int(np.argmin(gaps))])


@pytest.mark.parametrize("left_out", range(len(DOMAINS)))
def test_a_domain_that_was_left_out_gets_its_threshold_from_unlike_pairs_alone(left_out):
    known = [scores(*domain) for k, domain in enumerate(DOMAINS) if k != left_out]
    place = fit_place([(unlike, equal_error(unlike, alike)) for unlike, alike in known])
    unlike, alike = scores(*DOMAINS[left_out], seed=1)
    probability = threshold_without_labels(unlike, place)
    found = accuracy(unlike, alike, np.log(probability / (1 - probability)))
    best = accuracy(unlike, alike, equal_error(unlike, alike))
    assert found > best - 0.01
    # One threshold for all domains, the mean of the others', is what this is to be better than.
    mean = np.mean([equal_error(*pair) for pair in known])
    assert found > accuracy(unlike, alike, mean)


def test_duplicates_among_the_stored_texts_do_little_harm():
    unlike, alike = scores(-2.0, 1.0)
    clean = threshold_without_labels(unlike, 1.6)
    with_duplicates = threshold_without_labels(np.concatenate([unlike, alike[: len(unlike) // 10]]), 1.6)
    places = [np.log(p / (1 - p)) for p in (clean, with_duplicates)]
    assert abs(places[0] - places[1]) < 0.5
    means = [values.mean() + 1.6 * values.std() for values in (unlike, np.r_[unlike, alike[:400]])]
    assert abs(places[0] - places[1]) < abs(means[0] - means[1]) / 2


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


def test_too_few_texts_and_texts_of_one_score_are_refused():
    with pytest.raises(DataError, match="12 different texts; expected at least 30"):
        UnlikeScores.of(np.arange(12.0))
    with pytest.raises(DataError, match="more than half"):
        threshold_without_labels(np.r_[np.zeros(40), np.arange(20.0)], 1.0)
    with pytest.raises(DataError, match="no domain"):
        fit_place([])
