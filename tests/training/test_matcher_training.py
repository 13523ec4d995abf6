"""Promise of matcher training: it learns, resumes, keeps the best weights, and leaves a complete record."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from matching.data.datasets import Examples, find_data, held_out_parts, training_part
from matching.data.table_files import PairFileError
from matching.evaluation import metrics
from matching.word_level.word_vectors import WordVectors
from mobilebert_export.cli import main
from studies.length_bias import runs as length_bias
from studies.length_bias.runs import Cell, cells, figures, run_cell
from training.fit_matcher import TRAINING, fit, loop_config, settings_of
from training.loop import LoopConfig, train
from training.matchers import build_matcher

WORDS = ["swim", "learn", "best", "phone", "money", "india", "python", "cook", "rice", "run", "yes", "no"]
FAST = LoopConfig(epochs=12, batch_size=16, learning_rate=5e-3, weight_decay=0.0, checkpoint_every=3)


@pytest.fixture
def vectors(monkeypatch):
    rng = np.random.default_rng(0)
    made = WordVectors.of({word: rng.normal(size=300) for word in WORDS}, unknown=16)
    monkeypatch.setattr(WordVectors, "installed", classmethod(lambda cls: made))
    return made


def rows(count, seed, *, longer_negatives=False):
    """Pairs that are alike when their label is 1; negatives may also be longer, which is the bias."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        label = int(rng.random() < 0.4)
        text = list(rng.choice(WORDS[:10], rng.integers(2, 5), replace=False))
        other = text[::-1] if label else list(rng.choice(WORDS, len(text), replace=False))
        if longer_negatives and rng.random() < (0.3 if label else 0.8):
            other += list(rng.choice(WORDS, rng.integers(1, 4 if label else 7)))
        out.append((label, " ".join(text), " ".join(other)))
    return out


def examples(count=64, seed=0):
    made = rows(count, seed)
    return Examples([(a, b) for _, a, b in made], np.array([y for y, *_ in made]), None)


