"""Verification: what it measures, that it fails hard, and the text it runs on."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from mobilebert_export import samples
from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_export.pipeline.verifier import verify as verify_again
from mobilebert_export.verification.agreement import (
    label_costs,
    positive_log_odds,
    rank_correlation,
    sigmoid_costs,
    span_costs,
)
from mobilebert_export.verification.network_outputs import reference_logits
from mobilebert_export.verification.verify import (
    MINIMUM_TEXTS,
    VerificationError,
    compare,
    verify,
)
from mobilebert_quantize.recipes import Tolerance
from mobilebert_runtime.card import (
    CLASSIFICATION,
    EMBEDDING,
    MATCHING,
    QUESTION_ANSWERING,
    ArtefactCard,
    Bucket,
)
from mobilebert_runtime.card_parts import Embedding
from mobilebert_runtime.errors import ArtefactError, DataError
from mobilebert_runtime.tokenizer import PairTokenizer
from tests.helpers import small_matcher

CARD = ArtefactCard(
    target="tflite",
    quant="none",
    model_file="model.tflite",
    buckets=(Bucket(small_matcher.SEQ_LEN),),
    labels=("different", "same"),
    positive=1,
    threshold=0.5,
    temperature=1.0,
    attention_mask_value=-60.0,
    minimum_runtime={},
)
STRICT = Tolerance(max_abs_logit=1e-4, min_label_agreement=1.0, min_rank_agreement=1.0)
LOOSE = Tolerance(
    max_abs_logit=None, min_label_agreement=None, min_rank_agreement=-1.0, max_expected_loss=1.0
)


def agreement(expected, found, card, tolerance):
    return compare(
        {"logits": expected}, {"logits": found}, card, tolerance, card.shift([("a", "b")] * len(expected))
    )


@pytest.fixture
def logits():
    return np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)


def test_equal_logits_pass_the_strictest_tolerance(logits):
    result = agreement(logits, logits.copy(), CARD, STRICT)
    assert (result.pairs, result.max_abs_logit, result.label_agreement) == (300, 0.0, 1.0)
    assert result.rank_agreement == pytest.approx(1.0)
    assert result.failures == ()


def test_figures_agree_with_direct_computation(logits):
    other = logits + np.random.default_rng(1).normal(scale=0.3, size=logits.shape).astype(np.float32)
    result = agreement(logits, other, CARD, LOOSE)
    assert result.max_abs_logit == pytest.approx(np.abs(logits - other).max())
    same = (logits[:, 1] >= logits[:, 0]) == (other[:, 1] >= other[:, 0])
    assert result.label_agreement == pytest.approx(same.mean())
    expected = spearmanr(logits[:, 1] - logits[:, 0], other[:, 1] - other[:, 0]).statistic
    assert result.rank_agreement == pytest.approx(expected)


@pytest.mark.parametrize(
    ("tolerance", "says"),
    [
        (replace(LOOSE, max_abs_logit=1e-4), "max |Δlogit|"),
        (replace(LOOSE, min_label_agreement=0.999), "label agreement"),
        (replace(LOOSE, min_rank_agreement=0.999), "rank agreement"),
        (replace(LOOSE, max_expected_loss=0.001), "expected to lose"),
    ],
)
def test_each_broken_tolerance_is_a_failure_of_its_own(logits, tolerance, says):
    other = logits + np.random.default_rng(1).normal(scale=0.3, size=logits.shape).astype(np.float32)
    (failure,) = agreement(logits, other, CARD, tolerance).failures
    assert failure.startswith(says)


def test_vectors_have_a_bound_of_their_own_on_the_order_of_their_cosines():
    card = replace(
        CARD, task=EMBEDDING, texts=1, labels=(), activation=None, embedding=Embedding(16, normalized=False)
    )
    draw = np.random.default_rng(2)
    vectors = draw.normal(size=(300, 16)).astype(np.float32)
    other = vectors + draw.normal(scale=0.05, size=vectors.shape).astype(np.float32)

    def failures(tolerance):
        return compare({"embedding": vectors}, {"embedding": other}, card, tolerance, []).failures

    assert failures(LOOSE) == ()
    assert failures(replace(LOOSE, min_rank_agreement=1.0)) == ()
    (failure,) = failures(replace(LOOSE, min_cosine_rank=0.9999))
    assert failure.startswith("rank agreement")


def test_readers_are_compared_on_questions_whose_answers_their_contexts_hold():
    known = samples.questions()
    verify, calibrate = (
        samples.verification_texts(QUESTION_ANSWERING, 2),
        samples.calibration_texts(QUESTION_ANSWERING, 2),
    )
    assert len(verify) >= MINIMUM_TEXTS
    assert not set(verify) & set(calibrate)
    assert set(verify) | set(calibrate) == set(known)
    assert len(set(known)) == len(known)
    assert all(question.endswith("?") and len(context.split()) > 50 for question, context in known)


def test_spans_cost_what_the_first_model_gives_them():
    """By brute force over all spans of the tokens that may be read."""
    draw = np.random.default_rng(8)
    expected, found = (draw.normal(scale=2, size=(40, 12, 2)).astype(np.float32) for _ in range(2))
    mask = np.zeros((40, 12), np.int32)
    mask[:, 3:10] = 1
    costs = span_costs(expected, found, mask)
    for row in range(40):
        spans = {
            (i, j): float(expected[row, i, 0]) + float(expected[row, j, 1])
            for i in range(3, 10)
            for j in range(i, 10)
        }
        theirs = {(i, j): float(found[row, i, 0]) + float(found[row, j, 1]) for i, j in spans}
        best, chosen = max(spans, key=spans.get), max(theirs, key=theirs.get)
        total = sum(np.exp(list(spans.values())))
        lost = (np.exp(spans[best]) - np.exp(spans[chosen])) / total
        assert np.isnan(costs[row]) if best == chosen else costs[row] == pytest.approx(lost)
    assert 0 < np.isnan(costs).sum() < 40


def test_labels_and_sigmoids_cost_what_the_first_model_gives_them():
    expected, found = np.float32([[2, 1, 0], [0, 3, 0]]), np.float32([[1, 2, 0], [0, 3, 1]])
    odds = np.exp([2.0, 1.0, 0.0])
    np.testing.assert_allclose(label_costs(expected, found), [(odds[0] - odds[1]) / odds.sum(), np.nan])
    costs = sigmoid_costs(np.float32([[0.4, -1.0]]), np.float32([[-0.1, -2.0]]))
    np.testing.assert_allclose(costs, [[2 / (1 + np.exp(-0.4)) - 1, np.nan]], rtol=1e-6)


def test_the_values_of_a_regression_are_held_to_their_order_as_cosines_are():
    card = replace(CARD, task=CLASSIFICATION, labels=("score",), positive=0, activation="identity")
    draw = np.random.default_rng(3)
    values = draw.normal(size=(300, 1)).astype(np.float32)
    other = values + draw.normal(scale=0.1, size=values.shape).astype(np.float32)
    bounds = replace(LOOSE, min_rank_agreement=0.9, min_cosine_rank=0.999)
    (failure,) = agreement(values, other, card, bounds).failures
    assert failure.startswith("rank agreement")
    assert agreement(values, other, replace(card, task=MATCHING, threshold=0.0), bounds).failures == ()


def test_equal_scores_have_no_order_that_rounding_could_change():
    rng = np.random.default_rng(0)
    scores = np.repeat(rng.normal(size=40), 5)
    noisy = scores + rng.uniform(-1, 1, scores.size) * 2e-6
    assert spearmanr(scores, noisy).statistic < 0.9999
    assert rank_correlation(scores, noisy) == 1
    assert rank_correlation(np.ones(9), np.ones(9) + 1e-6) == 1
    swapped = scores.copy()
    swapped[[0, 7]] = swapped[[7, 0]]
    assert rank_correlation(scores, swapped) == pytest.approx(spearmanr(scores, swapped).statistic)
    assert rank_correlation(scores, swapped) < 1


def test_a_logit_that_is_not_a_number_fails_whatever_the_tolerance(logits):
    for bad in (np.nan, np.inf):
        other = logits.copy()
        other[7, 0] = bad
        assert agreement(logits, other, CARD, LOOSE).failures


def test_an_artefact_that_always_says_the_same_fails(logits):
    constant = np.tile(logits[:1], (len(logits), 1))
    result = agreement(logits, constant, CARD, replace(LOOSE, min_rank_agreement=0.9))
    assert result.rank_agreement == 0
    assert result.failures
    assert agreement(constant, constant, CARD, STRICT).failures == ()


def test_labels_follow_threshold_temperature_and_positive(logits):
    shifted = logits + np.float32([0, 0.5])
    card = replace(CARD, threshold=0.0)
    assert agreement(logits, shifted, card, LOOSE).label_agreement == 1.0
    assert agreement(logits, shifted, CARD, LOOSE).label_agreement < 1.0
    three = np.random.default_rng(2).normal(size=(300, 3)).astype(np.float32)
    card = replace(CARD, labels=("a", "b", "c"))
    rolled = np.roll(three, 1, axis=1)
    expected = (three.argmax(1) == rolled.argmax(1)).mean()
    assert agreement(three, rolled, card, LOOSE).label_agreement == pytest.approx(expected)


def test_log_odds_of_two_and_of_three_labels():
    two = np.float32([[0, 200], [3, 1]])
    np.testing.assert_allclose(positive_log_odds(two, 1), [200, -2])
    three = np.float32([[1, 2, 3]])
    p = np.exp(3) / np.exp([1, 2, 3]).sum()
    np.testing.assert_allclose(positive_log_odds(three, 2), [np.log(p / (1 - p))], rtol=1e-6)


def test_too_few_pairs_prove_nothing():
    with pytest.raises(DataError, match="199 pairs"):
        verify(None, None, [("a", "b")] * 199, STRICT)


def test_the_reference_restores_the_order_of_the_pairs():
    import mobilebert_models

    model = mobilebert_models.load_pretrained(small_matcher.model_directory())
    tokenizer = PairTokenizer.load(small_matcher.model_directory())
    encoded = tokenizer.encode(samples.verification_pairs()[:40], small_matcher.SEQ_LEN)
    together = reference_logits(model, encoded)
    rows = [{name: values[row : row + 1] for name, values in encoded.items()} for row in range(40)]
    alone = [reference_logits(model, row) for row in rows]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-5)


def test_an_export_beyond_its_tolerance_leaves_nothing(tmp_path):
    out = tmp_path / "sub" / "artefact"
    differs = r"artefact: differs .* 224 pairs: 32 tokens: max \|Δlogit\|"
    with pytest.raises(VerificationError, match=differs) as caught:
        small_matcher.report("onnx", "none", out, atol=1e-12)
    assert caught.value.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_failed_export_with_force_keeps_the_old_artefact(tmp_path):
    out = tmp_path / "artefact"
    small_matcher.report("onnx", "none", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(VerificationError):
        small_matcher.report("onnx", "none", out, atol=1e-12, force=True)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["artefact"]


def test_the_report_says_what_was_verified():
    folder = small_matcher.artefact("onnx", "none")
    report = json.loads((folder / "report.json").read_text())
    found = report["verification"]
    assert found["passed"]
    assert found["pairs"] >= 200
    assert found["max_abs_logit"] <= 1e-4
    page = (folder / "report.md").read_text()
    assert "max |Δlogit|" in page
    assert "Made with" in page
    # An artefact tells nobody where it was made.
    for path in folder.iterdir():
        if path.suffix in (".json", ".md", ".onnx"):
            assert str(small_matcher.scratch()).encode() not in path.read_bytes()


def test_the_bundled_text_is_varied_and_its_two_halves_are_apart():
    calibration, verification = samples.calibration_pairs(), samples.verification_pairs()
    assert len(calibration) >= 100
    assert len(verification) >= 200
    assert not set(calibration) & set(verification)
    for pairs in (calibration, verification):
        texts = [text for pair in pairs for text in pair]
        lengths = [len(text.split()) for text in texts]
        assert min(lengths) <= 3
        assert max(lengths) >= 60
        everything = " ".join(texts)
        patterns = {
            "accents": r"[à-öø-ÿ]",
            "emoji": r"[\U0001F300-\U0001FAFF]",
            "other scripts": r"[\u0370-\u1FFF\u3040-\uD7AF]",
            "URL": r"https?://",
            "numbers": r"\d{3,}",
            "capitals": r"\b[A-Z]{4,} [A-Z]{4,}",
            "quotes": "[\"'“”]",
            "punctuation": r"[?!]{3,}",
        }
        missing = [name for name, pattern in patterns.items() if not re.search(pattern, everything)]
        assert not missing


@pytest.mark.parametrize(
    "change",
    [
        {"recipe": "x"},
        {"model": {}},
        {"recipe": {"name": "onnx-none"}},
        {"recipe": {"tolerance": {"luck": 1}}},
    ],
)
def test_a_damaged_recipe_is_refused_before_the_model_is_loaded(tmp_path, change):
    folder = tmp_path / "artefact"
    shutil.copytree(small_matcher.artefact("onnx", "none"), folder)
    path = folder / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    write_checksums(folder)
    with pytest.raises(ArtefactError, match=r"recipe\.json: (damaged|lacks)"):
        verify_again(folder, "nowhere")
