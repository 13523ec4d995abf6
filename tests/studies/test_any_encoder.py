"""The study of encoders that others trained: its converter, its figures, its table."""

import json
import struct

import numpy as np
import pytest

from mobilebert_runtime.card import MATCHING, QUESTION_ANSWERING
from mobilebert_runtime.errors import DataError, ModelError
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.question_answerer import QuestionAnswerer
from studies.any_encoder.accuracy import figures, read_scored
from studies.any_encoder.e5_small import PackedModel, dequantised, read_packed, tokenizer_of
from studies.any_encoder.report import accuracy_and_latency
from studies.any_encoder.span_agreement import questions, spans
from tests.helpers import tiny_tasks

# multilingual-e5-small's character map says that a zero-width space is a space, a control character nothing.
CHARACTERS = {"a b": "a b", "a\tb": "a b", "a\u200bb": "a b", "a\x01b": "ab", "  a   b": "a b", "ﬁ①": "fi1"}


def test_four_bit_blocks_equal_the_definition_number_by_number() -> None:
    random = np.random.default_rng(0)
    scales, packed = (
        random.normal(size=3).astype(np.float16),
        random.integers(0, 256, (3, 16), dtype=np.uint8),
    )
    data = b"xx" + b"".join(
        struct.pack("<e", s) + bytes(p.tolist()) for s, p in zip(scales, packed, strict=True)
    )
    expected = [
        float(s) * ((int(p[i % 16]) >> (4 * (i // 16)) & 15) - 8)
        for s, p in zip(scales, packed, strict=True)
        for i in range(32)
    ]
    np.testing.assert_allclose(dequantised(data, 2, 96), expected, rtol=1e-6)


def test_tokenizer_reads_characters_as_the_map_of_the_package_does() -> None:
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces += [(piece, -1.0) for piece in ("▁", "a", "b", "f", "i", "1")]
    tokenizer = tokenizer_of(PackedModel((), 0.0, pieces, (0, 2, 1, 3), {}))
    for text, plain in CHARACTERS.items():
        words = [f"▁{word}" for word in plain.split()]
        assert "".join(tokenizer.encode(text, add_special_tokens=False).tokens) == "".join(words)
    assert tokenizer.encode("a", "b").tokens == ["<s>", "▁", "a", "</s>", "</s>", "▁", "b", "</s>"]


def test_another_file_is_refused(tmp_path) -> None:
    (tmp_path / "model.bin").write_bytes(b"E5S1")
    with pytest.raises(ModelError, match="fetch the package again"):
        read_packed(tmp_path / "model.bin")


def test_scored_pairs_find_their_columns(tmp_path):
    scored = tmp_path / "sts.tsv"
    scored.write_text('language\tscore\tsentence1\tsentence2\nde\t5.0\tein Hund\tHunde\nde\t0.5\ta "b\tc\n')
    read = read_scored(scored, prefix="query: ")
    assert read.pairs == [("query: ein Hund", "query: Hunde"), ('query: a "b', "query: c")]
    assert read.targets.tolist() == [5.0, 0.5]
    labelled = tmp_path / "qqp.tsv"
    labelled.write_text("label\tquestion1\tquestion2\n1\tx\ty\n0\tu\tv\n")
    assert read_scored(labelled, most=1).pairs == [("x", "y")]
    labelled.write_text("gold\tquestion1\tquestion2\n1\tx\ty\n")
    with pytest.raises(DataError, match="no column of labels, such as label or score"):
        read_scored(labelled)


def test_figures_of_a_matcher_are_counted_against_labels_and_against_float(tmp_path):
    matcher = Matcher.load(tiny_tasks.write(tmp_path / "matcher", MATCHING))
    threshold = matcher.card.threshold
    found = np.array([threshold + 0.01, threshold - 0.01, threshold, 0.0])
    in_float = np.array([threshold + 0.01, threshold, threshold, 0.0])
    made = figures(matcher, found, in_float, np.array([1.0, 1.0, 0.0, 0.0]))
    assert made == {"accuracy": 0.5, "auc": 0.75, "changed decisions": 0.25}


def test_spans_are_compared_by_their_characters(tmp_path):
    squad = tmp_path / "squad.json"
    paragraph = {
        "context": "b a c. " * 9,
        "qas": [{"id": "1", "question": "a b?"}, {"id": "2", "question": "c?"}],
    }
    squad.write_text(json.dumps({"data": [{"title": "T", "paragraphs": [paragraph]}]}))
    folder = tiny_tasks.write(tmp_path / "reader", QUESTION_ANSWERING)
    asked = questions(squad)
    found = spans(folder, asked, False, 1)
    assert set(found) == {"1", "2"}
    answer = QuestionAnswerer.load(folder).answer([("a b?", paragraph["context"])])[0]
    assert found["1"] == (answer.start, answer.end)


def test_the_table_has_a_row_for_each_file_and_ratios_to_float():
    files = {
        "tflite-none": {"bytes": 2_000_000, "recipe": "tflite-none", "sts-b": {"spearman": 0.8}},
        "ort-dynamic": {"bytes": 500_000, "sts-b": {"spearman": 0.79}},
    }
    times = {"tflite-none": {"p50_ms": 8.0}, "ort-dynamic": {"p50_ms": 6.0}}
    lines = accuracy_and_latency({"pairs": {"sts-b": 10}, "files": files}, times).split("\n")
    assert lines[2] == "| tflite-none | tflite-none | 2.0 | 0.8000 | 8.00 | 1.00 |"
    assert lines[3] == "| ort-dynamic |  | 0.5 | 0.7900 | 6.00 | 0.75 |"
