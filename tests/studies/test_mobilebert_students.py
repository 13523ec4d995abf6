"""Promise of MobileBERT's studies: a deeper student starts near its teacher and answers to its layers."""

import copy
import itertools
import json
import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import recipes.general_matchers.train_students
from mobilebert_models import EncoderConfig, build, load_embedder, load_pretrained, preset, save_pretrained
from mobilebert_models.networks.layers import encoder_of
from mobilebert_runtime.errors import ModelError
from mobilebert_training.training_config import ResumeError
from recipes.general_matchers import stages
from recipes.general_matchers.noise import MISSPELLINGS
from recipes.general_matchers.stages import Run, Settings, run_stage
from recipes.general_matchers.train_students import TrunkTraining, train_students
from recipes.general_matchers.trunk import sentence_vectors, transfer_loss, vector_loss
from studies.general_matcher import train_mobilebert_tiny
from studies.general_matcher.deeper_student import as_teacher, group_size, ridge, start, widened
from studies.general_matcher.train_mobilebert import DeeperConfig
from studies.general_matcher.train_mobilebert_tiny import DeeperStages, write_embedder
from tests.helpers.networks import spread
from tests.helpers.texts import MINILM
from tests.helpers.tiny_networks import tiny

TEACHER = EncoderConfig(
    vocab_size=60,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=6,
    intermediate_size=32,
    max_position_embeddings=24,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
# Two heads of four in each of four layers to one of the teacher, of which three have its six heads.
STUDENT = replace(
    tiny("mobilebert-tiny"),
    num_hidden_layers=8,
    num_attention_heads=2,
    intra_bottleneck_size=8,
    embedding_size=16,
    attention_probs_dropout_prob=0.0,
)


def teacher():
    model = encoder_of(build(TEACHER, None, seed=1))
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.15 * torch.randn(parameter.shape, generator=generator))
    return model.eval()


def batch(seed, size=12):
    ids = torch.randint(1, 60, (size, 9), generator=torch.Generator().manual_seed(seed))
    mask = torch.ones_like(ids)
    mask[::3, 6:] = 0
    return {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": ids * 0}


SHARED = replace(
    STUDENT, use_bottleneck_attention=False, key_query_shared_bottleneck=True, num_feedforward_networks=4
)


@pytest.fixture(scope="module", params=[STUDENT, SHARED], ids=["tiny", "standard"])
def pair(request):
    """A teacher and the student that starts from it."""
    master = teacher()
    return master, start(request.param, master, [batch(n) for n in range(30)], np.arange(60), 0)


def losses(master, student, held):
    with torch.no_grad():
        target = master(**held, capture=True)
        ours = as_teacher(student(**held, capture=True), master.config)
        return transfer_loss(target, ours, held["attention_mask"])[1]


def test_the_named_network_has_the_papers_shape_and_four_layers_to_one_of_minilm():
    config = preset("mobilebert-tiny")
    assert group_size(config, preset("minilm-l6")) == 4
    assert sum(p.numel() for p in build(config, None).parameters()) == 15_485_696  # Google's encoder
    with pytest.raises(ModelError, match="expected a multiple of the teacher's 6 layers"):
        group_size(replace(config, num_hidden_layers=20), preset("minilm-l6"))
    with pytest.raises(ModelError, match="heads of 16"):
        group_size(replace(config, num_attention_heads=8), preset("minilm-l6"))


def test_groups_answer_to_the_teachers_layers(pair):
    master, student = pair
    held = batch(90)
    output = student(**held, capture=True)
    ours = as_teacher(output, master.config)
    assert [tuple(state.shape) for state in ours.hidden_states] == [(12, 9, 24)] * 3
    assert [tuple(score.shape) for score in ours.attention_scores] == [(12, 6, 9, 9)] * 2
    assert torch.equal(ours.hidden_states[1], output.hidden_states[4][..., :24])
    assert torch.equal(ours.attention_scores[1][:, 2:4], output.attention_scores[5])


def test_the_start_is_nearer_to_the_teacher_than_fresh_weights(pair):
    master, student = pair
    held = batch(91)
    begun = losses(master, student, held)
    fresh = losses(master, build(student.config, None, seed=0), held)
    assert begun["feature_map"] < 0.5 * fresh["feature_map"]
    assert begun["attention"] < 0.7 * fresh["attention"]  # random heads are nearly even: little to gain
    padded = {name: torch.nn.functional.pad(value, (0, 5)) for name, value in held.items()}
    with torch.no_grad():
        torch.testing.assert_close(sentence_vectors(student, padded), sentence_vectors(student, held))


def test_transfer_teaches_every_layer_within_a_budget_of_processor_time(pair, tmp_path, monkeypatch):
    master, student = pair[0], copy.deepcopy(pair[1]).train()
    clock = itertools.count(0, 0.01)  # a step takes a hundredth of a second
    monkeypatch.setattr(stages, "time", SimpleNamespace(process_time=lambda: next(clock)))
    monkeypatch.setattr(stages, "WARM_UP", 3)
    known = SimpleNamespace(batch=lambda index: batch(int(index[0])))
    objectives = DeeperStages(master, student, known, Path(), Path(), 0)
    before = losses(master, student, batch(93))
    progress = Run(tmp_path, student)
    draw = lambda step: [np.array([step])]  # noqa: E731
    run_stage(progress, "joint", Settings(3e-3, 0.395, processor=True), draw, objectives.transfer, dict)
    assert progress.step == 40
    after = losses(master, student, batch(93))
    assert after["feature_map"] < before["feature_map"]
    assert after["attention"] < before["attention"]
    old = dict(pair[1].named_parameters())
    # The heads of a group's last layer answer to none, but what they say is read on.
    assert all(not torch.equal(value, old[name]) for name, value in student.named_parameters())


def test_ridge_finds_a_linear_map():
    generator = torch.Generator().manual_seed(0)
    x, weight = torch.randn(4000, 5, generator=generator), torch.randn(3, 5, generator=generator)
    found, bias = ridge(x, x @ weight.t() + 2)
    torch.testing.assert_close(found, weight, atol=0.05, rtol=0)
    torch.testing.assert_close(bias, torch.full((3,), 2.0), atol=0.05, rtol=0)


def test_a_narrower_target_is_met_with_zeros_after_it():
    vectors = torch.nn.functional.normalize(
        torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), dim=1
    )
    value, _ = vector_loss(widened(vectors, 7), vectors)
    assert value.item() == pytest.approx(0, abs=1e-6)
    assert vector_loss(widened(vectors, 7).flip(1), vectors)[0].item() > 0.5


