"""Promise of the decision's pairs and thresholds: labels are right, domains count alike."""

import ast
import inspect
import re

import numpy as np
import pytest
from torch.nn import functional as F

from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.decision import natural_pairs as nat
from recipes.general_matchers.decision import training_rules
from recipes.general_matchers.decision.measure import drawn_labels, near_settings
from recipes.general_matchers.decision.natural_pairs import DIFFERENT, SAME, natural_pairs
from recipes.general_matchers.decision.pairs import DomainPair, misspelt
from recipes.general_matchers.decision.thresholds import best_accuracy, by_domain, equal_error
from recipes.general_matchers.decision.train import mined_pairs, to_examples
from recipes.general_matchers.decision.training_rules import CHANGED, KEPT
from recipes.general_matchers.edits import edited
from recipes.general_matchers.noise import Misspeller
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.pool import Pool, write_pool
from recipes.general_matchers.teachers import LOG_ODDS
from tests.helpers.letter_texts import by_words, texts
from tests.helpers.texts import MINILM


def test_the_threshold_of_equal_error_is_where_both_rates_meet_in_the_mean_of_domains():
    scores = np.array([0.1, 0.2, 0.3, 0.6, 0.4, 0.7, 0.8, 0.9] * 50)
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1] * 50)
    threshold = equal_error(scores, labels, np.array(["one"] * 400))
    assert 0.3 < threshold <= 0.6
    found = scores >= threshold
    assert abs((found & (labels == 0)).sum() / 200 - (~found & (labels == 1)).sum() / 200) <= 0.25
    assert best_accuracy(scores, labels) == pytest.approx(7 / 8)
    shifted = np.concatenate([scores, scores + 2])
    record = by_domain(shifted, np.tile(labels, 2), np.repeat(["low", "high"], 400))
    assert record["low"]["auc"] == record["high"]["auc"] == pytest.approx(15 / 16)
    assert record["low"]["accuracy"] == 0.5 < record["low"]["best"]  # the other domain's threshold


def test_natural_pairs_differ_in_what_their_kind_says_and_no_sentence_is_used_twice():
    sentences = [
        "The ship left Rotterdam on January 12 with 250 crates on board.",
        "A parcel of 5 kg needs two stamps, which you buy at the counter.",
        "Napoleon defeated Wellington in a story that nobody believes.",
        "Flights with meals are always late when it rains in the north.",
        "The A380 is the largest plane that the airport can take.",
        "The bridge was designed by Lovelace in a hurry.",
        "When the river rises again, the old harbour closes its gates.",
        "We do not know the colour of the car that was required.",
        "How do I change my address in the app",
    ]
    found = list(natural_pairs(sentences, 40, 0))
    originals = [p.left if p.left in sentences else p.right for p in found]
    assert len(set(originals)) == len(originals) == len(found) >= 7
    assert {p.label for p in found if p.kind in DIFFERENT} == {0}
    assert {p.label for p in found if p.kind in SAME} == {1}
    by_kind = {p.kind: {p.left, p.right} for p in found}
    roles = "Wellington defeated Napoleon in a story that nobody believes."
    assert roles in by_kind["roles"]
    assert "Lovelace designed the bridge in a hurry." in by_kind["passive"]
    assert "The old harbour closes its gates when the river rises again." in by_kind["clause"]
    assert any("What do I have to do to change" in text for text in by_kind["request"])


def swapped_words(module):
    """Words and phrases that a module's calls of `swaps` put in each other's place."""
    calls = (node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Call))
    named = (call for call in calls if getattr(call.func, "id", "") == "swaps")
    given = (node.value for call in named for node in ast.walk(call) if isinstance(node, ast.Constant))
    return {word for pair in given for word in re.split("[/>]", pair)}


def test_rules_of_training_share_no_word_with_those_of_the_test():
    theirs, ours = swapped_words(nat), swapped_words(training_rules)
    assert len(theirs) > 100
    assert len(ours) > 200
    assert not theirs & ours


def test_rules_of_training_change_what_is_said_or_keep_it():
    sentences = [
        "The tower is 5 metres from the old mill.",
        "Armstrong helped Aldrin on the way down.",
        "The report is already complete in this form.",
        "The men stood near the public fountain.",
        "They could not find the harbour.",
        "Oranges grow in Spain and Italy.",
        "Some 12,500 bees live there.",
        "We shall choose a shop that is quiet.",
        "please send the parcel tomorrow",
    ]
    found = list(natural_pairs(sentences, 60, 0, CHANGED, KEPT))
    originals = [p.left if p.left in sentences else p.right for p in found]
    assert len(set(originals)) == len(originals) == len(found) >= 7
    both = {p.label: {text for q in found if q.label == p.label for text in (q.left, q.right)} for p in found}
    assert "Aldrin helped Armstrong on the way down." in both[0]
    assert any("couldn't find" in text for text in both[1])
    assert any("12500" in text for text in both[1])


