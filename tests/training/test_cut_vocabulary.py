"""Promise: a cut vocabulary is WordPiece still, and the teacher reads it as it read the whole one.

Words as product codes can be changed for other words of the parent.
"""

import numpy as np
import pytest
import torch
from transformers import BertTokenizerFast

from mobilebert_models import EncoderConfig, build, save_pretrained
from mobilebert_models.weights.word_codes import WordCodes, find_codes
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.initialization.cut_vocabulary import (
    entry_counts,
    frequent_entries,
    kept_entries,
    with_entries,
    with_other_entries,
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


PARENT = 6000  # rows of the parent's table


@pytest.fixture(scope="module")
def coded():
    """An encoder whose words have 200 codes a group, the parent's table, and which of its rows they are."""
    draw = np.random.default_rng(0)
    parent = torch.from_numpy(draw.normal(size=(PARENT, 8))).float()
    held = draw.permutation(PARENT)[:4200].tolist()
    config = EncoderConfig(
        vocab_size=4200, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    encoder = build(config, None, seed=0)
    codes = torch.from_numpy(draw.integers(0, 200, (4200, 2)))
    book = torch.from_numpy(draw.normal(size=(2, 256, 4))).float()  # nothing like the parent's rows
    rows = WordCodes.of_codebook(codes, book).table()
    encoder.embeddings.word_embeddings.weight = torch.nn.Parameter(rows, requires_grad=False)
    return encoder, parent, held


def test_a_new_entry_takes_the_codes_of_the_parents_nearest_rows(coded):
    """By brute force in float64, over vectors and not over numbers of codes."""
    encoder, parent, held = coded
    before = encoder.embeddings.word_embeddings.weight.clone()
    parent = parent.clone()
    new = sorted(set(range(PARENT)) - set(held))[:60]
    parent[new[0]] = 0  # where the mean of no rows at all would be
    kept = sorted([*held[:4100], *new])
    other = with_other_entries(encoder, parent, held, kept)
    found, table = other.embeddings.word_embeddings.weight, before.numpy()
    assert other.config.vocab_size == len(found) == other.embeddings.word_embeddings.num_embeddings == 4160
    for group in (slice(0, 4), slice(4, 8)):
        members = {}
        for row, i in enumerate(held):
            members.setdefault(tuple(table[row, group].tolist()), []).append(
                parent[i, group].double().numpy()
            )
        vectors, means = list(members), np.array([np.mean(rows, 0) for rows in members.values()])
        for number, i in enumerate(kept):
            if i in new:
                nearest = np.square(means - parent[i, group].double().numpy()).sum(1).argmin()
                assert tuple(found[number, group].tolist()) == vectors[nearest], i
    stays = {i: row for row, i in enumerate(held)}
    for number, i in enumerate(kept):
        assert i in new or torch.equal(found[number], before[stays[i]])
    assert find_codes(found) is not None
    assert torch.equal(encoder.embeddings.word_embeddings.weight, before), "the encoder must stay as it is"
    assert encoder.config.vocab_size == 4200
    for (name, a), b in zip(other.named_parameters(), encoder.parameters(), strict=True):
        assert "word_embeddings" in name or torch.equal(a, b)


def test_words_without_codes_or_of_another_width_are_errors(coded):
    encoder, parent, held = coded
    with pytest.raises(ModelError, match="8 columns, the parent's of 6"):
        with_other_entries(encoder, parent[:, :6], held, held)
    plain = build(encoder.config, None, seed=0)
    with pytest.raises(ModelError, match="without product codes"):
        with_other_entries(plain, parent, held, held)


def test_codes_are_found_again_where_the_row_of_the_largest_number_goes(coded):
    encoder, parent, held = coded
    before = encoder.embeddings.word_embeddings.weight
    largest = before.abs().amax(1)
    gone = {i for row, i in enumerate(held) if largest[row] == largest.max()}
    kept = [i for i in held if i not in gone]
    found = with_other_entries(encoder, parent, held, kept).embeddings.word_embeddings.weight
    assert found.abs().max() < before.abs().max()
    codes = find_codes(found).codes
    row = {i: number for number, i in enumerate(held)}
    stays = [row[i] for i in kept]
    assert (found - before[stays]).abs().max() <= largest.max() / 127 / 2
    theirs = find_codes(before).codes[stays]
    for ours, old in zip(codes.t(), theirs.t(), strict=True):
        assert len({*zip(ours.tolist(), old.tolist(), strict=True)}) == len(old.unique())
