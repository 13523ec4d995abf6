"""Promise: students learn what two teachers say, in weights that a small file can hold; a run goes on."""

import json
import random
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch
from torch import nn

import recipes.general_matchers.train_students
from mobilebert_models import build, load_pretrained, save_pretrained
from mobilebert_models.weights.four_bit import find_four_bits, four_bit_layers
from mobilebert_models.weights.word_codes import find_codes, product_codes
from mobilebert_runtime.errors import DataError, ModelError, OptionError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.distillation.losses import NEAR, NEAR_COSINE, SIMILARITY, vector_losses
from mobilebert_training.training_config import ResumeError
from recipes.general_matchers.noise import Misspeller
from recipes.general_matchers.teachers import read
from recipes.general_matchers.text_stream import GROUP, TextStream, edited
from recipes.general_matchers.train_students import StudentConfig, Teachers, TrunkTraining, train_students
from recipes.general_matchers.trainable_grids import (
    CodedWords,
    FourBitRows,
    begin_rounding,
    is_rounding,
    linear_layers,
    make_ordinary,
    make_trainable,
)
from studies.general_matcher.train_students import main, parsed
from tests.helpers.networks import TOY, spread
from tests.helpers.texts import MINILM

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = [
    "tea",
    "law",
    "chess",
    "river",
    "moon",
    "stone",
    "garden",
    "letter",
    "winter",
    "doctor",
    "number",
    "engine",
]


def coded(seed=0):
    encoder = spread(build(TOY, None, seed=seed), seed)
    words = encoder.embeddings.word_embeddings
    table = product_codes(words.weight, torch.ones(len(words.weight)), 4).table()
    encoder.embeddings.word_embeddings = nn.Embedding.from_pretrained(table, freeze=True)
    encoder.pooler = None
    return encoder.eval()


def batch_of(count=6, length=9, seed=0):
    draw = torch.Generator().manual_seed(seed)
    mask = (torch.arange(length) < torch.arange(3, 3 + count).clamp(max=length)[:, None]).long()
    ids = torch.randint(1000, 9000, (count, length), generator=draw) * mask
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": torch.zeros_like(ids)}


def texts_of(count, seed=0):
    draw = random.Random(seed)
    return [" ".join(draw.sample(WORDS, draw.randint(3, 6))) for _ in range(count)]


def test_words_are_read_from_trained_codebooks_and_found_again():
    table = coded().embeddings.word_embeddings.weight
    words, ids = CodedWords(table), torch.tensor([[5, 1000], [7, 7]])
    assert torch.allclose(words(ids), table[ids])
    words(ids).square().sum().backward()
    touched = words.codebook.grad.abs().sum(-1) > 0
    assert touched.any()
    assert (touched.sum(1) <= 3).all()  # of three different words
    with torch.no_grad():
        words.codebook.mul_(1.01)
    assert torch.equal(find_codes(words.table()).codes, find_codes(table).codes)
    error = (words.table() - 1.01 * table).abs().max()
    assert error <= 0.51 * 1.01 * table.abs().max() / 127


def test_words_without_codes_are_refused():
    with pytest.raises(ModelError, match="without product codes"):
        CodedWords(torch.randn(5000, 24))


def test_rows_are_rounded_to_their_grid_and_gradients_pass():
    weight = torch.randn(10, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).float()
    weight[3] = 0
    weight.requires_grad_()
    rows = FourBitRows(10)
    assert rows(weight) is weight
    rows.on = True
    rows.share.uniform_(0.6, 1.0, generator=torch.Generator().manual_seed(2))
    found = find_four_bits(rows(weight))
    assert (found.codes.abs().amax(1) == 7)[torch.arange(10) != 3].all()
    # By definition: the nearest of the 15 points, the ends among them.
    step = (weight.detach().abs().amax(1, keepdim=True) / 7 * rows.share).half().float()
    points = (torch.arange(-7, 8) * step[:, :, None]).expand(-1, weight.shape[1], -1)
    wanted = points.gather(2, (points - weight.detach()[:, :, None]).abs().argmin(2, keepdim=True))[..., 0]
    assert torch.allclose(rows(weight)[step[:, 0] > 0], wanted[step[:, 0] > 0])
    given = torch.randn(10, 32)
    (rows(weight) * given).sum().backward()
    assert torch.equal(weight.grad, given)


