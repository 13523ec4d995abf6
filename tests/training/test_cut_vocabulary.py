"""Promise: a cut vocabulary is WordPiece still, and the teacher reads it as it read the whole one."""

import numpy as np
import pytest
import torch
from transformers import BertTokenizerFast

from mobilebert_models import EncoderConfig, build, save_pretrained
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.initialization.cut_vocabulary import (
    entry_counts,
    frequent_entries,
    kept_entries,
    with_entries,
    write_cut_tokenizer,
)
from mobilebert_training.initialization.student import init_student
from tests.helpers.texts import MINILM
from tests.helpers.toys import WORDS

TEXTS = [f"How do I {a} my {b}?" for a in WORDS for b in WORDS]
SIZE = 700
TEACHER = EncoderConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40)
STUDENT = EncoderConfig(
    model_type="mobilebert",
    vocab_size=SIZE,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=24,
    hidden_act="relu",
    normalization_type="no_norm",
    max_position_embeddings=64,
    embedding_size=16,
    intra_bottleneck_size=16,
    key_query_shared_bottleneck=True,
)


@pytest.fixture(scope="module")
def kept():
    return frequent_entries(MINILM, TEXTS, SIZE)


@pytest.fixture(scope="module")
def cut(kept, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cut") / "tokenizer"
    write_cut_tokenizer(MINILM, kept, folder)
    return folder


def test_keeps_what_is_frequent_and_every_letter(kept, cut):
    entries = (cut / "vocab.txt").read_text(encoding="utf-8").splitlines()
    whole = (MINILM / "vocab.txt").read_text(encoding="utf-8").splitlines()
    assert entries == [whole[i] for i in kept]
    assert len(entries) == len(set(entries)) == SIZE
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    for entry in (
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "how",
        *WORDS,
        *letters,
        *map("##{}".format, letters),
    ):
        assert entry in entries


def test_splits_as_transformers_does_with_the_same_entries(cut):
    reference = BertTokenizerFast(vocab=str(cut / "vocab.txt"), do_lower_case=True)
    texts = ["How do I cook rice?", "unbelievably photosynthetic Zürich", "naïve €5 图 ", "", *TEXTS[:20]]
    pairs = [(a, b) for a in texts for b in texts[:5]]
    ours = PairTokenizer.load(cut).ids(pairs, 64)
    theirs = reference(
        [a for a, _ in pairs], [b for _, b in pairs], truncation="longest_first", max_length=64
    )
    assert [ids for ids, _ in ours] == theirs["input_ids"]
    assert [types for _, types in ours] == theirs["token_type_ids"]


def test_teacher_answers_alike_where_no_word_falls_apart(kept, cut):
    teacher = build(TEACHER, seed=0)
    pairs = list(zip(TEXTS[:16], reversed(TEXTS[:16]), strict=True))
    answers = []
    for network, directory in ((teacher, MINILM), (with_entries(teacher, kept), cut)):
        inputs = PairTokenizer.load(directory).encode(pairs, 32)
        with torch.no_grad():
            answers.append(network(**{k: torch.from_numpy(v) for k, v in inputs.items()}))
    torch.testing.assert_close(*answers, rtol=0, atol=0)
    assert teacher.config.vocab_size == 30522, "the teacher itself must stay as it is"


def test_student_of_a_cut_vocabulary_is_seated_with_its_teacher(kept, tmp_path):
    save_pretrained(build(TEACHER, seed=0), tmp_path / "teacher", tokenizer_from=MINILM)
    room = init_student(STUDENT, tmp_path / "teacher", TEXTS, tmp_path / "run")
    assert room.student.config.vocab_size == room.teacher.config.vocab_size == SIZE
    assert PairTokenizer.load(room.tokenizer).vocab_size == SIZE
    rows = room.teacher.encoder.embeddings.word_embeddings.weight.detach().double()
    student = room.student.encoder.embeddings
    middle = student.embedding_transformation.weight[:, 16:32].detach().double()
    again = student.word_embeddings.weight.detach().double() @ middle.t()
    left, values, right = np.linalg.svd(rows.numpy(), full_matrices=False)
    best = torch.from_numpy(left[:, :16] * values[:16] @ right[:16])
    torch.testing.assert_close(again[1:], best[1:], rtol=1e-4, atol=1e-5)
    save_pretrained(room.student, tmp_path / "student", tokenizer_from=room.tokenizer)
    went_on = init_student(
        STUDENT, tmp_path / "teacher", TEXTS, tmp_path / "again", start=tmp_path / "student"
    )
    for name, value in room.student.state_dict().items():
        assert torch.equal(value, went_on.student.state_dict()[name]), name
    with pytest.raises(ModelError, match=r"vocab\.txt is not the one"):
        init_student(
            STUDENT, tmp_path / "teacher", ["other words"] * 9, tmp_path / "other", start=tmp_path / "student"
        )


def test_bad_sizes_and_directories_are_errors(tmp_path):
    for size in (3, 30523):
        with pytest.raises(ModelError, match=f"vocabulary of {size:,} entries: expected"):
            frequent_entries(MINILM, TEXTS, size)
    with pytest.raises((ModelError, ModelError), match="no such file"):
        frequent_entries(tmp_path, TEXTS, SIZE)


def test_entries_count_as_often_as_their_texts():
    reference = BertTokenizerFast(vocab=str(MINILM / "vocab.txt"), do_lower_case=True)
    texts, times = ["photosynthetic tea tea", "Tea?", "", "law"], [0.5, 2.0, 7.0, 0.25]
    wanted = {}
    for text, count in zip(texts, times, strict=True):
        for i in reference(text, add_special_tokens=False)["input_ids"]:
            wanted[i] = wanted.get(i, 0) + count
    assert entry_counts(MINILM, texts, times) == wanted
    assert wanted[reference.convert_tokens_to_ids("tea")] == 3
    assert entry_counts(MINILM, texts)[reference.convert_tokens_to_ids("tea")] == 3


def test_entries_of_the_highest_scores_stay_and_the_lower_id_of_equal_ones():
    whole = (MINILM / "vocab.txt").read_text(encoding="utf-8").splitlines()
    must = {
        i
        for i, entry in enumerate(whole)
        if entry in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
        or (len(entry.removeprefix("##")) == 1 and ord(entry.removeprefix("##")) < 0x250)
    }
    scores = {i: float(np.random.default_rng(i).integers(1, 9)) for i in range(5000, 9000)}
    scores |= dict.fromkeys(must, -1.0)  # these stay whatever they score
    kept = kept_entries(MINILM, scores, SIZE)
    others = [i for i in kept if i not in must]
    assert kept == sorted(kept)
    assert must <= set(kept)
    ranked = sorted((i for i in range(len(whole)) if i not in must), key=lambda i: (-scores.get(i, 0), i))
    assert others == sorted(ranked[: SIZE - len(must)])
    assert {scores[i] for i in others} == {8.0}, "fewer than there are of the highest score, so ids decide"
