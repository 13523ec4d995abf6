"""Promise of `distill` of an embedder: texts make a deeper student, a run resumes, bad input is refused."""

import json
import random
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

import mobilebert_export as mb
import mobilebert_models
from mobilebert_export.command_line.program import main
from mobilebert_models import build, load_embedder, load_pretrained, save_pretrained
from mobilebert_models.loading.embedders import save_embedder
from mobilebert_runtime.embedder import Embedder
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training import trainer
from mobilebert_training.distillation import DistillationConfig, distill
from mobilebert_training.distillation.distillation_recipes import DISTILLATION_RECIPES
from mobilebert_training.distillation.vector_targets import fit_target_map, teacher_vectors
from mobilebert_training.training_config import ResumeError
from tests.helpers.networks import spread
from tests.helpers.texts import MINILM
from tests.helpers.tiny_networks import DEEP, SHALLOW
from tests.helpers.toys import toy_pairs, write_pairs

pytestmark = pytest.mark.usefixtures("one_thread")

NEAR = replace(SHALLOW, vocab_size=30522, max_position_embeddings=64)
WORDS = (
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
    "blue",
    "cold",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two embedders, a fine-tuned pair classifier, 448 texts."""
    made = tmp_path_factory.mktemp("texts")
    for name, size in (("near", 24), ("wide", 48)):
        shape = NEAR if name == "near" else replace(NEAR, hidden_size=size, num_hidden_layers=3)
        save_embedder(spread(build(shape, None, seed=size), size), made / name, tokenizer_from=MINILM)
    save_pretrained(build(NEAR, seed=3), made / "classifier", tokenizer_from=MINILM)
    draw = random.Random(0)
    lines = [f"{' '.join(draw.sample(WORDS, draw.randint(3, 7)))} {k}" for k in range(448)]
    (made / "texts.txt").write_text("\n".join([*lines, "", lines[0]]) + "\n", encoding="utf-8")
    return made


@pytest.fixture(autouse=True, scope="module")
def presets():
    """Students of the embedders' shape, and a recipe for few texts."""
    deep, plan = replace(DEEP, vocab_size=30522), DISTILLATION_RECIPES["embedder"]
    quick = {"batch_size": 16, "learning_rate": 2e-3, "checkpoint_every": 5}
    stages = tuple(replace(stage, loop=replace(stage.loop, **quick)) for stage in plan.stages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(mobilebert_models.PRESETS, "deep", deep)
        patch.setitem(mobilebert_models.PRESETS, "odd", replace(deep, num_hidden_layers=7))
        patch.setitem(DISTILLATION_RECIPES, "embedder", replace(plan, stages=stages))
        yield


def config(folder, out, **given):
    base = {"teacher": (str(folder / "near"),), "data": folder / "texts.txt", "out": out, "student": "deep"}
    return DistillationConfig(**base | {"threads": 1, "epochs": 1.0} | given)


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory):
    """An uninterrupted run."""
    return distill(config(folder, tmp_path_factory.mktemp("whole") / "run"))


def weights(model):
    return load_pretrained(model).state_dict()


def test_layers_come_first_and_the_student_comes_near_its_teacher(folder, whole):
    joint, vectors = whole.records
    assert [joint["stage"], vectors["stage"]] == ["joint", "vectors"]
    assert joint["metadata"]["texts"] == joint["examples"] == 392
    assert joint["metadata"]["held_out_texts"] == 56  # an eighth; the repeated line counts once
    assert {"feature_map", "statistics", "attention", "vectors"} <= joint["curve"][0].keys()
    assert "feature_map" not in vectors["curve"][0]
    cosines = [record["evaluations"][-1]["held_cosine"] for record in whole.records]
    assert cosines[1] > cosines[0] > 0.5
    assert json.loads((whole.model.parent / "joint.json").read_text())["steps"] == joint["steps"]
    start = torch.load(whole.model.parent / "start.weights", weights_only=True)
    trained = torch.load(whole.model.parent / "vectors.weights", weights_only=True)
    assert all(not torch.equal(value, trained[name]) for name, value in start.items())
    tokenizer = PairTokenizer.load(whole.model)
    texts = ["river and moon", "cold tea"]
    ours = teacher_vectors(load_embedder(whole.model), tokenizer, texts)
    theirs = teacher_vectors(load_embedder(folder / "near"), tokenizer, texts)
    assert ((ours[:, :24] * theirs).sum(1) > 0.5).all()


def test_an_interrupted_run_ends_as_an_uninterrupted_one_on_its_own_inputs_alone(
    folder, whole, tmp_path, monkeypatch
):
    out, rate = tmp_path / "run", trainer.TrainingConfig.rate

    def run_until(end):
        """Seed and number of a step: each stage has its own seed."""

        def stopped(self, step, of):
            if (self.seed, step) == end:
                raise KeyboardInterrupt
            return rate(self, step, of)

        with monkeypatch.context() as patch:
            patch.setattr(trainer.TrainingConfig, "rate", stopped)
            with pytest.raises(KeyboardInterrupt):
                distill(config(folder, out))

    run_until((0, 7))
    run_until((1, 8))
    assert not (out / "model").exists()
    for change, what in (
        ({"seed": 1}, "recipe.*seed"),
        ({"epochs": 2.0}, "recipe"),
        ({"teacher": (str(folder / "near"), str(folder / "wide"))}, "teacher"),
    ):
        with pytest.raises(ResumeError, match=f"holds a run with other {what}"):
            distill(config(folder, out, **change))
    again = distill(config(folder, out))
    assert [record["stage"] for record in again.records] == ["vectors"]
    assert all(torch.equal(value, weights(again.model)[name]) for name, value in weights(whole.model).items())


def test_a_wider_teacher_gives_its_vectors_through_a_fitted_map(folder, tmp_path):
    teachers = (str(folder / "near"), str(folder / "wide"))
    found = distill(config(folder, tmp_path / "run", teacher=teachers, labels=tmp_path / "said", epochs=0.2))
    assert found.records[-1]["evaluations"][-1]["held_cosine"] > 0
    assert len(list((tmp_path / "said/float32").iterdir())) == 2
    assert found.records[0]["metadata"]["teacher"] == ["near", "wide"]


@pytest.mark.parametrize("width", [3, 4, 9])
def test_a_map_undoes_a_rotation_and_leaves_spare_dimensions_out(width):
    draw = np.random.default_rng(0)
    near = draw.normal(size=(200, 4))
    near[:, width:] = 0  # what a narrower teacher cannot say
    turn = np.linalg.qr(draw.normal(size=(width, width)))[0]
    other = np.pad(near, ((0, 0), (0, max(0, width - 4))))[:, :width] @ turn
    np.testing.assert_allclose(other @ fit_target_map(other, near), near, atol=1e-8)


def test_the_exported_file_answers_as_the_saved_model(whole, tmp_path):
    result = mb.export(whole.model, tmp_path / "artefact", target="onnx", quant="none", seq_len=16)
    texts = ["river and moon", "cold tea", "a letter"]
    expected = teacher_vectors(load_embedder(whole.model), PairTokenizer.load(whole.model), texts)
    np.testing.assert_allclose(Embedder.load(result.path).embed(texts), expected, atol=1e-4)


def test_a_matcher_of_another_shape_than_its_teacher_starts_from_the_embedder(folder, whole, tmp_path):
    for seed, (name, count) in enumerate((("train", 40), ("dev", 12))):
        write_pairs(tmp_path / f"{name}.tsv", *toy_pairs(count, seed))
    given = {
        "teacher": (str(folder / "classifier"),),
        "data": tmp_path,
        "out": tmp_path / "run",
        "epochs": None,
    }
    with pytest.raises(ModelError, match=r"hidden_size 32 must equal the 24 .* --recipe debias-finetune"):
        distill(config(folder, **given))
    with pytest.raises(ModelError, match="whose embedding it inherits"):
        distill(config(folder, **given, recipe="debias-finetune"))
    assert not (tmp_path / "run").exists()
    found = distill(config(folder, **given, recipe="debias-finetune", start=str(whole.model)))
    assert [record["stage"] for record in found.records] == ["task"]
    assert mobilebert_models.load_classifier(found.model).config == mobilebert_models.preset("deep")


def said(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    assert end.value.code == 2
    found = capsys.readouterr().err
    assert found.count("\n") == 1
    return found


def test_what_cannot_be_distilled_is_refused_before_any_work(folder, tmp_path, capsys):
    few, bad, run = tmp_path / "few.txt", tmp_path / "bad.txt", tmp_path / "run"
    few.write_text("one\ntwo\ntwo\n", encoding="utf-8")
    bad.write_bytes(b"\xff\xfe bad\n" * 500)
    texts, near, wide, classifier = (folder / name for name in ("texts.txt", "near", "wide", "classifier"))
    prompted = shutil.copytree(near, tmp_path / "prompted")
    (prompted / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": {"query": "query: "}, "default_prompt_name": "query"})
    )

    def refused(*options, teacher=near, data=texts, student="deep"):
        given = ("--teacher", teacher, "--data", data, "--student", student, "--out", run)
        return said(capsys, "distill", *given, *options)

    assert "7 layers" in refused(student="odd")
    assert "such as mobilebert-tiny" in refused(student="bert-tiny")
    assert "heads of 16" in refused(student="matcher-m")
    assert "is a preset" in refused(student=near)
    assert "gives its sentence vectors alone" in refused(teacher=wide)
    assert "2 different texts; give at least 400" in refused(data=few)
    assert "not UTF-8" in refused(data=bad)
    assert "is a folder" in refused(data=folder)
    assert "no such file" in refused(data=tmp_path / "none.txt")
    assert "--data" in refused(teacher=classifier)
    assert "is a file; a fine-tuned pair classifier teaches" in refused(teacher=classifier)
    assert "is no embedder" in refused("--teacher", classifier)
    assert "reads a prompt" in refused(teacher=prompted)
    assert "'nobody' is unknown" in refused(teacher="nobody")
    assert "--recipe matcher-s" in refused("--recipe", "matcher-s")
    assert "is for labelled pairs" in refused("--debias", 1)
    assert "is for labelled pairs" in refused("--start", near)
    assert "name columns of pairs" in refused("--label", "y")
    assert "--recipe embedder: is for an embedder" in refused(
        "--recipe", "embedder", teacher=classifier, data=tmp_path
    )
    assert "--epochs 2.0: is for an embedder" in refused("--epochs", 2, teacher=classifier, data=tmp_path)
    assert not run.exists()


def test_the_library_does_what_the_command_does(folder, tmp_path, capfd):
    steps = []
    given = {"student": "deep", "epochs": 0.2, "threads": 1}
    found = mb.distill(
        folder / "near", folder / "texts.txt", tmp_path / "one", **given, progress=steps.append
    )
    assert capfd.readouterr() == ("", "")
    assert steps[-1] == "448 texts: training"
    options = ("--student", "deep", "--epochs", 0.2, "--threads", 1)
    command = (
        "distill",
        "--teacher",
        folder / "near",
        "--data",
        folder / "texts.txt",
        "--out",
        tmp_path / "two",
    )
    with pytest.raises(SystemExit) as end:
        main([str(one) for one in (*command, *options)])
    assert end.value.code == 0
    again = weights(tmp_path / "two/model")
    assert all(torch.equal(value, again[name]) for name, value in weights(found.model).items())
    assert found.settings is None