@pytest.mark.parametrize(("which", "count"), [("none", 0), ("feed-forward", 4), ("all", 12)])
def test_an_encoder_is_rounded_in_training_and_ordinary_after_it(which, count, tmp_path):
    encoder, batch = coded(), batch_of()
    before = encoder(**batch).last_hidden_state
    make_trainable(encoder, linear_layers(encoder, which))
    assert torch.allclose(encoder(**batch).last_hidden_state, before, atol=1e-6)
    begin_rounding(encoder, batch)
    rounded = encoder(**batch).last_hidden_state
    assert torch.equal(rounded, before) == (count == 0)
    again = coded(seed=1)
    make_trainable(again, linear_layers(again, which))
    assert not is_rounding(again)
    again.load_state_dict(encoder.state_dict())  # that rounding has begun is part of it
    assert is_rounding(again) == (count > 0)
    assert torch.equal(again(**batch).last_hidden_state, rounded)
    make_ordinary(encoder)
    assert torch.allclose(encoder(**batch).last_hidden_state, rounded, atol=1e-6)
    assert len(four_bit_layers(encoder)) == count
    save_pretrained(encoder, tmp_path / "model", eight_bit=True)
    read_again = load_pretrained(tmp_path / "model")
    assert four_bit_layers(read_again) == four_bit_layers(encoder)
    found = read_again.embeddings.word_embeddings.weight
    assert torch.equal(found, encoder.embeddings.word_embeddings.weight)


@pytest.mark.parametrize("times", [None, 0.0, 4.0])
def test_loss_of_vectors_is_its_definition_in_float64(times):
    draw = np.random.default_rng(0)
    ours, target = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in draw.normal(size=(2, 7, 5)))
    wanted = draw.uniform(-1, 1, (7, 7))
    given = [torch.from_numpy(x) for x in (ours, target, wanted)]
    loss, parts = vector_losses(*given) if times is None else vector_losses(*given, times)
    pairs = [(i, j) for i in range(7) for j in range(7)]
    errors = {(i, j): (ours[i] @ ours[j] - wanted[i, j]) ** 2 for i, j in pairs}
    near = [errors[i, j] for i, j in pairs if i != j and wanted[i, j] > NEAR_COSINE]
    assert near
    expected = {
        "sentence": np.mean([1 - ours[i] @ target[i] for i in range(7)]),
        "similarity": np.mean(list(errors.values())),
        "near_similarity": np.mean(near),
    }
    assert {name: pytest.approx(float(part), rel=1e-5) for name, part in parts.items()} == expected
    between = SIMILARITY * expected["similarity"] + NEAR * expected["near_similarity"]
    wanted_loss = expected["sentence"] + (1.0 if times is None else times) * between
    assert float(loss) == pytest.approx(wanted_loss, rel=1e-5)


@pytest.fixture(scope="module")
def teachers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("teachers")
    for name, size in (("near", 24), ("wide", 48)):
        encoder = spread(build(replace(TOY, hidden_size=size), None, seed=size), size)
        save_pretrained(encoder, folder / name, tokenizer_from=MINILM)
    return folder


def test_targets_and_near_texts_are_their_definitions(teachers):
    both, texts = Teachers(teachers / "near", teachers / "wide", 0.3), texts_of(40)
    vectors = both.read(texts, 16)
    alone = both.vectors({name: read(t, texts[:1]) for name, t in both.tokenizers.items()})
    for name, values in vectors.items():
        assert torch.allclose(values[:1], alone[name], atol=1e-5)
    draw = torch.Generator().manual_seed(0)
    both.map = torch.linalg.qr(torch.randn(48, 24, generator=draw)).Q
    target, similarity = both.targets(vectors)
    near, wide = (vectors[name].double().numpy() for name in ("near", "wide"))
    turned = wide @ both.map.double().numpy()
    blend = 0.3 * near + 0.7 * turned / np.linalg.norm(turned, axis=1, keepdims=True)
    assert np.allclose(target, blend / np.linalg.norm(blend, axis=1, keepdims=True), atol=1e-5)
    cosines = 0.3 * near @ near.T + 0.7 * wide @ wide.T
    assert np.allclose(similarity, cosines, atol=1e-5)
    np.fill_diagonal(cosines, -np.inf)
    found = both.nearest(vectors)
    assert found.shape == (40, 16)
    assert np.allclose(np.take_along_axis(cosines, found, 1), -np.sort(-cosines, 1)[:, :16], atol=1e-5)
    assert np.array_equal(found[:, 0], cosines.argmax(1))


