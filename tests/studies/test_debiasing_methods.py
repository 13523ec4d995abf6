"""Promise of the debiasing methods: each loss is its paper's equation, each weighting levels what it says."""

import functools
import math

import numpy as np
import pytest
import torch

from mobilebert_matching.data.labelled_pairs import LabelledPairs
from mobilebert_matching.length_bias.length_divergence import Quartiles, pairwise, word_counts
from mobilebert_runtime.errors import OptionError
from studies.debiasing.methods import (
    METHODS,
    DebiasingInput,
    debiased_training_set,
    debiasing_loss,
    find_method,
    focal_weights,
)

COUNT = 1200


def biased(count=COUNT, seed=0):
    """Pairs of distinct texts whose label 1 becomes rarer with the length divergence."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 20, (count, 2))
    labels = (rng.random(count) < 0.7 / (1 + pairwise(*lengths.T))).astype(int)
    pairs = [
        (f"a{i}" + " w" * (a - 1), f"b{i}" + " w" * (b - 1)) for i, (a, b) in enumerate(lengths.tolist())
    ]
    return LabelledPairs(pairs, labels)


def categories(pairs, of=None):
    """The category of each pair, cut at the quartiles of the pairs `of`."""

    def divergence(texts):
        return pairwise(*(word_counts(side) for side in zip(*texts, strict=True)))

    return Quartiles.of(divergence(of or pairs)).category(divergence(pairs))


LABELLED = biased()
places = categories(LABELLED.pairs)
LOGITS = np.random.default_rng(1).normal(size=(COUNT, 2)) * 2
TEACHER = np.random.default_rng(2).normal(size=(COUNT, 2)) * 2
MATERIAL = DebiasingInput(LABELLED, seed=3, teacher_logits=TEACHER, extra=biased(9000, seed=9))


@functools.cache
def share(category, label):
    """p_length(label | category) by counting."""
    inside = LABELLED.labels[places == category]
    return sum(1 for y in inside if y == label) / len(inside)


@functools.cache
def overall(label):
    return sum(1 for y in LABELLED.labels if y == label) / COUNT


def probabilities(row):
    """Softmax of two logits, in Python's floats."""
    powers = [math.exp(z - max(row)) for z in row]
    return [power / sum(powers) for power in powers]


def cross_entropy(i, label):
    return -math.log(probabilities(LOGITS[i])[label])


def product_of_experts(i, y):
    """Clark et al. 2019: −log of the renormalised product of both models' probabilities."""
    product = [p * share(places[i], label) for label, p in enumerate(probabilities(LOGITS[i]))]
    return -math.log(product[y] / sum(product))


def against_teacher(i, shifted):
    """Cross-entropy against the teacher's distribution, by Bayes with its prior exchanged or as it is."""
    targets = probabilities(TEACHER[i])
    if shifted:
        moved = [t * overall(label) / share(places[i], label) for label, t in enumerate(targets)]
        targets = [m / sum(moved) for m in moved]
    return sum(t * cross_entropy(i, label) for label, t in enumerate(targets))


def re_weighted_teacher(i, _):
    """`re-weighted` in expectation over the teacher's labels: it may call either, each with its weight."""
    calls = enumerate(probabilities(TEACHER[i]))
    return sum(t * overall(y) / share(places[i], y) * cross_entropy(i, y) for y, t in calls)


# The equations, one pair at a time: i is the pair, y its label.
EQUATIONS = {
    "original": cross_entropy,
    "re-weighted": lambda i, y: overall(y) / share(places[i], y) * cross_entropy(i, y),
    "focal": lambda i, y: (1 - share(places[i], y)) ** 1.0 * cross_entropy(i, y),
    "product-of-experts": product_of_experts,
    "distilled": lambda i, y: against_teacher(i, shifted=False),
    "adjusted-re-weighted": re_weighted_teacher,
    "adjusted": lambda i, y: against_teacher(i, shifted=True),
}


@pytest.mark.parametrize("name", EQUATIONS)
def test_the_loss_is_the_equation(name):
    plan = debiased_training_set(name, MATERIAL)
    assert plan.labelled.pairs == LABELLED.pairs
    found = debiasing_loss(
        *(torch.from_numpy(part) for part in (LOGITS, plan.targets, plan.weights, plan.expert))
    )
    expected = np.mean([EQUATIONS[name](i, y) for i, y in enumerate(LABELLED.labels.tolist())])
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_every_method_is_tested():
    assert set(EQUATIONS) | {"down-sampled", "augmented", "shifted", "half-shifted"} == set(METHODS)


