"""Promise of the tokenizer: the ids of `transformers`, on any text, in time that grows with its length."""

import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from mobilebert_models import find_directory
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


THEIRS = Tokenizer.from_file(str(MINILM / "tokenizer.json"))


def truncated_by_the_library(pairs, max_len):
    """The reference: `tokenizers` truncates itself, which takes quadratic time for two long texts."""
    THEIRS.no_padding()
    THEIRS.enable_truncation(max_len, strategy="longest_first")
    return [(e.ids, e.type_ids) for e in THEIRS.encode_batch(pairs)]


@pytest.mark.parametrize("max_len", [5, 8, 21])
def test_truncation_is_that_of_the_library(max_len):
    lines = fuzzed_lines(300, seed=max_len)
    pairs = list(zip(lines, reversed(lines), strict=True))
    ours = PairTokenizer.load(MINILM)
    assert ours.ids(pairs, max_len) == truncated_by_the_library(pairs, max_len)
    assert ours.ids(lines, max_len) == truncated_by_the_library(lines, max_len)


OURS = PairTokenizer.load(MINILM)
WORDS = st.text(st.sampled_from("ab éßİ数\u0301\u200b,'[SEP]\t\n"), max_size=12)
TEXTS = st.builds(lambda word, times, end: (word + " ") * times + end, WORDS, st.integers(0, 40), WORDS)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(pair=st.tuples(TEXTS, TEXTS), max_len=st.integers(12, 40))
def test_texts_longer_than_what_is_read_of_them_are_truncated_alike(pair, max_len):
    assert OURS.ids([pair], max_len) == truncated_by_the_library([pair], max_len)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_the_longer_of_two_long_texts_has_the_odd_token(more):
    """Its length is counted in pieces; the texts differ by one token at their very end."""
    pair = ("word " * 30_000, "longer words " * 15_000 + "end " * more if more >= 0 else "word " * 29_999)
    [(_, types)] = PairTokenizer.load(MINILM).ids([pair], 64)
    assert types.count(1) == 31 + (1 if more > 0 else 0) + (1 if more == 0 else 0)


def test_two_long_texts_take_time_in_proportion_to_their_length():
    tokenizer = PairTokenizer.load(MINILM)

    def seconds(words):
        pair = ("one two three four " * (words // 4), "five six seven eight " * (words // 4))
        start = time.process_time()
        tokenizer.ids([pair], 128)
        return time.process_time() - start

    seconds(20_000)
    assert min(seconds(160_000) for _ in range(3)) < 16 * min(seconds(20_000) for _ in range(3))


@pytest.mark.parametrize(("text", "read"), [("word " * 1_000_000, 4096), ("x" * 100_000, 100_005)])
def test_of_a_long_text_beside_a_short_one_only_the_beginning_is_read(text, read, monkeypatch):
    tokenizer = PairTokenizer.load(MINILM)
    seen = []
    encode = tokenizer._encode
    monkeypatch.setattr(tokenizer, "_encode", lambda texts, **how: seen.extend(texts) or encode(texts, **how))
    tokenizer.ids([(text, "short")], 64)
    assert sum(map(len, seen)) <= read


def test_a_tokenizer_whose_template_is_not_that_of_a_bert_is_refused(tmp_path):
    from tokenizers.processors import TemplateProcessing

    tokenizer = Tokenizer.from_file(str(MINILM / "tokenizer.json"))
    for template in ("[CLS] $B $A", "$A $B" + " [SEP]" * 9, "$A $B $A"):
        tokenizer.post_processor = TemplateProcessing(
            single="[CLS] $A", pair=template, special_tokens=[("[CLS]", 101), ("[SEP]", 102)]
        )
        tokenizer.save(str(tmp_path / "tokenizer.json"))
        with pytest.raises(ModelError, match="template"):
            PairTokenizer.load(tmp_path)


PARTS = [
    "moon",
    "Köln",
    "e\u0301",
    "中",
    "国",
    "!",
    "?",
    ".",
    ",",
    ";",
    "[SEP]",
    "[UNK]",
    "##a",
    "-",
    "'s",
    "\u00a0",
]
PARTS += [
    "\t",
    "\n",
    "\x0b",
    "\x85",
    "\u200b",
    "\u3000",
    "x" * 40,
    "\u0301",
    "\ufeff",
    "🙂",
    "\u2028",
    "ｆ",
    " ",
]


@pytest.mark.parametrize("name", ["matcher-open-s", "matcher-qqp-m"])
def test_a_text_that_is_read_in_parts_has_the_tokens_of_the_whole(name):
    tokenizer, draw = PairTokenizer.load(find_directory(name)).without_spelling(), random.Random(0)
    for _ in range(400):
        text = "".join(draw.choices(PARTS, k=draw.randint(5, 80)))
        parts, start = [], 0
        while start < len(text):
            head = tokenizer._head(text, start, draw.randint(1, 12))
            parts += tokenizer._encode([head])[0].ids
            start += len(head)
        assert parts == tokenizer._encode([text])[0].ids, text


@pytest.mark.parametrize("part", ["moon\t", "moon\u00a0", "moon\n", "月", "!"])
def test_of_a_long_text_without_spaces_only_the_beginning_is_read(part, monkeypatch):
    tokenizer, read = PairTokenizer.load(find_directory("matcher-open-s")).without_spelling(), []
    encode = tokenizer._encode
    monkeypatch.setattr(
        tokenizer, "_encode", lambda texts, **rest: (read.extend(texts), encode(texts, **rest))[1]
    )
    ids = tokenizer.ids([(part * 100_000, "b")], 64)
    assert sum(map(len, read)) < 10_000
    monkeypatch.undo()
    assert ids == tokenizer.ids([(part * 500, "b")], 64)
