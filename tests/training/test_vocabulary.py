"""Promise of distill/vocabulary: the pieces are SentencePiece's own, ids are ALBERT's, runs repeat."""

import subprocess
import sys

import pytest
import sentencepiece
from tokenizers import Tokenizer

from mobilebert_runtime.errors import DataError, OutputError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.tokenizer_training import SENTENCEPIECE_SPECIAL, WORDPIECE_SPECIAL, train_vocabulary
from tests.helpers.texts import inflected_lines as text


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    out = tmp_path_factory.mktemp("vocabulary") / "pieces"
    return out, train_vocabulary(text(300), "sentencepiece", 75, out)


def test_tokenizer_json_cuts_text_as_sentencepiece_does(pieces):
    out, _ = pieces
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    model = sentencepiece.SentencePieceProcessor(model_file=str(out / "spiece.model"))
    for line in [*text(200, seed=1), "Unseen wörds: straße!  ", "walk"]:
        ours = tokenizer.encode(line, add_special_tokens=False).ids
        # SentencePiece knows nothing of this normaliser: it reads what it leaves.
        theirs = model.encode(tokenizer.normalizer.normalize_str(line))
        # A run of unknown characters is one piece in both.
        assert ours == theirs, line


def test_special_entries_and_pairs_are_alberts(pieces):
    out, record = pieces
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    assert [tokenizer.id_to_token(i) for i in range(5)] == list(SENTENCEPIECE_SPECIAL)
    assert tokenizer.get_vocab_size() == record["entries"] == 75
    pair = tokenizer.encode("walk", "talked")
    assert pair.tokens[0] == "[CLS]"
    assert pair.tokens[-1] == "[SEP]"
    assert pair.type_ids == sorted(pair.type_ids)
    assert PairTokenizer.load(out).pad_id == 0
    assert 1 <= record["tokens_a_word"] < 4
    assert record["unknown_tokens"] == 0


def test_the_same_text_gives_the_same_files(pieces, tmp_path):
    out, _ = pieces
    train_vocabulary(text(300), "sentencepiece", 75, tmp_path / "again")
    assert (tmp_path / "again" / "tokenizer.json").read_bytes() == (out / "tokenizer.json").read_bytes()


def test_wordpiece_is_a_bert_vocabulary(tmp_path):
    train_vocabulary(text(100), "wordpiece", 80, tmp_path / "v")
    entries = (tmp_path / "v" / "vocab.txt").read_text(encoding="utf-8").splitlines()
    assert entries[:5] == list(WORDPIECE_SPECIAL)
    assert len(set(entries)) == 80
    from transformers import BertTokenizer

    theirs = BertTokenizer(str(tmp_path / "v" / "vocab.txt"))
    ours = PairTokenizer.load(tmp_path / "v")
    for line in text(50, seed=2):
        assert ours.ids([(line, "walking")], 64)[0][0] == theirs(line, "walking")["input_ids"]


def test_command_and_its_errors(tmp_path):
    (tmp_path / "corpus.txt").write_text("\n\n".join(text(60)), encoding="utf-8")
    command = [sys.executable, "-m", "mobilebert_export", "train-tokenizer", str(tmp_path / "corpus.txt")]
    command += ["--size", "60", "--out", str(tmp_path / "v")]
    assert subprocess.run(command, check=False).returncode == 0
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "--force" in again.stderr
    with pytest.raises(DataError, match="'bpe' is unknown; expected one of sentencepiece, wordpiece"):
        train_vocabulary(text(5), "bpe", 60, tmp_path / "b")
    with pytest.raises(DataError, match="cannot learn 30000 pieces"):
        train_vocabulary(text(5), "sentencepiece", 30_000, tmp_path / "b")
    with pytest.raises(DataError, match="cannot learn 60 pieces"):
        train_vocabulary([], "sentencepiece", 60, tmp_path / "b")
    with pytest.raises(DataError, match="not 30000"):
        train_vocabulary(text(5), "wordpiece", 30_000, tmp_path / "b")
    with pytest.raises(OutputError, match="exists"):
        train_vocabulary(text(5), "sentencepiece", 60, tmp_path / "v")
    assert not (tmp_path / "b").exists()
    assert not list(tmp_path.glob(".*"))