def weighted_ratios(weights):
    positive, negative = (
        np.array([weights[(places == c) & (LABELLED.labels == y)].sum() for c in (1, 2, 3, 4)])
        for y in (1, 0)
    )
    return positive / negative


def test_weights_level_every_category_to_the_overall_ratio():
    weights = debiased_training_set("re-weighted", MATERIAL).weights
    assert weights.mean() == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(weighted_ratios(weights), overall(1) / overall(0), rtol=1e-9)
    assert np.ptp(weighted_ratios(np.ones(COUNT))) > 0.3  # there was something to level


@pytest.mark.parametrize(("gamma", "power"), [(0.0, 1), (0.5, 0.5), (1.0, 0), (2.0, -1)])
def test_focal_weights_leave_one_minus_gamma_of_the_log_odds(gamma, power):
    before = weighted_ratios(np.ones(COUNT))
    np.testing.assert_allclose(weighted_ratios(focal_weights(MATERIAL, gamma)), before**power, rtol=1e-9)


def test_down_sampling_is_level_and_from_the_same_pairs():
    pairs, labels = debiased_training_set("down-sampled", MATERIAL).labelled
    known = dict(zip(LABELLED.pairs, LABELLED.labels.tolist(), strict=True))
    assert [known[pair] for pair in pairs] == labels.tolist()
    assert len(set(pairs)) == len(pairs) < COUNT
    category = categories(pairs)
    ratio = (labels == 1).sum() / (labels == 0).sum()
    for place in (1, 2, 3, 4):
        negatives, positives = np.bincount(labels[category == place], minlength=2)
        assert min(abs(positives - ratio * negatives), abs(negatives - positives / ratio)) < 1
    assert debiased_training_set("down-sampled", MATERIAL).labelled.pairs == pairs


def test_augmentation_adds_the_rarer_label_until_ratios_are_level():
    pairs, labels = debiased_training_set("augmented", MATERIAL).labelled
    assert pairs[:COUNT] == LABELLED.pairs
    added = list(zip(pairs[COUNT:], labels[COUNT:].tolist(), strict=True))
    assert len(set(added)) == len(added)
    assert set(added) <= set(zip(MATERIAL.extra.pairs, MATERIAL.extra.labels.tolist(), strict=True))
    category = categories(pairs, of=LABELLED.pairs)
    for place in (1, 2, 3, 4):
        negatives, positives = np.bincount(labels[category == place], minlength=2)
        ratio = overall(1) / overall(0)
        assert min(abs(positives - ratio * negatives), abs(negatives - positives / ratio)) <= 0.5


def test_augmentation_takes_all_there_is():
    extra = biased(40, seed=4)
    added = debiased_training_set("augmented", DebiasingInput(LABELLED, extra=extra)).labelled
    wanted = {1: {1: 0, 0: 0}, 2: {1: 0, 0: 0}, 3: {1: 0, 0: 0}, 4: {1: 0, 0: 0}}
    place = categories(extra.pairs, of=LABELLED.pairs)
    for c, y in zip(place.tolist(), extra.labels.tolist(), strict=True):
        wanted[c][y] += 1
    expected = sum(wanted[c][int(share(c, 1) < overall(1))] for c in wanted)
    assert len(added.pairs) == COUNT + expected


@pytest.mark.parametrize(("name", "strength"), [("shifted", 1.0), ("half-shifted", 0.5)])
def test_shifting_afterwards_trains_as_the_original(name, strength):
    plain, after = debiased_training_set("original", MATERIAL), debiased_training_set(name, MATERIAL)
    assert (find_method("original").shift, find_method(name).shift) == (0.0, strength)
    assert plain.labelled.pairs == after.labelled.pairs
    np.testing.assert_array_equal(plain.targets, after.targets)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_without_the_teacher_it_needs_is_refused(name):
    if not (METHODS[name].needs_teacher or METHODS[name].needs_extra):
        assert len(debiased_training_set(name, DebiasingInput(LABELLED)).weights) > 0
        return
    with pytest.raises(OptionError, match="give a teacher"):
        debiased_training_set(name, DebiasingInput(LABELLED))


def test_an_unknown_method_is_refused():
    with pytest.raises(OptionError, match="'magic' is unknown; expected one of original"):
        debiased_training_set("magic", MATERIAL)
