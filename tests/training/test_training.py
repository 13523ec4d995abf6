"""Promise of the training loop: seeded, and an interrupted run ends where an uninterrupted one does."""

import json
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from mobilebert_matching.length_bias.training_sets import Examples
from mobilebert_models import EncoderConfig, build
from mobilebert_training.batches import LengthBuckets
from mobilebert_training.finetuning.encoded_pairs import predict_logits
from mobilebert_training.finetuning.fit_matcher import fit
from mobilebert_training.finetuning.matchers import EncoderMatcher
from mobilebert_training.training_config import ResumeError, TrainingConfig
from tests.helpers.texts import MINILM
from tests.helpers.toys import toy_pairs

CONFIG = TrainingConfig(epochs=3, batch_size=8, learning_rate=3e-3, checkpoint_every=4, evaluate_every=5)
SMALL_BERT = EncoderConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)


def run(out, config=CONFIG):
    torch.set_num_threads(1)  # as in a process of its own, whatever commands ran in this one before
    matcher = EncoderMatcher(build(SMALL_BERT, seed=0), MINILM, arch="small")
    examples = Examples(*toy_pairs(), groups=None)
    record = fit(matcher, examples, examples, config, out, swap=True)
    return matcher.network, record


def test_learns_and_leaves_a_record(tmp_path):
    model, record = run(tmp_path, replace(CONFIG, epochs=25))
    assert record["curve"][-1]["loss"] < 0.5 * record["curve"][0]["loss"]
    assert json.loads((tmp_path / "finetune.json").read_text())["steps"] == record["steps"] == 150
    assert not list(tmp_path.glob("*.checkpoint"))
    assert not model.training


def test_same_seed_same_weights_other_seed_other_weights(tmp_path):
    first, again, other = (
        run(tmp_path / name, replace(CONFIG, seed=seed))[0].state_dict()
        for name, seed in [("a", 0), ("b", 0), ("c", 1)]
    )
    assert all(torch.equal(v, again[k]) for k, v in first.items())
    assert not all(torch.equal(v, other[k]) for k, v in first.items())


def test_killed_and_resumed_run_equals_an_uninterrupted_one(tmp_path):
    script = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "import mobilebert_training.checkpoint as c, tests.training.test_training as t\n"
        "save = c.Checkpoint.save\n"
        "def kill_after_second(self, step, *rest):\n"
        "    save(self, step, *rest)\n"
        "    if step == 8: os.kill(os.getpid(), signal.SIGKILL)\n"
        "c.Checkpoint.save = kill_after_second\n"
        "t.run(Path(sys.argv[1]))\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path / "killed")], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "killed" / "finetune.checkpoint").is_file()
    with pytest.raises(ResumeError, match="other learning_rate; choose another folder"):
        run(tmp_path / "killed", replace(CONFIG, learning_rate=1e-4))
    resumed, resumed_record = run(tmp_path / "killed")
    whole, whole_record = run(tmp_path / "whole")
    assert all(torch.equal(v, resumed.state_dict()[k]) for k, v in whole.state_dict().items())
    assert resumed_record["curve"] == whole_record["curve"]
    assert resumed_record["evaluations"] == whole_record["evaluations"]


def test_every_example_is_seen_once_an_epoch_in_batches_of_similar_length():
    lengths = np.random.default_rng(0).integers(5, 64, 1000)
    config = TrainingConfig(batch_size=16, seed=3)
    stream = LengthBuckets(lengths, dict, "data").batches(config)
    epoch = [next(stream) for _ in range(-(-1000 // 16))]
    assert sorted(np.concatenate([b.index for b in epoch]).tolist()) == list(range(1000))
    assert np.mean([np.ptp(lengths[b.index]) for b in epoch]) < 0.2 * np.ptp(lengths)
    assert replace(config, epochs=0.5).total_steps(1000) == 32


def test_predictions_do_not_depend_on_batching(tmp_path):
    from mobilebert_runtime.tokenizer import PairTokenizer

    tokenizer = PairTokenizer.load(MINILM)
    model = build(SMALL_BERT, seed=0)
    pairs, _ = toy_pairs(20)
    pairs[3] = ("rice " * 40, "cook")
    together = predict_logits(model, tokenizer, pairs, seq_len=64)
    alone = np.concatenate([predict_logits(model, tokenizer, [p], seq_len=64) for p in pairs])
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-6)
