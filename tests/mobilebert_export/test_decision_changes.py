"""Changed decisions: counted as a user would see them, with an interval, near the threshold apart."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from mobilebert_export import samples
from mobilebert_export.decision_changes import NEAR, compare_decisions, sentence, wilson_interval
from mobilebert_export.samples.recombined import recombined
from tests.mobilebert_export.test_export_verification import CARD


@pytest.mark.parametrize(("hits", "count"), [(0, 2000), (3, 2000), (40, 2000), (1, 7), (7, 7)])
def test_the_interval_is_wilsons(hits, count):
    expected = binomtest(hits, count).proportion_ci(method="wilson")
    assert wilson_interval(hits, count) == pytest.approx((expected.low, expected.high), abs=1e-6)


def counted(expected, found, card=CARD):
    return compare_decisions(
        np.float32(expected), np.float32(found), card, card.shift([("a", "b")] * len(expected))
    )


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


def test_few_changes_of_many_pass_and_many_do_not():
    """1% of 2,000 near the threshold is within 2% with 95% confidence; 2% is not, nor 1% of 100."""
    for count, changed, passes in ((2000, 20, True), (2000, 40, False), (100, 1, False)):
        expected = np.tile([[0.0, 5.0]], (count, 1))
        expected[:changed, 1] = 0.05
        found = expected.copy()
        found[:changed, 1] = -0.05
        assert (not counted(expected, found).failures) == passes


def test_the_line_of_the_report_names_decisions_and_accuracy():
    changes = counted([[0, 0.05], [0, 3]], [[0.1, 0.05], [0, 3]]).to_json()
    assert sentence(changes, None).startswith("changes 50.0% of decisions on 2 pairs")
    said = sentence(changes, {"accuracy": 85.9, "float32_accuracy": 85.92})
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
