"""Changed decisions: counted as a user would see them, with an interval, near the threshold apart."""

from dataclasses import replace

import numpy as np
import pytest

from mobilebert_export import samples
from mobilebert_export.samples.recombined import recombined
from mobilebert_export.verification.accuracy_budget import Budget
from mobilebert_export.verification.decision_changes import NEAR, compare_decisions, sentence
from mobilebert_quantize import recipes
from tests.mobilebert_export.test_export_verification import CARD

INT8 = recipes.RECIPES["tflite-int8"].tolerance


def counted(expected, found, card=CARD):
    shift = card.shift([("a", "b")] * len(expected))
    return compare_decisions(np.float32(expected), np.float32(found), card, shift, INT8)


def test_changes_near_the_threshold_are_counted_apart():
    """Log-odds 0.1 and 0.5 from the threshold; both change sides, one of them was clear."""
    expected = [[0, 0.1], [0, 0.5], [0, 3.0], [0, -3.0]]
    found = [[0.2, 0.1], [0.9, 0.5], [0.1, 3.0], [0, -3.0]]
    changes = counted(expected, found)
    assert (changes.pairs, changes.changed, changes.near, changes.changed_clear) == (4, 2, 1, 1)
    assert changes.max_logit == pytest.approx(0.9)
    assert len(changes.failures) == 2


def test_the_threshold_the_temperature_and_the_shift_of_the_card_move_the_border():
    card = replace(CARD, threshold=0.8, temperature=2.0)
    border = 2.0 * np.log(0.8 / 0.2)
    expected = [[0, border + NEAR / 2], [0, border + 2 * NEAR]]
    changes = counted(expected, expected, card)
    assert (changes.near, changes.changed) == (1, 0)
    assert counted(expected, expected, replace(card, threshold=0.0)).near == 0


def test_of_three_labels_the_two_largest_decide():
    card = replace(CARD, labels=("a", "b", "c"))
    expected = [[3, 2.9, 0], [3, 0, 0.5]]
    changes = counted(expected, [[2.9, 3, 0], [3, 0, 0.5]], card)
    assert (changes.changed, changes.near, changes.changed_clear) == (1, 1, 0)


def test_what_changed_decisions_cost_is_held_not_how_many_change():
    """4% of 2,000 pairs may change sides at log-odds of .05, whose certainty is .025, but not at .15."""
    for odds, share, passes in ((0.05, 0.04, True), (0.15, 0.01, True), (0.15, 0.04, False)):
        expected = np.tile([[0.0, 5.0]], (2000, 1))
        expected[: int(share * 2000), 1] = odds
        found = expected.copy()
        found[: int(share * 2000), 1] = -odds
        changes = counted(expected, found)
        certainty = 2 / (1 + np.exp(-odds)) - 1
        assert changes.expected_loss[0] == pytest.approx(share * certainty, rel=1e-5)
        assert changes.expected_loss[1] > changes.expected_loss[0]
        assert (not changes.failures) == passes


def test_where_a_score_is_no_probability_the_share_of_changed_decisions_is_held():
    card = replace(CARD, labels=("score",), positive=0, activation="identity", threshold=0.5)
    for changed, passes in ((20, True), (40, False)):
        expected = np.full((2000, 1), 0.9)
        expected[:changed] = 0.55
        found = expected.copy()
        found[:changed] = 0.45
        changes = counted(expected, found, card)
        assert changes.expected_loss is None
        assert (not changes.failures) == passes


def test_the_expected_loss_is_what_is_lost_where_the_probabilities_are_right():
    """Labels drawn from the first model's probabilities: its accuracy less the other's, on many draws."""
    draw = np.random.default_rng(11)
    expected = draw.normal(size=(4000, 2))
    found = expected + draw.normal(scale=0.4, size=expected.shape)
    card = replace(CARD, temperature=1.7)
    probability = 1 / (1 + np.exp((expected[:, 0] - expected[:, 1]) / card.temperature))
    labels = draw.random((1000, 4000)) < probability
    right = [(labels == (logits[:, 1] >= logits[:, 0])).mean() for logits in (expected, found)]
    assert counted(expected, found, card).expected_loss[0] == pytest.approx(right[0] - right[1], abs=1e-3)


def test_the_line_of_the_report_names_decisions_and_accuracy():
    changes = counted([[0, 0.05], [0, 3]], [[0.1, 0.05], [0, 3]])
    assert sentence(changes).startswith("changes 50.0% of decisions on 2 pairs")
    said = sentence(changes, Budget(0.2, 300, 85.92, 80.0, 85.9, (), 11))
    assert said.endswith("accuracy on the labelled pairs -0.02 points")


def test_generated_pairs_are_many_varied_always_the_same_and_not_the_bundled_ones():
    pairs = samples.generated_pairs(2000)
    assert len(set(pairs)) == 2000
    assert not set(pairs) & set(samples.verification_pairs())
    assert pairs == recombined(samples.short_pairs(), 2000, seed=0)
    assert pairs != recombined(samples.short_pairs(), 2000, seed=1)
    assert all(a and b for a, b in pairs)
    words = [len(f"{a} {b}".split()) for a, b in pairs]
    assert min(words) < 8
    assert max(words) > 40
    known = {word for pair in samples.verification_pairs() for text in pair for word in text.split()}
    strange = [word for a, b in pairs for word in f"{a} {b}".split() if word not in known]
    assert 0.02 < len(strange) / sum(words) < 0.5
