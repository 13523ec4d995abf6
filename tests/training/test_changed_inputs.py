"""Promise: a run's folder belongs to its inputs; only a run on the same ones takes up what lies there."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import mobilebert_models
from mobilebert_export.command_line.program import main
from mobilebert_models import EncoderConfig
from mobilebert_runtime.files import file_sha256
from mobilebert_training import checkpoint, run_directory
from mobilebert_training.batches import LengthBuckets
from mobilebert_training.run_directory import claim, code_hash, locked
from mobilebert_training.trainer import supervised, train
from mobilebert_training.training_config import ResumeError, TrainingConfig
from tests.helpers.forked_commands import STUDENT
from tests.helpers.texts import MINILM
from tests.helpers.toys import toy_pairs, write_pairs

TINY = EncoderConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
COMMANDS = ("train-matcher", "distill", "finetune")


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Small inputs of every command that resumes."""
    monkeypatch.setitem(mobilebert_models.PRESETS, "tiny", EncoderConfig(**STUDENT))
    for part, count in (("train", 24), ("dev", 8)):
        write_pairs(tmp_path / f"{part}.tsv", *toy_pairs(count, seed=count))
    model = mobilebert_models.build(TINY, seed=1)
    mobilebert_models.save_pretrained(model, tmp_path / "model", tokenizer_from=MINILM)
    return tmp_path


def command(name, root, out):
    model = root / "model"
    rows = {
        "train-matcher": ["--data", root, "--arch", model, "--epochs", 1, "--batch-size", 4],
        "distill": ["--teacher", model, "--data", root, "--student", "tiny", "--recipe", "smoke"],
        "finetune": ["--task", "mrpc", "--data", root, "--model", model, "--batch-size", 4, "--epochs", 1],
    }
    return [name, *rows[name], "--threads", 1, "--out", out]


def run(words):
    with pytest.raises((SystemExit, KeyboardInterrupt)) as left:
        main([str(word) for word in words])
    return getattr(left.value, "code", 130)


def stopped_after_a_checkpoint(words, monkeypatch):
    """Run a command until it has written a checkpoint."""
    save = checkpoint.Checkpoint.save

    def save_and_stop(self, *given):
        save(self, *given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mobilebert_training.trainer._due", lambda _, every: every > 0)
        patch.setattr(checkpoint.Checkpoint, "save", save_and_stop)
        assert run(words) not in (0, 2)


def flip(file):
    """Change every label of a file."""
    head, *rows = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([head, *(f"{1 - int(r[0])}{r[1:]}" for r in rows), ""]), encoding="utf-8")