class AskedQuestions:
    """In the place of `PhraseQuestions`: of toy sentences it would find no phrases."""

    def __init__(self, words=()):
        self.words = list(words)

    def group(self, draw):
        return [f"who asks {draw.choice(WORDS)}?" for _ in range(GROUP)]

    def word(self, draw):
        return draw.choice(self.words)


def stream(noise=0.0, seed=0, texts=None, questions=None):
    tokenizer = PairTokenizer.load(MINILM)
    texts = texts or texts_of(60)
    near = np.random.default_rng(1).integers(0, len(texts), (len(texts), 8))
    sentences = [f"{text} on a day" for text in texts_of(30, seed=9)]
    return TextStream(
        texts,
        np.arange(len(texts), dtype=float),
        near,
        sentences,
        questions,
        {"teacher": tokenizer},
        {"student": tokenizer},
        Misspeller(None),
        noise,
        16,
        seed,
    )


def test_batches_are_drawn_by_the_seed_alone_and_hold_what_they_should():
    first, again, other = (list(islice(stream(seed=seed), 8)) for seed in (0, 0, 1))
    for a, b in zip(first, again, strict=True):
        assert all(torch.equal(a["teacher"][name], b["teacher"][name]) for name in a["teacher"])
    drawn, others = (
        [batch["teacher"]["input_ids"].tolist() for batch in batches] for batches in (first, other)
    )
    assert drawn != others
    assert all(len(batch["teacher"]["input_ids"]) == 16 for batch in first)
    made = stream()
    units = made._units(random.Random(0))
    groups = [unit for unit in units if len(unit) == GROUP]
    assert len(groups) * GROUP == sum(map(len, units)) // 2
    for group in groups:
        row = made.texts.index(group[0])
        assert set(group[1:]) <= {made.texts[k] for k in made.near[row]}
    assert made.texts[0] not in [group[0] for group in groups]  # it counts for nothing
    assert sum(unit[0].endswith("on a day") for unit in units if len(unit) == 1) * 4 == sum(map(len, units))


def test_questions_take_three_eighths_from_near_texts_and_sentences():
    units = stream(questions=AskedQuestions())._units(random.Random(0))
    every = sum(map(len, units))
    groups = [unit for unit in units if len(unit) == GROUP]
    asked = [unit for unit in groups if unit[0].startswith("who asks")]
    assert len(asked) * GROUP * 8 == 3 * every
    assert (len(groups) - len(asked)) * GROUP * 8 == 2 * every
    assert sum(len(unit) == 1 for unit in units) * 8 == every
    assert sum(len(unit) == 2 for unit in units) * 2 * 8 == 2 * every


LISTED = ("crypto", "selfie", "laptop")  # in no text


def test_half_of_the_edits_take_words_of_a_list_where_there_is_one():
    draw = random.Random(0)
    with_list, without = (stream(questions=AskedQuestions(words)) for words in (LISTED, ()))
    found = [with_list._strange(draw) for _ in range(600)]
    listed = [text for text in found if set(text.split()) <= set(LISTED)]
    assert all(len(text.split()) == 3 for text in listed)
    assert 0.42 < len(listed) / 600 < 0.58
    assert {word for text in listed for word in text.split()} == set(LISTED)
    assert all(text.endswith("on a day") for text in found if text not in listed)
    for made, some in ((with_list, True), (without, False), (stream(), False)):
        units = [unit for seed in range(4) for unit in made._units(random.Random(seed))]
        new = [bool(set(unit[1].split()) & set(LISTED)) for unit in units if len(unit) == 2]
        assert any(new) == some
        assert not any(set(" ".join(unit).split()) & set(LISTED) for unit in units if len(unit) != 2)


