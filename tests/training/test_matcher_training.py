"""Promise of matcher training: it learns, resumes, keeps the best weights, and leaves a complete record."""

import json
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

import mobilebert_models
from mobilebert_export.command_line.program import main
from mobilebert_matching.length_bias.training_sets import find_data, training_part
from mobilebert_models import EncoderConfig, ModelError
from mobilebert_training.batches import LengthBuckets
from mobilebert_training.finetuning.fit_matcher import fit, loop_config, settings_of
from mobilebert_training.finetuning.matchers import build_matcher
from mobilebert_training.trainer import supervised, train
from mobilebert_training.training_config import TrainingConfig
from tests.helpers.biased_data import examples, write_data_sets

FAST = TrainingConfig(epochs=12, batch_size=16, learning_rate=5e-3, weight_decay=0.0, checkpoint_every=3)


@pytest.fixture
def data_root(tmp_path):
    return write_data_sets(tmp_path / "data")


def test_training_lowers_the_loss(tmp_path):
    matcher = build_matcher("bert-tiny")
    before = fit_of(matcher)
    record = fit(matcher, examples(), examples(16, 1), replace(FAST, epochs=4, learning_rate=2e-3), tmp_path)
    assert fit_of(matcher) < before - 0.03
    assert record["evaluations"][-1]["step"] == 16


def fit_of(matcher):
    """Mean loss on the training examples, in eval mode."""
    known = examples()
    logits = torch.from_numpy(matcher.predict(known.pairs))
    return float(F.cross_entropy(logits, torch.from_numpy(known.labels)))


def test_interrupted_training_ends_where_an_uninterrupted_one_does(tmp_path, monkeypatch):
    config = replace(FAST, epochs=3, evaluate_every=4, patience=3)

    def run(out):
        matcher = build_matcher("bert-tiny", seed=1)
        return matcher, fit(matcher, examples(), examples(16, 1), config, out)

    whole, whole_record = run(tmp_path / "whole")
    steps = []

    def fail_at_eight(logits, targets):
        steps.append(1)
        if len(steps) == 8:
            raise KeyboardInterrupt
        return cross_entropy(logits, targets)

    cross_entropy = F.cross_entropy
    with monkeypatch.context() as patch:
        patch.setattr(F, "cross_entropy", fail_at_eight)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "cut")
    assert (tmp_path / "cut" / "finetune.checkpoint").is_file()
    resumed, record = run(tmp_path / "cut")
    assert record["evaluations"] == whole_record["evaluations"]
    assert record["best_step"] == whole_record["best_step"]
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, resumed.network.state_dict()[name]), name


@pytest.mark.parametrize(
    ("scripted", "best", "run"),
    [([1, 3, 2, 0, 9, 9], 2, 4), ([1, 2, 3, 4, 5, 6], 6, 6), ([5, 5, 5, 9, 9, 9], 1, 3)],
)
def test_early_stopping_keeps_the_best_weights(scripted, best, run, tmp_path):
    """With patience 2: stops two evaluations after the best one; of equal figures the first counts."""
    model = torch.nn.Linear(2, 2)
    weights, figure = [], iter(scripted)

    def evaluate():
        weights.append(model.weight.detach().clone())
        return {"score": float(next(figure))}

    config = TrainingConfig(epochs=6, batch_size=4, learning_rate=0.1, evaluate_every=1, patience=2)
    x, y = torch.randn(4, 2), torch.tensor([0, 1, 0, 1])
    record = train(
        model,
        LengthBuckets([1] * 4, lambda batch: {"input": x[batch.index], "labels": y[batch.index]}, "data"),
        supervised(F.cross_entropy),
        config,
        tmp_path,
        name="stop",
        evaluate=evaluate,
        select="score",
    )
    assert (record["best_step"], record["steps_run"]) == (best, run)
    assert torch.equal(model.weight, weights[best - 1])
    assert not torch.equal(weights[0], weights[-1])


def test_both_training_sets_of_a_comparison_have_one_size(data_root):
    for name in ("qqp", "trecqa"):
        data = find_data(data_root / name, "qid" if name == "trecqa" else None)
        sides = {s: training_part(data, s, equal_size=True) for s in ("original", "adversarial")}
        sizes = {s: len(examples) for s, (examples, _, _) in sides.items()}
        assert sizes["original"] == sizes["adversarial"] < 400
        assert sides["original"][1].pairs == sides["adversarial"][1].pairs  # the same development part
        capped, _, facts = training_part(data, "adversarial", max_pairs=50, equal_size=True)
        assert len(capped) == facts["train_pairs"] == 50
        whole, _, _ = training_part(data, "original")
        assert len(whole) > sizes["original"]


def test_a_development_part_of_lists_is_whole_queries_apart_from_training(data_root):
    data = replace(find_data(data_root / "trecqa", "qid"), has_dev=False)
    train_part, dev, facts = training_part(data, "original")
    assert set(dev.groups).isdisjoint(train_part.groups)
    assert len(dev) + len(train_part) == 400
    assert facts["dev_lists"] == len(set(dev.groups)) == 5
    again = training_part(data, "original")[1]
    assert again.pairs == dev.pairs


def test_settings_default_to_those_of_fine_tuning():
    for arch in ("minilm", "some/directory"):
        config = loop_config(settings_of(arch), 1000, 0)
        assert config == TrainingConfig()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--arch", "drmm"], "architecture 'drmm' is unknown"),
        (["--train-set", "easy"], "training set 'easy' is unknown"),
        (["--data", "nowhere"], "nowhere: no such folder"),
        (["--group", "topic"], "no column 'topic'"),
    ],
)
def test_bad_training_requests_exit_2(arguments, message, data_root, tmp_path, capsys):
    given = ["train-matcher", "--data", str(data_root / "qqp"), "--out", str(tmp_path / "run"), *arguments]
    with pytest.raises(SystemExit) as stopped:
        main(given)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_command_trains_a_matcher_that_evaluate_reads(data_root, tmp_path):
    out = tmp_path / "run"
    common = ["--arch", "bert-tiny", "--train-set", "adversarial", "--epochs", "1", "--threads", "1"]
    with pytest.raises(SystemExit, match="0"):
        main(["train-matcher", "--data", str(data_root / "qqp"), "--out", str(out), *common])
    test, record = str(data_root / "qqp" / "test.tsv"), tmp_path / "figures.json"
    with pytest.raises(SystemExit, match="0"):
        main(["evaluate", str(out / "model"), "--data", test, "--json", str(record)])
    assert json.loads(record.read_text())["pairs"] == 160


def test_matchers_that_cannot_be_built_say_why(tmp_path):
    with pytest.raises(ModelError, match="'drmm' is unknown; expected one of minilm, bert-tiny, matcher-"):
        build_matcher("drmm")
    small = EncoderConfig(hidden_size=12, num_attention_heads=2, num_hidden_layers=1)
    mobilebert_models.save_pretrained(mobilebert_models.build(small, None), tmp_path / "other")
    with pytest.raises(ModelError, match="is not a bert-tiny"):
        build_matcher("bert-tiny", init=tmp_path / "other")


def test_bert_tiny_is_the_published_network():
    matcher = build_matcher("bert-tiny", seed=1)
    assert sum(p.numel() for p in matcher.network.parameters()) == 4_386_178
    assert matcher.predict([("cook rice", "cook"), ("?", "rice")]).shape == (2, 2)
