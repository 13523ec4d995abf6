"""Promise of the general matcher's figures: they are what they say, of every kind of encoder."""

import itertools

import numpy as np
import pytest

from mobilebert_matching.evaluation.metrics import expected_calibration_error
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.noise import Misspeller
from studies.general_matcher.calibration_noise import calibration_errors, drawn
from studies.general_matcher.evaluate import external_vectors
from studies.general_matcher.evaluation_sets import PAIR_SETS, misspelt_pairs
from studies.general_matcher.figures import (
    auc,
    best_threshold,
    calibrated,
    error_by_chance,
    figures,
    ranked,
    ranked_look_up,
)
from studies.general_matcher.look_up_time import LookUp
from studies.general_matcher.spelling_dev import TrainingMisspeller, decisions, same_texts
from studies.shipped.front_page_encoders import lookup_graph, static_table, write
from tests.helpers.small_matcher import embedding_artefact

REAL = {"believe": "beleive", "government": "goverment", "several": "severel", "tomorrow": "tommorow"}


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("word\tmisspelling\n" + "".join(f"{word}\t{wrong}\n" for word, wrong in REAL.items()))
    return path


def test_threshold_and_auc_of_a_set_that_can_be_told_apart():
    labels, values = np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.6, 0.9])
    assert auc(labels, values) == 1
    assert 0.4 < best_threshold(labels, values) < 0.6
    assert auc(labels, np.ones(4)) == 0.5


def test_calibration_of_true_log_odds_leaves_what_chance_does():
    draw = np.random.default_rng(1)
    truth = draw.normal(size=4000)
    labels = (draw.random(4000) < 1 / (1 + np.exp(-truth))).astype(float)
    fitted, judged = (labels[:2275], truth[:2275]), (labels[2275:], truth[2275:])
    errors = calibration_errors(*fitted, *judged)
    assert len(errors) == len(np.unique(errors))
    assert 0.015 < errors.mean() < 0.05  # true probabilities alone show .02 on as many
    # Pairs that the log-odds say nothing about: the offset alone is left to be wrong.
    assert calibration_errors(fitted[0], np.zeros(2275), judged[0], np.zeros(1725)).mean() < errors.mean()
    found = drawn(*fitted, *judged)
    assert found["mean"] == pytest.approx(errors.mean(), abs=1e-4)
    assert found["share_within_0.03"] == pytest.approx((errors <= 0.03).mean(), abs=1e-3)
    assert found["fitted_on_all"] < found["mean"], "more pairs fit better"
    # These labels are of the right form: labels drawn from the fitted curve show the same, but for what four
    # sets of 1,725 labels beside the mean over 300 leave to chance.
    others = [draw.random(4000) < 1 / (1 + np.exp(-truth)) for _ in range(3)]
    each = [found, *(drawn(y[:2275] * 1.0, truth[:2275], y[2275:] * 1.0, truth[2275:]) for y in others)]
    of_curve = np.mean([one["of_a_logistic_curve"]["mean"] for one in each])
    assert of_curve == pytest.approx(np.mean([one["mean"] for one in each]), abs=0.004)
    # Half the slope is put right, a mixture of two slopes is not.
    halved = drawn(labels[:2275], truth[:2275] / 2, labels[2275:], truth[2275:] / 2)
    assert halved["mean"] == pytest.approx(found["mean"], abs=1e-3)
    wrong = drawn(labels[:2275], truth[:2275], labels[2275:], truth[2275:] * np.tile([0.2, 3], 900)[:1725])
    assert wrong["mean"] > found["mean"] + 0.02
    assert wrong["of_a_logistic_curve"]["mean"] < wrong["mean"] - 0.02, "the form is at fault"


def test_a_model_without_vectors_has_no_look_up_and_calibration_mends_the_scores():
    """Scores that are twice as sure as they should be, and shifted, come out right after 500 pairs."""
    draw = np.random.default_rng(0)
    truth = draw.normal(size=4000)
    labels = (draw.random(4000) < 1 / (1 + np.exp(-truth))).astype(float)
    fitted = calibrated(labels[:1000], 2 * truth[:1000] + 3, 2 * truth[1000:] + 3)
    assert expected_calibration_error(labels[1000:].astype(int), fitted) < 0.03
    mean, high = error_by_chance(fitted)
    assert 0 < mean < high < 0.05
    few = error_by_chance(fitted[:100])
    assert few[0] > 2 * mean
    rows = {"left": np.arange(600), "right": np.arange(600), "label": labels[:600]}
    sets = dict.fromkeys(PAIR_SETS, rows) | {"identical": rows}
    asked = itertools.product(("typos", "typos_in_both"), ("qqp_test", "twitter_url_test"))
    noisy = [f"{kind}_{name}" for kind, name in asked]
    sets |= {name: rows | {"clean": np.arange(600)} for name in noisy}
    sets["minimal"] = rows | {"kind": np.arange(600) % 2, "kinds": np.array(["number", "synonym"])}
    found = figures(sets, None, lambda left, right: truth[left])
    assert found["qqp_test"][0] == pytest.approx(auc(labels[:600], truth[:600]), abs=1e-4)
    assert not [name for name in found if name.startswith("clinc")]
    assert found["typo_flips_qqp_test"][0] == 0
    assert len(set(found["typo_in_both_accuracy_qqp_test"])) == 1
    hits = (truth[:600] > 0) == (labels[:600] > 0)
    assert found["shipped_qqp_accuracy"][0] == pytest.approx(hits.mean(), abs=1e-4)
    assert found["shipped_minimal_synonym"][0] == pytest.approx(hits[1::2].mean(), abs=1e-4)
    assert found["shipped_minimal_different"] == pytest.approx(hits[::2].mean(), abs=1e-4)  # numbers alone


