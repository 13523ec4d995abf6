"""Promise: a teacher of frozen vectors scores what it has not seen, and its word is mixed with labels."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import expit, softmax

from mobilebert_matching.data.labelled_pairs import LabelledPairs
from mobilebert_matching.length_bias.length_prior import LengthPrior
from mobilebert_runtime.errors import OptionError
from mobilebert_training.distillation.distillation_data import DistillationData
from studies.qqp_teacher.vector_teacher import (
    VectorTeacher,
    VectorTeacherConfig,
    draw_alike,
    mixed_targets,
    pair_features,
)
from tests.helpers.biased_data import rows

SMALL = VectorTeacherConfig(hidden=16, folds=3, epochs=30, batch_size=32, learning_rate=1e-2, dropout=0.1)


def biased_pairs(count=400, seed=0):
    found = rows(count, seed, longer_negatives=True)
    return LabelledPairs([(a, b) for _, a, b in found], np.array([label for label, *_ in found]))


def clustered(texts=120, size=8, seed=0):
    """Unit vectors about four centres, and pairs of which those of one centre are the same."""
    rng = np.random.default_rng(seed)
    centre = np.arange(texts) % 4
    vectors = rng.normal(size=(4, size))[centre] + 0.3 * rng.normal(size=(texts, size))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    first = rng.integers(0, texts, 300)
    near = (first + 4 * rng.integers(1, 5, 300)) % texts
    second = np.where(rng.random(300) < 0.5, near, rng.integers(0, texts, 300))
    labels = (centre[first] == centre[second]).astype(np.int64)
    return vectors.astype(np.float16), np.stack([first, second], 1), labels


def test_features_do_not_depend_on_the_order():
    left, right = torch.randn(2, 5, 8).unbind()
    features = pair_features(left, right)
    assert features.shape == (5, 17)
    assert torch.equal(features, pair_features(right, left))


def test_the_teacher_learns_what_vectors_tell_and_is_the_same_again():
    vectors, pairs, labels = clustered()
    teacher = VectorTeacher.fit(vectors, pairs[:200], labels[:200], SMALL)
    assert ((teacher.held_out > 0) == labels[:200]).mean() > 0.85
    unseen = teacher.log_odds(vectors, pairs[200:])
    assert ((unseen > 0) == labels[200:]).mean() > 0.85
    again = VectorTeacher.fit(vectors, pairs[:200], labels[:200], SMALL)
    assert np.array_equal(again.held_out, teacher.held_out)


def test_no_pair_is_scored_by_a_network_that_saw_its_label():
    """Labels by chance cannot be foretold, but are remembered by a network that has seen them."""
    vectors, pairs, _ = clustered()
    labels = np.random.default_rng(1).integers(0, 2, 300)
    config = replace(SMALL, hidden=64, dropout=0.0, epochs=60)
    teacher = VectorTeacher.fit(vectors, pairs, labels, config)
    assert ((teacher.held_out > 0) == labels).mean() < 0.6
    assert ((teacher.log_odds(vectors, pairs) > 0) == labels).mean() > 0.7


def test_too_few_folds_or_pairs_are_refused():
    with pytest.raises(OptionError, match="folds 1"):
        VectorTeacherConfig(folds=1)
    vectors, pairs, labels = clustered()
    with pytest.raises(OptionError, match="2 pairs in 3 folds"):
        VectorTeacher.fit(vectors, pairs[:2], labels[:2], SMALL)


def test_drawn_candidates_are_spread_as_the_other_pairs():
    rng = np.random.default_rng(0)
    like = rng.integers(1, 3, 4000), rng.normal(size=4000)
    groups, scores = rng.integers(1, 4, 40_000), rng.normal(1.0, 2.0, 40_000)
    chosen = draw_alike(groups, scores, like, 2000)
    assert len(chosen) == len(set(chosen)) == pytest.approx(2000, abs=20)
    assert set(groups[chosen]) == {1, 2}
    for group in (1, 2):
        assert (groups[chosen] == group).mean() == pytest.approx((like[0] == group).mean(), abs=0.01)
    for edge in (-1.0, 0.0, 1.0):
        assert (scores[chosen] < edge).mean() == pytest.approx((like[1] < edge).mean(), abs=0.03)


def test_labels_are_mixed_into_the_word_on_labelled_pairs_only():
    train = biased_pairs()
    data = DistillationData(train, biased_pairs(60, seed=1).pairs, train)
    log_odds, known = np.linspace(-3, 3, len(data.pairs)), len(train.pairs)
    targets = mixed_targets(data, log_odds, 0.25, 0.0)
    share = softmax(targets.logits, axis=1)[:, 1]
    np.testing.assert_allclose(share[known:], expit(log_odds[known:]), rtol=1e-9)
    np.testing.assert_allclose(share[:known], 0.25 * train.labels + 0.75 * expit(log_odds[:known]), rtol=1e-9)
    assert (targets.weights == 1).all()
    debiased = mixed_targets(data, log_odds, 0.0, 1.0)
    shifted = expit(log_odds + LengthPrior.fit(*train).shift(data.pairs))
    np.testing.assert_allclose(softmax(debiased.logits, axis=1)[:, 1], shifted, rtol=1e-9)
    assert debiased.weights[:known].mean() == pytest.approx(1.0)
    assert (debiased.weights[known:] == 1).all()
    with pytest.raises(OptionError, match="label share 1"):
        mixed_targets(data, log_odds, 1.0, 1.0)
