"""Promise of `sort_texts`: both orders of a pair are one input, bit for bit, that of one order without it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mobilebert_models
from mobilebert_export.evaluation.scoring import open_scorer
from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_runtime.card import CLASSIFICATION, ArtefactCard
from mobilebert_runtime.card_parts import Embedding
from mobilebert_runtime.errors import ArtefactError, ModelError
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from tests.helpers.small_matcher import model_directory
from tests.helpers.texts import MINILM, fuzzed_lines
from tests.helpers.tiny_artefacts import PAIRS, onnx_model, write_artefact

GIVEN = PairTokenizer.load(MINILM)
SORTED = PairTokenizer.read(MINILM / "tokenizer.json", sort_texts=True)
LINES = fuzzed_lines(1_500, seed=21)


def turned(pairs: list[Pair]) -> list[Pair]:
    return [(b, a) for a, b in pairs]


@pytest.mark.parametrize("max_len", [3, 16, 33, 96])
def test_ids_are_those_of_the_order_in_which_the_texts_own_ids_sort(max_len: int) -> None:
    pairs = list(zip(LINES, reversed(LINES), strict=True))
    ours = SORTED.ids(pairs, max_len)
    assert ours == SORTED.ids(turned(pairs), max_len)
    alone = [ids for ids, _ in GIVEN.ids(LINES, 4_096)]  # specials around each are the same
    in_order = [
        pair if first[1:-1][:max_len] <= second[1:-1][:max_len] else pair[::-1]
        for pair, first, second in zip(pairs, alone, reversed(alone), strict=True)
    ]
    assert 0 < sum(one != other for one, other in zip(pairs, in_order, strict=True)) < len(pairs)
    cut = [row for row in ours if len(row[0]) == max_len]
    expected = GIVEN.ids(in_order, max_len)
    assert [row for row in expected if len(row[0]) < max_len] == [row for row in ours if row not in cut]
    # Of two texts that are both cut, the odd token may be the other's.
    for (ids, types), (wanted, wanted_types) in zip(ours, expected, strict=True):
        assert len(ids) == len(wanted)
        assert abs(sum(types) - sum(wanted_types)) <= 1


def test_texts_that_begin_alike_are_one_input_in_either_order() -> None:
    begin = "the moon is far " * 40
    pairs = [(begin + "x", begin), (begin + "x", begin + "y " * 90), (begin, begin), ("the", "the moon")]
    for max_len in (16, 17, 64):
        assert SORTED.ids(pairs, max_len) == SORTED.ids(turned(pairs), max_len)


def test_single_texts_spans_and_windows_are_as_they_were() -> None:
    assert SORTED.ids(LINES, 32) == GIVEN.ids(LINES, 32)
    assert SORTED.windows("what", "a moon", 16, 2) == GIVEN.windows("what", "a moon", 16, 2)
    assert SORTED.spans("what moon", 16) == GIVEN.spans("what moon", 16)


def sorting(folder: Path) -> Path:
    """Say of a model directory that its texts are sorted."""
    (folder / "tokenizer_config.json").write_text('{"sort_texts": true}')
    return folder


def copied(tmp_path: Path) -> Path:
    source = model_directory()
    network = mobilebert_models.load_pretrained(source)
    mobilebert_models.save_pretrained(
        network,
        tmp_path / "model",
        tokenizer_from=source,
        settings=mobilebert_models.MatcherSettings.load(source),
    )
    return sorting(tmp_path / "model")


def test_a_model_directory_says_so_and_its_copies_too(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    network = mobilebert_models.load_pretrained(folder)
    mobilebert_models.save_pretrained(network, tmp_path / "copy", tokenizer_from=folder)
    assert PairTokenizer.load(tmp_path / "copy").sort_texts
    one = open_scorer(str(folder), 1)
    scores = one.score(PAIRS)
    np.testing.assert_array_equal(scores, one.score(turned(PAIRS)))
    plain = open_scorer(str(model_directory()), 1)
    orders = np.stack([plain.score(PAIRS), plain.score(turned(PAIRS))])
    assert np.abs(orders[0] - orders[1]).max() > 1e-3
    np.testing.assert_allclose(np.abs(orders - scores).min(0), 0, atol=1e-6)
    (folder / "tokenizer_config.json").write_text('{"sort_texts": "yes"}')
    with pytest.raises(ModelError, match=r"tokenizer_config\.json: sort_texts is 'yes', neither true nor"):
        PairTokenizer.load(folder)


def sorted_artefact(folder: Path) -> tuple[Path, ArtefactCard]:
    write_artefact(folder, "onnx", onnx_model())
    card = ArtefactCard.from_json(json.loads((folder / "io.json").read_text()), folder)
    card = replace(card, tokenizer=replace(card.tokenizer, sort_texts=True))
    (folder / "io.json").write_text(json.dumps(card.to_json()))
    write_checksums(folder)
    return folder, card


def test_an_artefact_scores_both_orders_alike_in_one(tmp_path: Path) -> None:
    folder, card = sorted_artefact(tmp_path / "artefact")
    data = json.loads((folder / "io.json").read_text())
    assert (data["tokenizer"]["spelling"], data["tokenizer"]["sort_texts"]) == (None, True)
    assert ArtefactCard.from_json(data, folder) == card
    matcher = Matcher.load(folder)
    assert matcher.card.symmetric
    scores = matcher.score(PAIRS)
    np.testing.assert_array_equal(scores, matcher.score(turned(PAIRS)))
    np.testing.assert_array_equal(scores, matcher.score(PAIRS, symmetric=True))
    plain = Matcher.load(write_artefact(tmp_path / "plain", "onnx", onnx_model()))
    assert not plain.card.symmetric
    orders = np.stack([plain.score(PAIRS), plain.score(turned(PAIRS))])
    np.testing.assert_allclose(np.abs(orders - scores).min(0), 0, atol=1e-6)


def test_with_spelling_a_card_survives_its_json(tmp_path: Path) -> None:
    _, card = sorted_artefact(tmp_path / "artefact")
    card = replace(card, tokenizer=replace(card.tokenizer, spelling=True))
    assert ArtefactCard.from_json(json.loads(json.dumps(card.to_json())), tmp_path) == card


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sort_texts": None}, "wrong type"),
        ({"sort_texts": 1}, "wrong type"),
        ({"spelling": "words.txt"}, r"spelling is 'words\.txt'"),
    ],
)
def test_cards_that_contradict_themselves_are_refused(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    _, card = sorted_artefact(tmp_path / "artefact")
    values = card.to_json()
    values["tokenizer"] |= change
    with pytest.raises(ArtefactError, match=message):
        ArtefactCard.from_json(values, Path("io.json"))


def test_only_a_cross_encoder_of_matching_texts_may_sort_them(tmp_path: Path) -> None:
    _, card = sorted_artefact(tmp_path / "artefact")
    with pytest.raises(ArtefactError, match="sort_texts does not fit text-classification"):
        replace(card, task=CLASSIFICATION)
    with pytest.raises(ArtefactError, match="sort_texts does not fit text-matching by vectors"):
        replace(card, embedding=Embedding(8, normalized=True))
