"""Promise of matching/wordpiece: the ids that `transformers` gives, on any text."""

import numpy as np
import pytest

from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import PairTokenizer
from tests.helpers.texts import MINILM, fuzzed_lines

LINES = 10_000


def test_ids_equal_transformers_on_ten_thousand_fuzzed_lines():
    from transformers import BertTokenizer

    theirs = BertTokenizer(vocab=str(MINILM / "vocab.txt"), do_lower_case=True)
    ours = PairTokenizer.load(MINILM)
    lines = fuzzed_lines(LINES)
    pairs = list(zip(lines, reversed(lines), strict=True))
    expected = theirs(lines, lines[::-1], truncation="longest_first", max_length=96)
    got = ours.ids(pairs, 96)
    assert len(got) == LINES
    different = [p for p, (i, _), e in zip(pairs, got, expected["input_ids"], strict=True) if i != e]
    assert not different, different[:3]
    assert [t for _, t in got] == expected["token_type_ids"]


def test_padding_and_shapes():
    tokenizer = PairTokenizer.load(MINILM)
    pairs = [
        ("a short one", "another"),
        ("how do I learn to swim well", "what is the best way to learn swimming"),
    ]
    full, short = tokenizer.encode(pairs, 32), tokenizer.encode(pairs, 32, pad_to="longest")
    longest = int(full["attention_mask"].sum(1).max())
    for name, array in full.items():
        assert array.shape == (2, 32)
        assert array.dtype == np.int32
        assert np.array_equal(array[:, :longest], short[name])
        assert not array[:, longest:].any()
    assert tokenizer.encode([], 8)["input_ids"].shape == (0, 8)


def test_long_and_empty_texts_fit_the_sequence():
    tokenizer = PairTokenizer.load(MINILM)
    arrays = tokenizer.encode([("word " * 500, "short text"), ("", ""), ("x" * 100_000, "")], 64)
    assert arrays["attention_mask"].sum(1).tolist() == [64, 3, 4]
    # The longer text is cut: the short one is whole, with its separator.
    assert arrays["token_type_ids"][0].sum() == 3


@pytest.mark.parametrize("content", [None, "", "{}", "not json"])
def test_missing_or_damaged_tokenizer_is_a_named_error(tmp_path, content):
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError, match=r"tokenizer\.json: (no such file|damaged)"):
        PairTokenizer.load(tmp_path)
