"""Promise of the length-bias trainings: each run leaves a complete record once, tested on both test sets."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from mobilebert_matching.evaluation import metrics
from mobilebert_matching.length_bias.training_sets import Examples
from mobilebert_runtime.errors import DataError
from studies.common import script
from studies.common.paper_data import held_out_parts, paper_data
from studies.length_bias import table2
from studies.length_bias.sentlen import ProbeConfig, Sentences, SentLen, probe
from studies.length_bias.table2 import RunConfig, figures, main, run_configs, run_one
from studies.length_bias.word_level.word_matcher import TRAINING
from tests.helpers.biased_data import use_small_vectors, write_data_sets


@pytest.fixture
def vectors(monkeypatch):
    return use_small_vectors(monkeypatch)


@pytest.fixture
def data_root(tmp_path):
    return write_data_sets(tmp_path / "data")


def test_adversarial_lists_keep_both_labels_and_no_fourth_category(data_root):
    for part in held_out_parts(paper_data("trecqa", data_root)):
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


def test_a_run_leaves_a_complete_record_and_its_matcher(vectors, data_root, tmp_path, monkeypatch):
    monkeypatch.setitem(TRAINING, "matchpyramid", replace(TRAINING["matchpyramid"], epochs=2))
    for name, figure in (("qqp", "accuracy"), ("trecqa", "map")):
        config = RunConfig(name, "matchpyramid", "adversarial", 1)
        record = run_one(config, tmp_path / "runs", data_root=data_root)
        assert record.keys() >= RECORD
        written = json.loads(json.dumps(record))
        assert written["tests"].keys() >= {"original", "adversarial"}
        for test in written["tests"].values():
            low, high = test["intervals"][figure]
            assert low <= test[figure] <= high
            assert [row["category"] for row in test["tpr"]] == [1, 2, 3, 4]
            assert sum(row["positives"] for row in test["tpr"]) == test["positives"]
        assert written["tests"]["original"]["pairs"] > written["tests"]["adversarial"]["pairs"]
        assert written["trainable_parameters"] == 52_962
        assert (tmp_path / "runs" / config.name / "model" / "word_matcher.json").is_file()
    assert {"clean_dev_original", "clean_dev_adversarial"} <= written["tests"].keys()


def test_own_sizes_take_all_pairs_and_a_probe_changes_no_training(vectors, data_root, tmp_path, monkeypatch):
    monkeypatch.setattr(table2, "probe", partial(probe, config=ProbeConfig(max_epochs=4, seeds=(0,))))
    texts = [" ".join(["word"] * (5 + i % 6)) for i in range(36)]
    labels = np.arange(36) % 6
    parts = [Sentences(texts[k::3], labels[k::3]) for k in range(3)]
    sizes, records = set(), []
    for train_set in ("original", "adversarial"):
        for name, sentences in (("probed", SentLen(*parts)), ("plain", None)):
            record = run_one(
                RunConfig("qqp", "esim", train_set, 0),
                tmp_path / name,
                data_root=data_root,
                own_sizes=True,
                epochs=2,
                sentences=sentences,
            )
            assert record["train_pairs"] == record["train_pairs_available"][train_set]
            records.append(record)
        sizes.add(record["train_pairs"])
        probed, plain = records[-2:]
        assert [0 <= row.pop("sentlen") <= 1 for row in probed["early_stopping"]] == [True, True]
        assert probed["early_stopping"] == plain["early_stopping"]
        assert probed["tests"] == plain["tests"]
    assert len(sizes) == 2


def test_finished_runs_are_skipped(vectors, data_root, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    (out / "cells").mkdir(parents=True)
    (out / "cells" / "qqp.esim.original.seed0.json").write_text(
        json.dumps({"seconds_with_evaluation": 7.0, "tests": {}})
    )
    monkeypatch.setattr(table2, "run_one", lambda *_, **__: pytest.fail("was run again"))
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
        script.run(main, list(map(str, arguments)))
    assert "qqp.esim.original.seed0: 7 s" in capsys.readouterr().err


def test_runs_go_through_the_whole_table():
    names = [config.name for config in run_configs(["a", "b"], ["x"], ["original", "adversarial"], [0])]
    assert names == [f"{d}.x.{t}.seed0" for d in "ab" for t in ("original", "adversarial")]
    assert len(list(run_configs("abcd", "wxyz", ["original", "adversarial"], range(3)))) == 96


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


def test_named_data_that_is_not_there_says_where_it_was_sought(tmp_path):
    with pytest.raises(DataError, match="set --data-root"):
        paper_data("qqp", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "mrpc"], "'mrpc' is unknown; expected one of qqp"),
        (["--arch", "drmm"], "expected one of matchpyramid"),
        (["--speed", "2"], "No such option: --speed"),
        (["--own-sizes", "--max-pairs", "9"], "leave --max-pairs out"),
    ],
)
def test_bad_requests_end_in_one_line(arguments, message, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        script.run(main, [*arguments, "--out", str(tmp_path), "--runs", str(tmp_path)])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