def hashes(folder):
    return {str(p.relative_to(folder)): file_sha256(p) for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("name", COMMANDS)
def test_changed_data_are_refused_and_with_force_begun_anew(name, work, monkeypatch, capfd):
    out = work / "out"
    words = command(name, work, out)
    stopped_after_a_checkpoint(words, monkeypatch)
    before = hashes(out)
    assert [path for path in before if path.endswith(".checkpoint")]
    flip(work / "train.tsv")
    capfd.readouterr()
    assert run(words) == 2
    said = capfd.readouterr().err
    assert (
        "holds a run with other data (train.tsv); choose another folder, or begin anew with --force" in said
    )
    assert len(said.strip().splitlines()) == 1
    assert hashes(out) == before
    assert run([*words, "--force"]) == 0
    assert run(command(name, work, work / "fresh")) == 0
    weights = "model/model.safetensors"
    assert file_sha256(out / weights) == file_sha256(work / "fresh" / weights)


def test_changed_models_options_and_code_are_refused_and_the_same_inputs_resume(work, monkeypatch, capfd):
    out = work / "out"
    words = command("train-matcher", work, out)
    stopped_after_a_checkpoint(words, monkeypatch)
    capfd.readouterr()
    other = mobilebert_models.build(TINY, seed=2)
    (work / "model").rename(work / "kept")
    mobilebert_models.save_pretrained(other, work / "model", tokenizer_from=MINILM)
    assert run(words) == 2
    assert "other model (model.safetensors);" in capfd.readouterr().err
    (work / "model" / "model.safetensors").unlink()
    (work / "kept" / "model.safetensors").rename(work / "model" / "model.safetensors")
    assert run([*words, "--seed", 5]) == 2
    assert "other seed;" in capfd.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr(run_directory, "code_hash", lambda: "of another version")
        assert run(words) == 2
    assert "other code;" in capfd.readouterr().err
    assert run(words) == 0
    assert run(command("train-matcher", work, work / "fresh")) == 0
    weights = "model/model.safetensors"
    assert file_sha256(out / weights) == file_sha256(work / "fresh" / weights)


def test_ship_refuses_a_folder_of_other_data_before_it_writes_anything(work, monkeypatch, capfd):
    file, out = work / "mine.tsv", work / "ship"
    write_pairs(file, *toy_pairs(40))
    words = ["ship", "--data", file, "--out", out, "--quick", "--quant", "none", "--threads", 1]

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mobilebert_training.finetuning.matcher_training._train", stop)
    assert run(words) not in (0, 2)
    (out / "matcher-open-m" / "model").mkdir(parents=True)  # as if it were finished
    before = hashes(out)
    flip(file)
    capfd.readouterr()
    for more in ([], ["--label", "label"]):
        assert run([*words, *more]) == 2
        assert "holds a run with other data (mine.tsv); choose another folder\n" in capfd.readouterr().err
        assert hashes(out) == before


def trained(folder, labels, start=0.0, stop=False):
    """A logistic regression on four points, stopped after a checkpoint or not."""
    model = torch.nn.Linear(2, 2)
    torch.nn.init.constant_(model.weight, start)
    torch.nn.init.zeros_(model.bias)
    x, y = torch.eye(2).repeat(2, 1), torch.tensor(labels)
    calls = []

    def criterion(logits, targets):
        calls.append(1)
        if stop and len(calls) == 3:
            raise KeyboardInterrupt
        return F.cross_entropy(logits, targets)

    source = LengthBuckets(
        [1] * 4,
        lambda batch: {"input": x[batch.index], "labels": y[batch.index]},
        run_directory.values_hash([], y.numpy()),
    )
    config = TrainingConfig(epochs=4, batch_size=4, checkpoint_every=1)
    train(model, source, supervised(criterion), config, folder, name="run")


def test_the_trainer_itself_resumes_on_the_same_data_and_weights_only(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path, [0, 1, 0, 1], stop=True)
    with pytest.raises(ResumeError, match="holds a run with other data;"):
        trained(tmp_path, [1, 0, 1, 0])
    with pytest.raises(ResumeError, match="holds a run with other start;"):
        trained(tmp_path, [0, 1, 0, 1], start=0.5)
    trained(tmp_path, [0, 1, 0, 1])
    assert not (tmp_path / "run.checkpoint").exists()


def test_force_drops_what_a_run_on_other_inputs_left(tmp_path):
    claim(tmp_path, "part", {"data": {"a": "1", "b": "2"}, "seed": 1})
    left = [
        tmp_path / name for name in ("one.checkpoint", "two.weights", "cells/x.json", "cells/x/f.checkpoint")
    ]
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("left")
    claim(tmp_path, "part", {"data": {"a": "1", "b": "2"}, "seed": 1}, force=True)  # the same: all stays
    assert all(path.is_file() for path in left)
    with pytest.raises(ResumeError, match=r"other data \(b, c\), seed;"):
        claim(tmp_path, "part", {"data": {"a": "1", "b": "3", "c": "4"}, "seed": 2})
    claim(tmp_path, "part", {"data": {"a": "1"}, "seed": 1}, force=True)
    assert not any(path.exists() for path in left)
    claim(tmp_path, "part", {"data": {"a": "1"}, "seed": 1})


def test_two_processes_do_not_work_in_one_folder(tmp_path):
    hold = (
        "import sys; from pathlib import Path; from mobilebert_training.run_directory import locked\n"
        "with locked(Path(sys.argv[1])):\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    root = Path(__file__).parents[2]
    other = subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
    )
    try:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ResumeError, match="another process works there"), locked(tmp_path):
            pass
    finally:
        other.communicate("")
    with locked(tmp_path), locked(tmp_path):
        pass


def test_the_hash_of_the_code_covers_what_a_training_computes():
    assert len(code_hash()) == 64
    for package in run_directory.CODE:
        assert list(Path(sys.modules[package].__file__).parent.rglob("*.py")), package
    assert np.unique([code_hash(), run_directory.code_hash()]).size == 1
