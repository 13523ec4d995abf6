"""Promise of `symmetric`: (a, b) and (b, a) have one score, bit for bit, wherever it is asked for."""

from dataclasses import replace

import numpy as np
import pytest

from mobilebert_export.command_line.program import main
from mobilebert_export.evaluation.scoring import open_scorer
from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_export.pipeline.exporter import export
from mobilebert_matching.data.pairs import read_text_pairs
from mobilebert_runtime.card_parts import Embedding
from mobilebert_runtime.matcher import Matcher
from tests.helpers.small_matcher import model_directory
from tests.helpers.tiny_artefacts import PAIRS, onnx_model, write_artefact

SWAPPED = [(b, a) for a, b in PAIRS]


@pytest.fixture
def artefact(tmp_path):
    return write_artefact(tmp_path / "matcher", "onnx", onnx_model())


def test_an_artefact_scores_both_orders_alike_and_as_their_mean(artefact):
    matcher = Matcher.load(artefact)
    both = matcher.score(PAIRS, symmetric=True)
    assert both.dtype == np.float32
    np.testing.assert_array_equal(both, matcher.score(SWAPPED, symmetric=True))
    plain, turned = matcher.score(PAIRS), matcher.score(SWAPPED)
    assert np.abs(plain - turned).max() > 1e-3  # there is something to average
    np.testing.assert_allclose(both, (plain.astype(np.float64) + turned) / 2, rtol=1e-6)
    assert matcher.score([], symmetric=True).shape == (0,)


@pytest.fixture
def embedding_matcher(artefact):
    """A matcher whose card says that order means nothing, though its network's sums depend on it."""
    matcher = Matcher.load(artefact)
    matcher.card = replace(matcher.card, embedding=Embedding(8, normalized=True))
    return matcher


def test_an_onnx_embedding_matcher_scores_both_orders_alike_without_being_asked(embedding_matcher):
    for turned, pairs in ((SWAPPED, PAIRS), (SWAPPED[:3], PAIRS[:3])):
        scores = embedding_matcher.score(pairs)
        np.testing.assert_array_equal(scores, embedding_matcher.score(turned))
        np.testing.assert_array_equal(scores, [embedding_matcher.score([pair])[0] for pair in turned])
        np.testing.assert_array_equal(embedding_matcher.logits(pairs), embedding_matcher.logits(turned))
    (query, text), *_ = PAIRS
    assert embedding_matcher.rank(query, [text])[0].score == embedding_matcher.rank(text, [query])[0].score


@pytest.mark.slow
@pytest.mark.parametrize("model", ["matcher-open-m", "matcher-open-s"])
@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_two_thousand_real_pairs_have_one_score_in_both_orders(target, model, shared_data, tmp_path):
    pairs = read_text_pairs(shared_data / "data" / "qqp" / "test.tsv")[:2000]
    export(ExportRequest(tmp_path / target, model, target=target, measure=False))
    matcher = Matcher.load(tmp_path / target)
    forward, backward = matcher.score(pairs), matcher.score([(b, a) for a, b in pairs])
    moved = np.abs(forward - backward)
    print(f"{model}, {target}: 2,000 pairs in both orders, largest difference {moved.max():.1e}")
    assert moved.max() <= 1e-5
    threshold = matcher.card.threshold
    assert not ((forward >= threshold) != (backward >= threshold)).any()


def test_a_model_directory_does_too_up_to_its_batches():
    plain, symmetric = (open_scorer(str(model_directory()), 1, symmetric=flag) for flag in (False, True))
    both = symmetric.score(PAIRS)
    np.testing.assert_allclose(both, symmetric.score(SWAPPED), atol=1e-6)
    np.testing.assert_allclose(both, (plain.score(PAIRS) + plain.score(SWAPPED)) / 2, atol=1e-6)
    assert np.abs(plain.score(PAIRS) - plain.score(SWAPPED)).max() > 1e-3


def test_match_prints_one_score_for_both_orders(artefact, capsys):
    matcher = Matcher.load(artefact)
    a, b = PAIRS[int(np.argmax(np.abs(matcher.score(PAIRS) - matcher.score(SWAPPED))))]
    said = []
    for texts in ([a, b], [b, a]):
        for flags in ([], ["--symmetric"]):
            with pytest.raises(SystemExit) as done:
                main(["match", "--artefact", str(artefact), *flags, *texts])
            assert done.value.code == 0
            said.append(capsys.readouterr().out)
    forward, forward_both, backward, backward_both = said
    assert forward != backward
    assert forward_both == backward_both