def test_nobody_reads_question_marks_in_three_quarters_of_the_batches():
    mark = PairTokenizer.load(MINILM).vocabulary()["?"]
    texts = [f"is {text}? or {text}?" for text in texts_of(60)]  # within a text and at its end
    read_marks = []
    for batch in islice(stream(texts=texts, questions=AskedQuestions()), 300):
        teacher, student = batch["teacher"], batch["student"]
        assert all(torch.equal(teacher[name], student[name]) for name in teacher)
        here, whole = student["input_ids"] == mark, (student["input_ids"] != 0).long()  # [PAD] is 0
        if here.any():  # some batches are sentences alone
            read_marks.append(bool(student["attention_mask"][here].any()))
            wanted = whole if read_marks[-1] else whole * ~here
            assert torch.equal(student["attention_mask"], wanted), "the marks keep their places"
    assert len(read_marks) > 200
    assert 1 - np.mean(read_marks) == pytest.approx(0.75, abs=0.09)


def test_a_vocabulary_without_question_marks_is_read_as_it_is():
    made = stream()
    made.marks = dict.fromkeys(made.marks)
    for batch in islice(made, 12):
        assert torch.equal(batch["student"]["attention_mask"], (batch["student"]["input_ids"] != 0).long())


def test_students_alone_read_misspelt_texts():
    (clean,) = islice(stream(noise=0.0), 1)
    assert torch.equal(clean["teacher"]["input_ids"], clean["student"]["input_ids"])
    (noisy,) = islice(stream(noise=1.0), 1)
    (plain,) = islice(stream(noise=1.0), 1)
    assert torch.equal(noisy["teacher"]["input_ids"], plain["teacher"]["input_ids"])
    as_is, misspelt = (
        [row[mask > 0].tolist() for row, mask in zip(read["input_ids"], read["attention_mask"], strict=True)]
        for read in (noisy["teacher"], noisy["student"])
    )
    assert sum(a != b for a, b in zip(as_is, misspelt, strict=True)) > 8


@pytest.mark.parametrize("seed", range(20))
def test_an_edit_changes_one_or_two_words(seed):
    text, other = "the red tea pot is on the old table", "winter stone"
    words, changed = text.split(), edited(text, other, random.Random(seed)).split()
    assert abs(len(words) - len(changed)) <= 2
    strange = [word for word in changed if word not in words]
    assert len(strange) <= 2
    assert set(strange) <= set(other.split())


@pytest.fixture
def run_config(teachers, tmp_path, monkeypatch):
    monkeypatch.setattr(recipes.general_matchers.train_students, "NOTED", 2)
    cache = tmp_path / "cache"
    cache.mkdir()
    lines = "".join(f"questions\t{text} {k}\n" for k, text in enumerate(texts_of(240)))
    (cache / "texts.tsv").write_text("source\ttext\n" + lines)
    (tmp_path / "sentences.txt").write_text("".join(f"{text} on a day\n" for text in texts_of(50, seed=5)))
    students = [
        StudentConfig("one", replace(TOY, intermediate_size=16), str(teachers / "near"), "all", 2e-3),
        StudentConfig("two", TOY, str(teachers / "near"), "feed-forward", 2e-3),
    ]
    return TrunkTraining(
        out=tmp_path / "run",
        cache=cache,
        sentences=tmp_path / "sentences.txt",
        near=teachers / "near",
        wide=teachers / "wide",
        students=students,
        seconds=3,
        size=16,
        workers=0,
    )


def records(config):
    return [json.loads(line) for line in (config.out / "record.jsonl").read_text().splitlines()]


def rotations(config):
    return torch.load(config.out / "checkpoint.pt", weights_only=True)["rotations"]


