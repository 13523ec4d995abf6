"""Promise of matching/calibration: temperature and threshold are the best on the data they are fitted to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, softmax

from mobilebert_matching.data.labelled_pairs import LabelledPairs
from mobilebert_matching.evaluation.score_calibration import (
    fit_debiased_settings,
    fit_settings,
    fit_temperature,
    fit_threshold,
    probabilities,
    reliable_threshold,
)
from mobilebert_matching.length_bias.length_divergence import Quartiles, pairwise
from mobilebert_matching.length_bias.length_prior import LengthPrior
from mobilebert_runtime.length_shift import LengthShift


def overconfident(count=4000, factor=3.0, seed=0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(count, 2))
    labels = (rng.random(count) < softmax(logits, axis=1)[:, 1]).astype(int)
    return logits * factor, labels


def test_temperature_undoes_overconfidence():
    logits, labels = overconfident()
    assert fit_temperature(logits, labels) == pytest.approx(3.0, rel=0.1)


def test_temperature_is_the_minimum_of_a_grid():
    logits, labels = overconfident(seed=1)
    grid = np.geomspace(0.2, 10, 400)
    nll = [-np.log(softmax(logits / t, axis=1)[np.arange(len(labels)), labels]).mean() for t in grid]
    assert fit_temperature(logits, labels) == pytest.approx(grid[np.argmin(nll)], rel=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_threshold_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 200)
    scores = np.round(np.clip(0.3 * labels + rng.random(200) * 0.7, 0, 1), 2)  # with ties
    best = max(((scores >= t) == labels).mean() for t in np.linspace(-0.001, 1.001, 5001))
    assert ((scores >= fit_threshold(scores, labels)) == labels).mean() == best


def test_threshold_of_separable_scores_lies_between_them():
    threshold = fit_threshold(np.array([0.1, 0.2, 0.7, 0.9]), np.array([0, 0, 1, 1]))
    assert 0.2 < threshold < 0.7


def test_few_pairs_choose_no_threshold_that_is_worse_elsewhere():
    """Of 100 true probabilities the most accurate threshold loses to 0.5; the one taken hardly does."""
    rng = np.random.default_rng(0)
    fitted, taken = [], []
    for _ in range(60):
        truth = rng.beta(1.5, 1.5, 100)
        labels = (rng.random(100) < truth).astype(int)
        for of, threshold in ((fitted, fit_threshold), (taken, reliable_threshold)):
            cut = threshold(truth, labels)
            # What 0.5 would get right more often, on average over such pairs: ∫ |2p − 1| of those between.
            elsewhere = rng.beta(1.5, 1.5, 20_000)
            between = (elsewhere >= min(cut, 0.5)) & (elsewhere < max(cut, 0.5))
            of.append(float(np.abs(2 * elsewhere[between] - 1).sum() / len(elsewhere)))
    assert np.mean(taken) < 0.5 * np.mean(fitted)


def test_a_threshold_far_from_a_half_is_found_where_the_scores_are_no_probabilities():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 200)
    scores = np.clip(0.1 + 0.3 * labels + rng.normal(0, 0.05, 200), 0, 1)
    assert reliable_threshold(scores, labels) == fit_threshold(scores, labels) < 0.4


def test_settings_of_three_classes_have_no_threshold_of_their_own():
    rng = np.random.default_rng(0)
    settings = fit_settings(rng.normal(size=(50, 3)), rng.integers(0, 3, 50))
    assert settings.labels == ("class 0", "class 1", "class 2")
    assert settings.threshold == 0.5


def biased_dev(count, seed, *, knows, last=2.0):
    """Pairs whose category moves the odds of label 1, and logits of a model that `knows` a share of that.

    The larger `last`, the more easily the labels of the last category are told apart.
    """
    rng = np.random.default_rng(seed)
    words = rng.integers(3, 12, (count, 2))
    pairs = [(" ".join("a" * int(n)), " ".join("b" * int(m))) for n, m in words]
    category = Quartiles.of(divergence := pairwise(*words.T)).category(divergence)
    labels = (rng.random(count) < expit(np.array([0.8, 0.2, -0.4, -1.2])[category - 1])).astype(np.int64)
    prior = LengthPrior.fit(pairs, labels)
    # Of x = ±m + noise of variance 2m the log-odds are x: 2 · m · x / 2m.
    mean = np.where(category == 4, last, 2.0)
    evidence = mean * (2 * labels - 1) + rng.normal(0, (2 * mean) ** 0.5, count)
    odds = evidence + prior.overall - knows * prior.shift(pairs)
    return LabelledPairs(pairs, labels), prior, np.stack([np.zeros(count), odds * 1.5], axis=1)


@pytest.mark.parametrize("knows", [1.0, 0.4, 0.0])
def test_the_length_shift_is_what_the_model_knows_of_lengths(knows):
    dev, prior, logits = biased_dev(40_000, 0, knows=knows)
    settings = fit_debiased_settings(logits, dev, prior)
    added = np.array(settings.length_shift["added"])
    np.testing.assert_allclose(added, knows * (prior.overall - np.array(prior.log_odds)), atol=0.06)
    assert settings.temperature == pytest.approx(1.5, rel=0.05)


def test_equal_recall_finds_as_many_in_the_category_that_is_easier():
    dev, prior, logits = biased_dev(20_000, 0, knows=1.0, last=3.5)
    held_out, _, unseen = biased_dev(20_000, 1, knows=1.0, last=3.5)

    def gap(settings):
        found = probabilities(unseen, settings, held_out.pairs) >= settings.threshold
        category = prior.category(held_out.pairs)
        rates = [found[(category == c) & (held_out.labels == 1)].mean() for c in (1, 4)]
        return rates[0] - rates[1]

    likely = fit_debiased_settings(logits, dev, prior)
    equal = fit_debiased_settings(logits, dev, prior, equal_recall=True)
    assert gap(likely) < -0.05
    assert abs(gap(equal)) < 0.02
    assert 0 < equal.length_shift["added"][3] < likely.length_shift["added"][3]


def test_level_settings_are_the_minimum_of_a_grid():
    dev, prior, logits = biased_dev(2000, 1, knows=0.6)
    weights = prior.ratios(dev.pairs)[np.arange(len(dev.labels)), dev.labels]

    def nll(steepness, share):
        odds = steepness * logits[:, 1] + share * prior.shift(dev.pairs)
        return -weights @ np.log(expit(np.where(dev.labels == 1, odds, -odds)))

    best = min(
        ((s, share) for s in np.linspace(0.3, 1.5, 61) for share in np.linspace(0, 1, 51)),
        key=lambda given: nll(*given),
    )
    settings = fit_debiased_settings(logits, dev, prior)
    share = settings.length_shift["added"][3] / (prior.overall - prior.log_odds[3])
    assert 1 / settings.temperature == pytest.approx(best[0], abs=0.02)
    assert share == pytest.approx(best[1], abs=0.02)


def test_a_weighted_threshold_equals_repeated_pairs():
    rng = np.random.default_rng(3)
    labels, counts = rng.integers(0, 2, 150), rng.integers(1, 6, 150)
    scores = np.clip(0.3 * labels + rng.random(150) * 0.7, 0, 1)
    repeated = fit_threshold(np.repeat(scores, counts), np.repeat(labels, counts))
    assert fit_threshold(scores, labels, counts.astype(float)) == pytest.approx(repeated)


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), min_size=1, max_size=8))
def test_a_length_shift_is_that_of_the_prior_wherever_there_are_words(pairs):
    prior = LengthPrior(Quartiles(0.0, 0.25, 1.0), (0.5, 0.25, -0.5, -1.0), -0.25)
    shift = LengthShift(
        tuple(prior.quartiles.as_list()), tuple(prior.overall - value for value in prior.log_odds)
    )
    for pair, found in zip(pairs, shift.of(pairs), strict=True):
        worded = all(text.split() for text in pair)
        assert found == (prior.shift([pair])[0] if worded else 0.0)