def test_mined_pairs_are_near_texts_of_those_given_with_the_wider_teachers_cosine(tmp_path):
    write_pool([("made", text) for text in texts(300)], tmp_path, tokenizer := PairTokenizer.load(MINILM))
    pool = Pool(tmp_path, tokenizer, (24, 40))
    for values, size in ((pool.near, 24), (pool.wide, 40)):
        values[:] = F.normalize(by_words(size)(pool.texts), dim=-1).numpy()
    rows = np.arange(100, 300)
    pairs, cosines = mined_pairs(pool, rows, 400, 0)
    place = {text: k for k, text in enumerate(pool.texts)}
    at = np.array([[place[a], place[b]] for a, b in pairs])
    assert at.min() >= 100
    assert len(np.unique(at, axis=0)) == len(at) > 200
    np.testing.assert_allclose(cosines, (pool.wide[at[:, 0]] * pool.wide[at[:, 1]]).sum(1), atol=2e-2)
    assert cosines.mean() > (pool.wide[rows] @ pool.wide[rows].T).mean() + 0.1


def test_domains_and_their_labels_count_alike_and_near_texts_as_much_as_all_of_them():
    draw = np.random.default_rng(0)
    labelled = [
        DomainPair(domain, int(draw.random() < share), (f"{domain} {k}", f"a text {k}" + " more" * (k % 4)))
        for domain, share, count in (("one", 0.8, 300), ("two", 0.3, 50))
        for k in range(count)
    ]
    soft = ([(f"near {k}", f"by {k}") for k in range(40)], draw.random(40))
    found, read = to_examples(labelled, soft, 8.0, -5.0)
    assert found.weights.mean() == pytest.approx(1)
    labels = np.array([pair.label for pair in labelled])
    totals = [
        found.weights[:350][(found.domains[:350] == d) & (labels == k)].sum()
        for d in ("one", "two")
        for k in (0, 1)
    ]
    np.testing.assert_allclose(totals, totals[0])
    assert found.weights[350:].sum() == pytest.approx(sum(totals))
    assert found.targets[350] == pytest.approx(8 * soft[1][0] - 5)
    assert np.array_equal(np.flatnonzero(found.soft), np.arange(350, 390))
    assert read[found.places[350][1]] == "by 0"


def test_labels_are_drawn_as_often_as_their_log_odds_say():
    drawn = drawn_labels(np.repeat([-2.0, 0.0, 1.0], 1000), draws=4).reshape(4, 3, 1000)
    np.testing.assert_allclose(drawn.mean((0, 2)), [0.119, 0.5, 0.731], atol=0.03)
    assert not np.array_equal(drawn[0], drawn[1])


def test_a_misspelt_pair_is_the_same_only_beside_its_own_text():
    found = list(misspelt(texts(50), Misspeller(None), 40, generator(0)))
    assert len(found) == 40
    assert {pair.label for pair in found} == {0, 1}
    for pair in found:
        left, right = (set(text.lower().split()) for text in pair.texts)
        if pair.label:
            assert len(left - right) <= 2


def test_edits_of_texts_without_a_name_among_the_first_ones_are_made_all_the_same():
    given = [*["nothing of note happens to anybody here today"] * 5000, "ask the Smith family about it"]
    assert not [pair for pair in edited(given, 5, 0) if pair.kind == "name"]


def test_a_pool_that_the_second_teacher_has_not_read_is_refused(tmp_path):
    write_pool([("own", text) for text in texts(40)], tmp_path, tokenizer := PairTokenizer.load(MINILM))
    alone = Pool(tmp_path, tokenizer, (24, None))
    alone.take(near := F.normalize(by_words(24)(alone.texts), dim=-1).numpy(), None)
    again = Pool(tmp_path, tokenizer, (24, None))
    assert again.complete
    np.testing.assert_allclose(again.wide, near, atol=1e-3)
    assert again.log_odds == LOG_ODDS["minilm"]
    with pytest.raises(DataError, match="its texts were not read by mpnet"):
        Pool(tmp_path, tokenizer, (24, 40))


def test_few_near_texts_give_no_length_shift_and_say_so():
    """Every pair's label is drawn several times, which makes no more pairs of them."""
    given, told = texts(60), []
    near, odds = list(zip(given[:30], given[30:], strict=True)), 2 * np.linspace(-1, 1, 30)
    settings = near_settings(near, odds, odds, told.append)
    assert "is not debiased by length" in told[0]
    assert len(set(settings.length_shift["added"])) == 1
    given = texts(800, seed=1)
    near, odds = list(zip(given[:400], given[400:], strict=True)), 2 * np.linspace(-1, 1, 400)
    settings = near_settings(near, odds, odds, told.append)
    assert len(told) == 1
    assert settings.length_shift["quartiles"] != [0, 0, 0]
