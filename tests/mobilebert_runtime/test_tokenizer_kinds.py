"""Promise of the tokenizer: WordPiece, byte-level BPE and Unigram give ids and spans of `transformers`."""

import json
import time

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from mobilebert_runtime.card_parts import BERT_TEMPLATE, TOKENIZER_KINDS, Template
from mobilebert_runtime.errors import DataError, ModelError
from mobilebert_runtime.tokenizer import PairTokenizer
from tests.helpers import tokenizer_kinds
from tests.helpers.texts import fuzzed_lines

LINES = [200, pytest.param(4000, marks=pytest.mark.slow)]
KINDS = tuple(tokenizer_kinds.KINDS)
FOUR_SPECIALS = ("mpnet", "roberta", "xlm-roberta")


@pytest.fixture(scope="module", params=KINDS)
def both(request, tmp_path_factory):
    """Ours and transformers' reading of the same file."""
    folder = tokenizer_kinds.write(request.param, tmp_path_factory.mktemp(request.param))
    pad = "<pad>" if request.param in FOUR_SPECIALS else "[PAD]"
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), pad_token=pad)
    return request.param, PairTokenizer.load(folder), theirs


@pytest.mark.parametrize("count", LINES)
def test_ids_of_fuzzed_lines_are_those_of_transformers(both, count):
    name, ours, theirs = both
    lines = fuzzed_lines(count, seed=5)
    pairs = list(zip(lines, reversed(lines), strict=True))
    for given, expected in (
        (lines, theirs(lines, truncation="longest_first", max_length=48)),
        (pairs, theirs(lines, lines[::-1], truncation="longest_first", max_length=48)),
    ):
        found = ours.ids(given, 48)
        different = [
            (one, i) for one, (i, _), e in zip(given, found, expected["input_ids"], strict=True) if i != e
        ]
        assert not different, different[:2]
        assert max(len(ids) for ids, _ in found) == 48
    if name == "bert":
        kinds = [encoding.type_ids for encoding in expected.encodings]
        assert [types for _, types in found] == kinds


@pytest.mark.parametrize("max_len", [7, 8, 17, 30])
def test_the_longer_text_is_truncated_first_whatever_the_special_tokens(both, max_len):
    _, ours, theirs = both
    lines = fuzzed_lines(60, seed=max_len)
    expected = theirs(lines, lines[::-1], truncation="longest_first", max_length=max_len)["input_ids"]
    assert [ids for ids, _ in ours.ids(list(zip(lines, lines[::-1], strict=True)), max_len)] == expected


@pytest.mark.parametrize("count", LINES)
def test_spans_of_a_text_are_those_of_transformers(both, count):
    _, ours, theirs = both
    lines = fuzzed_lines(count, seed=6)
    expected = theirs(lines, truncation=True, max_length=40, return_offsets_mapping=True)
    for i, line in enumerate(lines):
        found = ours.spans(line, 40)
        assert found.ids == expected["input_ids"][i]
        places = range(found.start, found.start + len(found.spans))
        offsets = [tuple(expected["offset_mapping"][i][place]) for place in places]
        assert [tuple(span) for span in found.spans] == offsets
        assert len(found.ids) - len(found.spans) == ours._single.size
        assert found.words == [expected.word_ids(i)[place] for place in places]


@pytest.mark.parametrize(("max_len", "stride"), [(40, 8), (33, 0), (48, 20)])
def test_windows_of_a_context_are_those_of_transformers(both, max_len, stride):
    _, ours, theirs = both
    lines = [line for line in fuzzed_lines(300, seed=max_len) if line.strip()]
    questions = [line[:6] for line in lines[:60]]
    contexts = [" ".join(lines[i : i + 1 + i % 6]) for i in range(60)]
    seen = 0
    for question, context in zip(questions, contexts, strict=True):
        try:
            expected = theirs(
                question,
                context,
                truncation="only_second",
                max_length=max_len,
                stride=stride,
                return_overflowing_tokens=True,
                return_offsets_mapping=True,
            )
        except BaseException as error:  # the library panics where the question leaves no room
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            with pytest.raises(DataError, match="the question has"):
                ours.windows(question, context, max_len, stride)
            continue
        found = ours.windows(question, context, max_len, stride)
        assert [window.ids for window in found] == expected["input_ids"]
        for i, window in enumerate(found):
            inside = [n == 1 for n in expected.sequence_ids(i)]
            assert window.start == inside.index(True) if any(inside) else not window.spans
            offsets = [o for o, there in zip(expected["offset_mapping"][i], inside, strict=True) if there]
            assert window.spans == offsets
        seen += len(found) > 1
    assert seen > 10


def test_kind_template_and_padding_are_read_from_the_file(both):
    name, ours, _ = both
    assert ours.kind == tokenizer_kinds.KINDS[name]
    assert ours.kind in TOKENIZER_KINDS
    roberta = Template(("<s>", "$A", "</s>"), ("<s>", "$A", "</s>", "</s>", "$B", "</s>"))
    one_type = Template(BERT_TEMPLATE.single, ("[CLS]", "$A", "[SEP]", "$B", "[SEP]"))
    assert ours.template == {"bert": BERT_TEMPLATE, "modernbert": one_type}.get(name, roberta)
    pads = {"bert": 0, "modernbert": 3}
    assert ours.pad_id == pads.get(name, 1)


def test_time_grows_with_the_text(both):
    _, ours, _ = both

    def seconds(words):
        pair = ("one two three four " * (words // 4), "x" * words * 5)
        start = time.process_time()
        ours.ids([pair], 128)
        return time.process_time() - start

    seconds(1000)
    assert min(seconds(16_000) for _ in range(2)) < 32 * min(seconds(1000) for _ in range(3))


def test_configs_of_a_model_directory_name_padding_and_length(tmp_path):
    folder = tokenizer_kinds.write("roberta", tmp_path)
    assert PairTokenizer.load(folder).max_length is None
    write = (folder / "tokenizer_config.json").write_text
    write(json.dumps({"pad_token": {"content": "<unk>"}, "model_max_length": 512}))
    found = PairTokenizer.load(folder)
    assert (found.pad_id, found.max_length) == (3, 512)
    write(json.dumps({"model_max_length": int(1e30), "pad_token": None}))
    (folder / "special_tokens_map.json").write_text(json.dumps({"pad_token": "</s>"}))
    found = PairTokenizer.load(folder)
    assert (found.pad_id, found.max_length) == (2, None)
    write(json.dumps({"pad_token": "[PADDING]"}))
    with pytest.raises(ModelError, match=r"tokenizer\.json: tokenizer has no \[PADDING\] token"):
        PairTokenizer.load(folder)
    write("{")
    with pytest.raises(ModelError, match=r"tokenizer_config\.json: damaged"):
        PairTokenizer.load(folder)


def test_another_kind_of_tokenizer_has_no_name(tmp_path):
    words = Tokenizer(models.WordLevel({"a": 0, "[PAD]": 1}, unk_token="a"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    assert PairTokenizer.load(tmp_path).kind is None


def test_a_bpe_with_dropout_which_splits_otherwise_each_time_has_no_name(tmp_path):
    data = json.loads(tokenizer_kinds.tokenizer("roberta").to_str())
    data["model"]["dropout"] = 0.1
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    assert PairTokenizer.load(tmp_path).kind is None
