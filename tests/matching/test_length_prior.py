"""Promise of the length prior: Bayes by enumeration, in float64, gives the same debiased odds."""

import itertools

import numpy as np
import pytest

from mobilebert_matching.data.labelled_pairs import read_split
from mobilebert_matching.length_bias.length_divergence import Quartiles, pairwise
from mobilebert_matching.length_bias.length_prior import FEWEST, LengthPrior, adjusted, too_few
from mobilebert_runtime.errors import DataError

RNG = np.random.default_rng(0)


def text(words):
    return " ".join(["w"] * words)


def pairs_of(lengths):
    return [(text(a), text(b)) for a, b in lengths]


def biased(count=4000):
    """Pairs whose label 1 becomes rarer with the length divergence."""
    lengths = RNG.integers(1, 20, (count, 2))
    divergence = pairwise(*lengths.T)
    labels = (RNG.random(count) < 0.7 / (1 + divergence)).astype(int)
    return pairs_of(lengths), labels, divergence


def test_log_odds_are_counts():
    pairs, labels, divergence = biased()
    prior = LengthPrior.fit(pairs, labels)
    cuts = np.quantile(divergence, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(prior.quartiles.as_list(), cuts)
    edges = [-np.inf, *cuts, np.inf]
    for i, (low, high) in enumerate(itertools.pairwise(edges)):
        inside = (divergence > low) & (divergence <= high)
        share = labels[inside].mean()
        assert prior.log_odds[i] == pytest.approx(np.log(share / (1 - share)), rel=1e-12)
        np.testing.assert_array_equal(prior.category(pairs)[inside], i + 1)
    assert prior.overall == pytest.approx(np.log(labels.mean() / (1 - labels.mean())), rel=1e-12)
    np.testing.assert_allclose(prior.of(pairs) + prior.shift(pairs), prior.overall)
    assert prior.to_json() == {
        "quartiles": prior.quartiles.as_list(),
        "log_odds": list(prior.log_odds),
        "overall_log_odds": prior.overall,
    }


def test_a_scaled_prior_shifts_by_that_share():
    pairs, labels, _ = biased()
    prior = LengthPrior.fit(pairs, labels)
    np.testing.assert_allclose(prior.scaled(0.3).shift(pairs), 0.3 * prior.shift(pairs), atol=1e-12)
    assert prior.scaled(0.3).overall == prior.overall


def test_a_category_with_less_than_ten_pairs_of_a_label_is_named():
    """Forty pairs in each of four categories, of which CAT3 has `same` pairs of label 1."""
    pairs = pairs_of([(4, 4 + extra) for extra in (0, 1, 4, 8) for _ in range(40)])
    for same in (FEWEST, FEWEST - 1, 0):
        labels = np.tile(np.arange(40) % 2, 4)
        labels[80:120] = np.arange(40) < same
        said = too_few(pairs, labels)
        assert said == (None if same == FEWEST else f"CAT3 has {same} pairs of label 1, 10 are needed")


def test_the_shift_is_bayes_by_enumeration():
    """A world of 4 categories × 5 things seen in each: every probability is a sum of joint ones."""
    rng = np.random.default_rng(1)
    seen_given = rng.dirichlet(np.ones(5), (2, 4))  # p(x | y, c)
    label_given = rng.uniform(0.1, 0.9, 4)  # p(1 | c)
    of_category = rng.dirichlet(np.ones(4))  # p(c)
    label = np.stack([1 - label_given, label_given])  # (2, 4)
    joint = seen_given * (label * of_category)[:, :, None]  # p(y, c, x)
    overall = joint[1].sum() / joint.sum()
    level = np.array([1 - overall, overall])[:, None] * of_category  # q(y, c): the overall ratio everywhere
    target = seen_given * level[:, :, None]
    expected = np.log(target[1] / target[0])  # (4, 5)
    prior = LengthPrior(
        Quartiles(0.0, 1.0, 2.0),
        tuple(np.log(label_given / (1 - label_given))),
        np.log(overall / (1 - overall)),
    )
    pairs = pairs_of([(3, 3), (2, 3), (2, 6), (2, 9)])  # Δ = 0, 0.5, 2, 3.5: one of each category but CAT3
    pairs[2] = (text(2), text(5))  # Δ = 1.5
    np.testing.assert_array_equal(prior.category(pairs), [1, 2, 3, 4])
    logits = np.log(joint).transpose(1, 2, 0)  # (4, 5, 2): any model of p, here the exact one
    found = adjusted(logits.reshape(20, 2), np.repeat(prior.shift(pairs), 5))  # (4, 5, 2) → (20, 2)
    np.testing.assert_allclose((found[:, 1] - found[:, 0]).reshape(4, 5), expected, rtol=1e-12)
    weight = prior.weight([pair for pair in pairs for _ in range(5)], logits.reshape(20, 2))
    np.testing.assert_allclose(weight.reshape(4, 5), target.sum(0) / joint.sum(0), rtol=1e-12)
    # What a student learns that tells no pairs of a category apart: the overall ratio, by weight only.
    shifted = target[1] / target.sum(0)  # (4, 5)
    seen = joint.sum(0)
    blind = (shifted * seen * weight.reshape(4, 5)).sum(1) / (seen * weight.reshape(4, 5)).sum(1)
    np.testing.assert_allclose(blind, overall, rtol=1e-12)
    assert np.abs((shifted * seen).sum(1) / seen.sum(1) - overall).max() > 0.01


def test_the_shift_levels_a_set_that_a_calibrated_model_describes():
    """The mean of the debiased probability, in a category weighted to the overall ratio, is that ratio."""
    pairs, labels, _ = biased()
    prior = LengthPrior.fit(pairs, labels)
    logits = np.stack([np.zeros(len(pairs)), prior.of(pairs)], axis=1)  # the model that knows lengths alone
    found = adjusted(logits, prior.shift(pairs))
    probability = 1 / (1 + np.exp(found[:, 0] - found[:, 1]))
    np.testing.assert_allclose(probability, labels.mean(), rtol=1e-12)


def test_strength_goes_from_the_model_to_bayes():
    logits, shift = np.array([[1.0, 2.0], [0.5, -1.0]], np.float32), np.array([0.25, -2.0])
    before = logits.copy()
    np.testing.assert_array_equal(adjusted(logits, shift, strength=0.0), before)
    np.testing.assert_allclose(adjusted(logits, shift, strength=0.5), [[1.0, 2.125], [0.5, -2.0]])
    assert adjusted(logits, shift).dtype == np.float32
    np.testing.assert_array_equal(logits, before)


def test_equal_lengths_have_one_category_and_no_shift():
    pairs = pairs_of([(3, 3)] * 5)
    prior = LengthPrior.fit(pairs, np.array([0, 1, 1, 1, 0]))
    np.testing.assert_array_equal(prior.shift([*pairs, ("a", "b c d")]), 0.0)


@pytest.mark.parametrize(
    ("lengths", "labels", "message"),
    [
        ([(1, 1), (1, 2)], [0, 2], "expected one label a pair, 0 or 1"),
        ([(1, 1), (1, 2)], [0], "expected one label a pair"),
        ([(1, 1), (1, 1), (1, 5), (1, 5)], [0, 1, 1, 1], "CAT. has 2 pairs of label 1 and 0 of label 0"),
    ],
)
def test_labels_without_odds_are_refused(lengths, labels, message):
    with pytest.raises(DataError, match=message):
        LengthPrior.fit(pairs_of(lengths), np.array(labels))


@pytest.mark.parametrize(("logits", "shift"), [((3, 3), 3), ((3,), 3), ((3, 2), 2)])
def test_logits_of_another_shape_are_refused(logits, shift):
    with pytest.raises(DataError, match="two classes"):
        adjusted(np.zeros(logits), np.zeros(shift))
    prior = LengthPrior(Quartiles(0.0, 1.0, 2.0), (0.0, 0.0, 0.0, 0.0), 0.0)
    with pytest.raises(DataError, match="two classes"):
        prior.weight([("a", "b")] * shift, np.zeros(logits))


def test_qqp_pairs_of_diverging_lengths_are_rarely_of_label_1(shared_data):
    prior = LengthPrior.fit(*read_split(shared_data / "data" / "qqp", "train"))
    assert min(prior.log_odds[:3]) > prior.overall > prior.log_odds[3]
    same, diverging = ("one two three", "four five six"), ("one", "two three four five six")
    near, far = prior.shift([same, diverging])
    assert near < 0 < far