def test_a_look_up_orders_what_the_search_has_found_by_the_score():
    """Two queries, five stored texts; what the search passes by is not asked about."""
    angles = np.array([0.0, 1.0, 0.1, 0.2, 0.3, 0.9, 1.1])  # the first two are asked
    vectors = np.stack([np.cos(angles), np.sin(angles)], 1)
    asked, stored = np.arange(2), np.arange(2, 7)
    scored = []

    def score(left, right):
        scored.extend(zip(left.tolist(), right.tolist(), strict=True))
        return -vectors[right][:, 0]  # the largest angle first

    assert ranked(asked, stored, vectors, score, 2).tolist() == [[1, 0], [4, 3]]
    assert sorted(scored) == [(0, 2), (0, 3), (1, 5), (1, 6)]
    clinc = {
        "asked": asked,
        "stored": stored,
        "intent": np.array([0, 1]),
        "stored_intent": np.array([0, 0, 0, 2, 1]),
    }
    found = ranked_look_up(clinc, vectors, lambda left, right: -vectors[right][:, 0])
    assert found["clinc_ranked_first"][0] == 0.5  # of the first five of each the largest angle is 1.1
    assert found["clinc_ranked_in_five"][0] == 1.0


def test_a_look_up_is_timed_in_its_two_steps():
    stored = [f"the {word} of tomorrow" for word in "abcdefghijklm"]
    timed = LookUp(embedding_artefact("onnx", "none"), stored, threads=1)
    for query in ("the a of today", "the z"):
        timed.ask(query)
    found = timed.record()
    assert list(found) == ["search", "rank"]
    for times in found.values():
        assert len(times["samples"]) == 2
        assert 0 < times["median"] == pytest.approx(np.mean(times["samples"]), abs=2e-3)


def test_a_misspelling_in_each_text_changes_both(words):
    misspell = Misspeller(words, test=True)
    pairs = [{"question1": "the definition", "question2": "a language"}]  # words kept for tests
    (one,), (both,) = (misspelt_pairs(pairs, "question", misspell, texts) for texts in (1, 2))
    assert sum(one[name] != pairs[0][name] for name in pairs[0]) == 1
    assert all(both[name] != pairs[0][name] for name in pairs[0])


def test_misspellings_of_dev_pairs_leave_words_kept_for_tests(words):
    misspell = TrainingMisspeller(words)
    text = "the definition of a language"  # both words are kept for tests
    assert Misspeller(words).words(text)
    assert misspell.words(text) == []
    assert misspell.words(f"several {text}")[0].group() == "several"


def test_what_correction_restores_and_what_misspellings_cost():
    clean, mended = [("the Moon", "a Comet")], [("the moon", "a cometz")]
    assert np.mean(same_texts(clean, mended, str.lower)) == 0.5
    assert np.mean(same_texts(clean, clean)) == 1
    assert not any(same_texts(clean, mended))
    logits = {"clean": [2, 1, -1, -2], "one": [2, -1, -1, 3], "both": [-2, -1, 1, 2]}
    sides = [[(name, str(row)) for row in range(4)] for name in logits]
    found = decisions(sides, np.array([1, 1, 0, 0]), lambda pairs: np.array(logits[pairs[0][0]]))
    assert found["flipped_by_one"] == 0.5
    assert [found[f"accuracy_{name}"] for name in logits] == [1, 0.5, 0]
    assert [found[f"auc_{name}"] for name in logits] == [1, 0.375, 0]


def test_vectors_of_another_programs_encoder_are_means_over_a_texts_tokens(tmp_path):
    table = np.random.default_rng(0).normal(size=(30522, 6)).astype(np.float32)
    write(lookup_graph(table), tmp_path / "static", "int8")
    tokenizer = PairTokenizer.load(tmp_path / "static")
    texts = ["How old is the Moon?", "swim"]
    found = external_vectors(tmp_path / "static", texts)
    for text, vector in zip(texts, found, strict=True):
        mean = table[tokenizer.ids([text], 128)[0][0]].mean(0)
        assert vector @ (mean / np.linalg.norm(mean)) == pytest.approx(1, abs=1e-3)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_static_vectors_are_weighed_by_rank_and_keep_what_varies():
    vectors = np.random.default_rng(0).normal(size=(500, 8)) * np.array([9, 5, 1, 1, 1, 1, 1, 1])
    table = static_table(vectors, 2)
    centred = vectors - vectors.mean(0)
    weights = np.linalg.norm(table, axis=1) / np.linalg.norm(centred[:, :2], axis=1)
    assert np.median(weights[:20]) < np.median(weights[-100:])  # frequent tokens say less
    assert np.corrcoef(np.abs(table[250:, 0]), np.abs(centred[250:, 0]))[0, 1] > 0.95