def test_students_come_nearer_to_their_teachers_and_a_run_goes_on(run_config):
    train_students(replace(run_config, seconds=0.01))
    begun = records(run_config)[-1]
    first = rotations(run_config)
    train_students(run_config)
    last = rotations(run_config)
    assert all(torch.equal(first[name], last[name]) for name in first)  # one target all along
    assert not torch.equal(first["one"], first["two"])
    *steps, done = records(run_config)[1:]
    assert steps[0]["step"] > begun["step"]
    assert done["seconds"] >= 3
    for name, count in (("one", 12), ("two", 4)):
        assert done["held_cosine"][name] > begun["held_cosine"][name]
        trunk = load_pretrained(run_config.out / name / "trunk")
        assert len(four_bit_layers(trunk)) == count
        assert find_codes(trunk.embeddings.word_embeddings.weight) is not None
    before = load_pretrained(run_config.out / "one" / "trunk")
    train_students(run_config)  # nothing is left to do
    assert records(run_config)[-1] == done
    after = load_pretrained(run_config.out / "one" / "trunk")
    for (name, a), b in zip(before.named_parameters(), after.parameters(), strict=True):
        assert torch.equal(a, b), name


def test_a_run_is_not_resumed_on_other_inputs(run_config):
    train_students(replace(run_config, seconds=0.01))
    before = (run_config.out / "checkpoint.pt").read_bytes()
    with pytest.raises(ResumeError, match="other noise"):
        train_students(replace(run_config, noise=0.5))
    texts = run_config.cache / "texts.tsv"
    texts.write_text(texts.read_text() + "questions\tone more\n")
    with pytest.raises(ResumeError, match="other texts"):
        train_students(run_config)
    assert (run_config.out / "checkpoint.pt").read_bytes() == before


def test_sentences_without_phrases_are_refused_where_questions_are_asked_for(run_config):
    with pytest.raises(DataError, match="without phrases"):
        train_students(replace(run_config, questions=True))


@pytest.mark.parametrize("similarity", [1.0, 4.0])
def test_similarities_count_in_a_students_loss_as_often_as_it_says(run_config, similarity):
    config = replace(run_config.students[1], similarity=similarity)
    student, batch = config.make(run_config.out, texts_of(240), 0), batch_of()
    draw = torch.Generator().manual_seed(0)
    target = nn.functional.normalize(torch.randn(6, 24, generator=draw), dim=1)
    wanted = torch.rand(6, 6, generator=draw)
    loss, parts = student.loss({student.reader: batch}, target, wanted, 0.5)
    between = SIMILARITY * parts["similarity"] + NEAR * parts["near_similarity"]
    assert between.item() > 0.1
    assert loss.item() == pytest.approx((parts["sentence"] + similarity * between).item(), rel=1e-4)


def test_words_without_questions_and_words_that_are_none_are_refused_before_any_work(run_config, tmp_path):
    with pytest.raises(OptionError, match="give --questions too"):
        main(tmp_path / "out", ["s=matcher-open-s"], words=tmp_path / "words.tsv")
    (tmp_path / "words.tsv").write_text("tea\n")
    with pytest.raises(DataError, match=r"words\.tsv, line 1"):
        train_students(replace(run_config, questions=True, words=tmp_path / "words.tsv"))
    assert not run_config.out.exists()


def test_a_student_is_read_off_the_command_line():
    found = parsed("s=matcher-open-s,num_hidden_layers=5,rate=1e-4,four_bits=feed-forward,parent=runs/x")
    assert (found.name, found.rate, found.four_bits, found.parent) == ("s", 1e-4, "feed-forward", "runs/x")
    assert found.shape.num_hidden_layers == 5
    assert found.similarity == 1
    assert parsed("s=matcher-open-s,similarity=4").similarity == 4
    for wrong in (
        "matcher-open-s",
        "s=matcher-open-s,depth=3",
        "s=matcher-open-s,rate=fast",
        "s=matcher-open-s,similarity=much",
        "s=matcher-open-s,four_bits=2",
    ):
        with pytest.raises(OptionError, match="--student"):
            parsed(wrong)
    with pytest.raises(ModelError, match="no-such"):
        parsed("s=no-such-preset")
