"""Promise of matcher-open-m's recipe: it resumes, refuses other inputs, begins near its teacher."""

import copy
import itertools
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from mobilebert_models import EncoderConfig, build, load_pretrained, preset, save_pretrained
from mobilebert_models.config import KroneckerRule
from mobilebert_models.weights.word_codes import find_codes
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.training_config import ResumeError
from recipes.general_matchers.near import neighbours
from recipes.general_matchers.pool import Pool, write_pool
from recipes.mobilebert_trunk import other_starts, train
from recipes.mobilebert_trunk.start import warm_start
from recipes.mobilebert_trunk.train import Settings, Training, input_hash, rate_factor
from recipes.mobilebert_trunk.watch import agreement
from tests.helpers.letter_texts import by_words, texts
from tests.helpers.networks import spread
from tests.helpers.texts import MINILM

TEACHER = EncoderConfig(
    vocab_size=30522,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=6,
    intermediate_size=32,
    max_position_embeddings=64,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
SHAPE = replace(
    preset("matcher-m"),
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=6,
    intermediate_size=20,
    intra_bottleneck_size=12,
    embedding_size=8,
    max_position_embeddings=64,
    classifier_activation=False,
)


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A folder with a pool and a teacher, and a call that makes a training of it."""
    for name, value in {"HELD": 64, "BEGIN": 1, "FITTED_ON": 200, "SAVED": 0.0, "NOTED": 5}.items():
        monkeypatch.setattr(train, name, value)
    # A clock that goes on where it is read: as many steps fit into a second on every machine.
    clock = itertools.count(0, 0.02)
    monkeypatch.setattr(train, "time", SimpleNamespace(process_time=lambda: next(clock)))
    monkeypatch.setattr("recipes.general_matchers.pool.SHARD", 400)
    monkeypatch.setattr(train, "SHARD", 400)
    tokenizer = PairTokenizer.load(MINILM)
    write_pool([("made", text) for text in texts(900)], tmp_path / "run/pool", tokenizer)
    torch.manual_seed(0)
    save_pretrained(spread(build(TEACHER, None, seed=0), 0), tmp_path / "teacher", tokenizer_from=MINILM)
    monkeypatch.setattr(train, "Pool", lambda folder, tokens: Pool(folder, tokens, (24, 40)))

    def make(inputs="these", start=None, read_beside=False, **settings):
        given = Settings(size=32, layers=1.0, **settings)
        readers = (by_words(24), by_words(40))
        run = tmp_path / "run"
        return Training(
            run, None, tmp_path / "teacher", lambda: readers, SHAPE, given, inputs, start, read_beside
        )

    return make


def notes(training):
    return [json.loads(line) for line in (training.out / "record.jsonl").read_text().splitlines()]


def test_a_run_learns_resumes_where_it_was_and_refuses_other_inputs(begun):
    first = begun()
    first.run(4.0)
    figures = [line["dev"] for line in notes(first) if "dev" in line]
    assert figures[-1]["held_cosine"] > figures[0]["held_cosine"] + 0.05
    assert figures[-1]["held_order"] > figures[0]["held_order"]
    table = first.student.embeddings.word_embeddings.weight.clone()
    assert find_codes(table) is not None, "words are codes once layers are no longer compared"
    again = begun()
    assert (again.step, again.seen, again.used) == (first.step, first.seen, first.used)
    for ours, theirs in zip(again.student.parameters(), first.student.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert again.optimiser.state_dict()["state"].keys() == first.optimiser.state_dict()["state"].keys()
    assert again.pool.read == first.pool.read
    again.run(5.0)
    assert again.step > first.step
    for encoder in (again.student, again.averaged):
        assert torch.equal(encoder.embeddings.word_embeddings.weight, table), "codes stay"
    with pytest.raises(ResumeError, match="holds a run on other texts, teachers, shape or settings"):
        begun(inputs="others")


def test_a_run_takes_what_another_process_lets_the_teachers_read(begun, tmp_path):
    with pytest.raises(DataError, match=r"0 texts are read; training begins at 400"):
        begun(read_beside=True)
    beside = Pool(tmp_path / "run/pool", PairTokenizer.load(MINILM), (24, 40))
    beside.read_shard(by_words(24), by_words(40))
    run = begun(read_beside=True)
    run.run(0.5)
    assert (run.pool.read, run.near_of, run.reading) == (400, 400, 0.0)
    beside.read_shard(by_words(24), by_words(40))
    run.run(1.0)
    assert (run.pool.read, run.near_of, run.reading) == (800, 800, 0.0)
    assert len(run.near) == 800


@pytest.mark.parametrize("kind", ["rewritten", "factored"])
def test_a_run_may_begin_from_another_network_of_the_teachers_shape(kind, begun, tmp_path, monkeypatch):
    monkeypatch.setattr(other_starts, "HELD", 64)
    monkeypatch.setattr(other_starts, "FITTED_ON", 96)
    rules = (KroneckerRule("*.intermediate.dense", 8, 4, 2), KroneckerRule("*.layer.?.output.dense", 4, 8, 2))
    monkeypatch.setattr(other_starts, "RULES", rules)
    teacher = load_pretrained(tmp_path / "teacher")
    pool = Pool(tmp_path / "run/pool", PairTokenizer.load(MINILM), (24, 40))
    begins = getattr(other_starts, kind)(copy.deepcopy(teacher), pool)
    if kind == "rewritten":
        assert (begins.config.normalization_type, begins.config.hidden_act) == ("no_norm", "relu")
    else:
        assert begins.config.kronecker == rules
    save_pretrained(begins, tmp_path / "begins", tokenizer_from=MINILM)
    run = begun(start=tmp_path / "begins")
    for ours, theirs in zip(run.student.parameters(), begins.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)
    assert not (run.out / "start").exists()
    assert torch.isfinite(run.student(**run.pool.batch(np.arange(4))).last_hidden_state).all()


def test_every_input_changes_the_hash(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    known = input_hash(Settings(), SHAPE, [tmp_path / "a"])
    assert input_hash(Settings(), SHAPE, [tmp_path / "a"]) == known
    others = (
        input_hash(Settings(seed=1), SHAPE, [tmp_path / "a"]),
        input_hash(Settings(), replace(SHAPE, embedding_size=12), [tmp_path / "a"]),
        input_hash(Settings(), SHAPE, [tmp_path / "b"]),
    )
    assert len({known, *others}) == 4


def test_the_rate_has_a_plateau_that_more_hours_prolong():
    assert rate_factor(0, 0.0, 100.0) == pytest.approx(1 / train.WARM_UP)
    assert rate_factor(1000, 79.0, 100.0) == 1
    assert rate_factor(1000, 90.0, 100.0) == pytest.approx(0.5)
    assert rate_factor(1000, 90.0, 200.0) == 1
    assert rate_factor(1000, 101.0, 100.0) == 0


def test_a_warm_start_is_nearer_to_every_layer_of_its_teacher_than_fresh_weights(tmp_path):
    tokenizer = PairTokenizer.load(MINILM)
    write_pool([("made", text) for text in texts(300)], tmp_path, tokenizer)
    pool = Pool(tmp_path, tokenizer, (24, 40))
    teacher = spread(build(TEACHER, None, seed=0), 0).eval()
    batches = [pool.batch(rows) for rows in np.array_split(np.arange(200), 5)]
    counts = np.bincount(pool.ids, minlength=30522)
    begun = warm_start(SHAPE, teacher, batches, counts, 0).eval()
    fresh = build(SHAPE, None, seed=0).eval()
    batch = pool.batch(np.arange(200, 300))
    real = batch["attention_mask"] > 0
    with torch.no_grad():
        wanted, ours, other = (n(**batch, capture=True).hidden_states for n in (teacher, begun, fresh))
    for depth, states in enumerate(zip(wanted, ours, other, strict=True)):
        one, two, three = (state[real] for state in states)
        near, far = (F.mse_loss(found, one) / one.var() for found in (two, three))
        assert near < 0.6 * far, depth


def test_neighbours_are_the_nearest_others():
    vectors = F.normalize(torch.randn(500, 16, generator=torch.Generator().manual_seed(0)), dim=-1).numpy()
    vectors[1] = vectors[0]
    found = neighbours(vectors)
    assert not (found == np.arange(500)[:, None]).any()
    assert found[0, 0] == 1
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -2)
    hit = [len({*found[i]} & {*np.argsort(-similarity[i])[:8]}) for i in range(500)]
    assert np.mean(hit) > 5  # cells are searched, not all texts


def test_agreement_is_one_for_the_targets_themselves_and_less_for_others():
    target = F.normalize(torch.randn(80, 8, generator=torch.Generator().manual_seed(0)), dim=-1).numpy()
    noisy = target + 0.5 * np.random.default_rng(0).normal(size=target.shape)
    noisy /= np.linalg.norm(noisy, axis=1, keepdims=True)
    same, other = (agreement(v, target, target @ target.T) for v in (target, noisy))
    assert same == {"held_cosine": 1.0, "held_order": pytest.approx(1.0)}
    assert other["held_cosine"] < 0.95
    assert other["held_order"] < 0.95