def test_the_folder_is_a_sentence_embedder_of_the_mean(pair, tmp_path):
    _, student = pair
    (tmp_path / "vocab.txt").write_text("[PAD]\n")
    (tmp_path / "tokenizer.json").write_text("{}")
    write_embedder(student, tmp_path / "trunk", tmp_path)
    held = batch(92)
    with torch.no_grad():
        torch.testing.assert_close(
            load_embedder(tmp_path / "trunk")(**held), sentence_vectors(student, held), atol=1e-5, rtol=1e-5
        )


def test_the_command_resumes_on_its_own_inputs_alone(tmp_path, monkeypatch):
    def stop(*_):
        (tmp_path / "out/checkpoint.pt").write_bytes(b"begun")
        raise KeyboardInterrupt

    monkeypatch.setattr(train_mobilebert_tiny, "teacher_with_vocabulary", stop)
    (tmp_path / "texts.tsv").write_text("source\ttext\nmade\thow are you\n")
    (tmp_path / "data" / MISSPELLINGS).parent.mkdir(parents=True)
    (tmp_path / "data" / MISSPELLINGS).write_text("misspelling\tword\n")
    command = partial(train_mobilebert_tiny.main, tmp_path / "out", cache=tmp_path, shared=tmp_path)
    for given in ({}, {"vectors": 900.0}):  # more seconds are no other run
        with pytest.raises(KeyboardInterrupt):
            command(**given)
    with pytest.raises(ResumeError, match="other noise"):
        command(noise=0.5)
    assert (tmp_path / "out/checkpoint.pt").exists()
    with pytest.raises(KeyboardInterrupt):
        command(noise=0.5, force=True)


def test_a_deeper_student_learns_of_layers_first_while_its_teachers_read_along(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes.general_matchers.train_students, "NOTED", 2)
    near = replace(TEACHER, vocab_size=30522, max_position_embeddings=64)
    for name, size in (("near", 24), ("wide", 48)):
        encoder = spread(build(replace(near, hidden_size=size), None, seed=size), size)
        save_pretrained(encoder, tmp_path / name, tokenizer_from=MINILM)
    words = ("tea", "law", "chess", "river", "moon", "stone", "garden", "letter", "winter", "doctor")
    draw = random.Random(0)
    texts = [" ".join(draw.sample(words, 5)) for _ in range(240)]
    lines = "".join(f"questions\t{text} {k}\n" for k, text in enumerate(texts))
    (tmp_path / "texts.tsv").write_text("source\ttext\n" + lines)
    (tmp_path / "sentences.txt").write_text("".join(f"{text} here\n" for text in texts[:50]))
    shape = replace(STUDENT, vocab_size=30522, max_position_embeddings=64)
    config = TrunkTraining(
        out=tmp_path / "run",
        cache=tmp_path,
        sentences=tmp_path / "sentences.txt",
        near=tmp_path / "near",
        wide=tmp_path / "wide",
        students=[DeeperConfig("deep", shape, str(tmp_path / "near"), rate=2e-3)],
        seconds=5,
        size=16,
        workers=0,
    )
    train_students(replace(config, seconds=0.01))
    train_students(config)
    begun, *steps, done = map(json.loads, (config.out / "record.jsonl").read_text().splitlines())
    assert done["held_cosine"]["deep"] > begun["held_cosine"]["deep"]
    *_, layers = zip(*(step["losses"]["deep"] for step in steps), strict=True)
    assert layers[0] > 0
    assert layers[-1] == 0
    trunk = config.out / "deep" / "trunk"
    held = batch(94)
    with torch.no_grad():
        found = load_embedder(trunk)(**held)
        torch.testing.assert_close(found, sentence_vectors(encoder_of(load_pretrained(trunk)), held))