@pytest.fixture
def data_root(tmp_path):
    """Small stand-ins for a data set of pairs and one of lists, under the names of the real ones."""
    root = tmp_path / "data"
    for name, header in (
        ("qqp", "label\tquestion1\tquestion2"),
        ("trecqa", "label\tqid\tquestion\tsentence"),
    ):
        folder = root / name
        folder.mkdir(parents=True)
        for seed, (part, count) in enumerate((("train", 400), ("dev", 80), ("test", 160))):
            lines = [header]
            for i, (label, a, b) in enumerate(rows(count, seed, longer_negatives=True)):
                query = f"{i // 8}\t" if name == "trecqa" else ""
                lines.append(f"{label}\t{query}{a}\t{b}")
            (folder / f"{part}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


@pytest.mark.parametrize("arch", ["matchpyramid", "bimpm", "esim", "bert-tiny"])
def test_training_lowers_the_loss(arch, vectors, tmp_path):
    matcher = build_matcher(arch)
    before = fit_of(matcher)
    record = fit(matcher, examples(), examples(16, 1), replace(FAST, epochs=4, learning_rate=2e-3), tmp_path)
    assert fit_of(matcher) < before - 0.03
    assert record["evaluations"][-1]["step"] == 16


def fit_of(matcher):
    """Mean loss on the training examples, in eval mode."""
    known = examples()
    logits = torch.from_numpy(matcher.predict(known.pairs))
    return float(F.cross_entropy(logits, torch.from_numpy(known.labels)))


def test_interrupted_training_ends_where_an_uninterrupted_one_does(vectors, tmp_path, monkeypatch):
    config = replace(FAST, epochs=3, evaluate_every=4, patience=3)

    def run(out):
        matcher = build_matcher("esim", seed=1)
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

    config = LoopConfig(epochs=6, batch_size=4, learning_rate=0.1, evaluate_every=1, patience=2)
    x, y = torch.randn(4, 2), torch.tensor([0, 1, 0, 1])
    record = train(
        model,
        [1] * 4,
        lambda batch: (F.cross_entropy(model(x[batch.index]), y[batch.index]), {}),
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
        data = find_data(name, data_root)
        sides = {s: training_part(data, s, equal_size=True) for s in ("original", "adversarial")}
        sizes = {s: len(examples) for s, (examples, _, _) in sides.items()}
        assert sizes["original"] == sizes["adversarial"] < 400
        assert sides["original"][1].pairs == sides["adversarial"][1].pairs  # the same development part
        capped, _, facts = training_part(data, "adversarial", max_pairs=50, equal_size=True)
        assert len(capped) == facts["train_pairs"] == 50
        whole, _, _ = training_part(data, "original")
        assert len(whole) > sizes["original"]


def test_a_development_part_of_lists_is_whole_queries_apart_from_training(data_root):
    train_part, dev, facts = training_part(find_data("trecqa", data_root), "original")
    assert set(dev.groups).isdisjoint(train_part.groups)
    assert len(dev) + len(train_part) == 400
    assert facts["dev_lists"] == len(set(dev.groups)) == 5
    again = training_part(find_data("trecqa", data_root), "original")[1]
    assert again.pairs == dev.pairs


def test_adversarial_lists_keep_both_labels_and_no_fourth_category(data_root):
    for part in held_out_parts(find_data("trecqa", data_root)):
        assert (part.category[part.adversarial] < 4).all()
        kept = part.examples.take(part.adversarial)
        for key in set(kept.groups):
            labels = {int(y) for y, own in zip(kept.labels, kept.groups, strict=True) if own == key}
            assert labels == {0, 1}


RECORD = {
    "arch",
    "data",
    "train_set",
    "seed",
    "config",
    "train_pairs",
    "max_pairs",
    "epochs_run",
    "seconds",
    "trainable_parameters",
    "early_stopping",
    "vectors",
    "init",
    "tests",
}


def test_a_cell_leaves_a_complete_record_and_its_matcher(vectors, data_root, tmp_path, monkeypatch):
    monkeypatch.setitem(TRAINING, "matchpyramid", replace(TRAINING["matchpyramid"], epochs=2))
    for name, figure in (("qqp", "accuracy"), ("trecqa", "map")):
        cell = Cell(name, "matchpyramid", "adversarial", 1)
        record = run_cell(cell, tmp_path / "out", tmp_path / "runs", data_root=data_root)
        assert record.keys() >= RECORD
        written = json.loads(
            (tmp_path / "out/cells" / f"{name}.matchpyramid.adversarial.seed1.json").read_text()
        )
        assert written["tests"].keys() == record["tests"].keys() >= {"original", "adversarial"}
        for test in written["tests"].values():
            low, high = test["intervals"][figure]
            assert low <= test[figure] <= high
            assert [row["category"] for row in test["tpr"]] == [1, 2, 3, 4]
            assert sum(row["positives"] for row in test["tpr"]) == test["positives"]
        assert written["tests"]["original"]["pairs"] > written["tests"]["adversarial"]["pairs"]
        assert written["trainable_parameters"] == 52_962
        assert (tmp_path / "runs" / cell.name / "model" / "word_matcher.json").is_file()
    assert {"clean_dev_original", "clean_dev_adversarial"} <= written["tests"].keys()


def test_finished_cells_are_skipped(vectors, data_root, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    (out / "cells").mkdir(parents=True)
    (out / "cells" / "qqp.esim.original.seed0.json").write_text("{}")
    monkeypatch.setattr(length_bias, "run_cell", lambda *_, **__: pytest.fail("was run again"))
    arguments = [
        "--out",
        out,
        "--runs",
        tmp_path,
        "--arch",
        "esim",
        "--data",
        "qqp",
        "--train-set",
        "original",
    ]
    with pytest.raises(SystemExit, match="0"):
        main(["reproduce", "length-bias", *map(str, arguments)])
    assert "there already" in capsys.readouterr().err


def test_cells_go_through_the_whole_table():
    names = [cell.name for cell in cells(["a", "b"], ["x"], ["original", "adversarial"], [0])]
    assert names == [f"{d}.x.{t}.seed0" for d in "ab" for t in ("original", "adversarial")]
    assert len(list(cells("abcd", "wxyz", ["original", "adversarial"], range(3)))) == 96


def logits_of(scores):
    return np.stack([-np.asarray(scores), np.asarray(scores)], 1) / 2


def test_constant_scores_earn_no_perfect_ranking():
    labels = np.array([1, 0, 0, 0] * 3)
    groups = [str(i // 4) for i in range(12)]
    constant = figures(Examples([("a", "b")] * 12, labels, groups), logits_of(np.zeros(12)), np.ones(12, int))
    assert constant["map"] == constant["mrr"] == 0.25


def test_intervals_agree_with_resampled_pairs():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    scores = rng.normal(size=400) + labels
    got = figures(Examples([("a", "b")] * 400, labels, None), logits_of(scores), rng.integers(1, 5, 400))
    predicted = (scores >= 0).astype(int)
    for name, statistic in (
        ("balanced_accuracy", lambda r: metrics.balanced_accuracy(labels[r], predicted[r])),
        ("f1_macro", lambda r: metrics.f1_macro(labels[r], predicted[r])),
        ("auc", lambda r: metrics.auc(labels[r], scores[r])),
    ):
        want = metrics.bootstrap(statistic, 400, resamples=150)
        assert got[name] == pytest.approx(statistic(np.arange(400)))
        np.testing.assert_allclose(got["intervals"][name], want, rtol=0, atol=0.02)


def test_settings_default_to_those_of_fine_tuning():
    for arch in ("minilm", "some/directory"):
        config = loop_config(settings_of(arch), 1000, 0)
        assert config == LoopConfig()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--arch", "drmm"], "architecture 'drmm' is unknown"),
        (["--train-set", "easy"], "training set 'easy' is unknown"),
        (["--data", "nowhere"], "no train.tsv there"),
        (["--group", "topic"], "no column 'topic'"),
    ],
)
def test_bad_training_requests_exit_2(arguments, message, data_root, tmp_path, capsys):
    given = ["train-matcher", "--data", str(data_root / "qqp"), "--out", str(tmp_path / "run"), *arguments]
    with pytest.raises(SystemExit) as stopped:
        main(given)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["tables"], "expected length-bias"), (["length-bias", "--data", "mrpc"], "expected one of qqp")],
)
def test_bad_studies_exit_2(arguments, message, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", *arguments, "--out", str(tmp_path), "--runs", str(tmp_path)])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_named_data_that_is_not_there_says_where_it_was_sought(tmp_path):
    with pytest.raises(PairFileError, match="set --data-root"):
        find_data("qqp", tmp_path)


def test_command_trains_a_word_matcher_that_evaluate_reads(vectors, data_root, tmp_path):
    out = tmp_path / "run"
    common = ["--arch", "matchpyramid", "--train-set", "adversarial", "--epochs", "2", "--threads", "1"]
    with pytest.raises(SystemExit, match="0"):
        main(["train-matcher", "--data", "qqp", "--data-root", str(data_root), "--out", str(out), *common])
    test, record = str(data_root / "qqp" / "test.tsv"), tmp_path / "figures.json"
    with pytest.raises(SystemExit, match="0"):
        main(["evaluate", str(out / "model"), "--data", test, "--json", str(record)])
    assert json.loads(record.read_text())["pairs"] == 160
