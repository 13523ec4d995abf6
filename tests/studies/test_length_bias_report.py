"""Promise of the length-bias report: ours beside the paper's, and nothing that was not recorded."""

import json

import pytest

from mobilebert_runtime.errors import DataError
from studies.common import script
from studies.length_bias import published
from studies.length_bias.published import ARCHITECTURES, DATA, METRICS
from studies.length_bias.recorded_runs import Runs, printed_directions
from studies.length_bias.report import main, markdown, summary, tpr_panels

TPR = [
    {"category": f"CAT{c}", "value": 0.9 - c / 10, "low": 0.8 - c / 10, "high": 1.0 - c / 10, "positives": 50}
    for c in range(1, 5)
]


def record(data, arch, train_set, values, seed=0):
    """A run whose metric number i is values[test] + i/100, with an interval of ± 0.01."""
    tests = {}
    for test, value in values.items():
        figures = {metric: value + i / 100 for i, metric in enumerate(METRICS[data])}
        intervals = {metric: [v - 0.01, v + 0.01] for metric, v in figures.items()}
        for prefix in ("", "clean_dev_") if data == "trecqa" else ("",):
            tests[prefix + test] = figures | {"tpr": TPR, "intervals": intervals}
    return {
        "data": data,
        "arch": arch,
        "train_set": train_set,
        "seed": seed,
        "tests": tests,
        "train_pairs": 1000,
        "epochs_run": 2.0,
        "seconds": 90.0,
        "trainable_parameters": 52_962,
        "init": "distilled weights" if arch == "bert-tiny" else None,
    }


def every_run(dropping=range(16), seed=0):
    """All 32 cells; combinations whose number is in `dropping` lose 2 points on the adversarial test set."""
    out = []
    for number, (data, arch) in enumerate((d, a) for d in DATA for a in ARCHITECTURES):
        low = 0.70 if number in dropping else 0.73
        out.append(record(data, arch, "original", {"original": 0.72, "adversarial": low}, seed))
        out.append(record(data, arch, "adversarial", {"original": 0.75, "adversarial": 0.74}, seed))
    return out


def test_the_papers_own_numbers_give_the_papers_own_counts():
    drops, gains = printed_directions()
    assert len(drops) == len(gains) == published.COMBINATIONS == 16
    assert sum(d.holds for d in drops) == published.DROPS == 14
    assert {(d.data, d.arch) for d in drops if not d.holds} == {("trecqa", "bimpm"), ("microblog", "esim")}
    assert sum(g.holds for g in gains) == published.GAINS == 15
    assert [(g.data, g.arch) for g in gains if not g.holds] == [("qqp", "esim")]


def test_printed_table_has_every_metric_once():
    assert {(d, m) for d, metrics in METRICS.items() for m in metrics} == set(published.TABLE_2)
    assert all(set(row) == set(ARCHITECTURES) for row in published.TABLE_2.values())
    assert all(set(p.untrained) == set(p.trained) == set(DATA) for p in published.TABLE_3.values())


def test_counts_of_complete_runs():
    text = markdown(summary(Runs(every_run(dropping=range(13))), None))
    assert "**13 of 16** combinations show the drop on the adversarial test set, 13 of them in every" in text
    assert "**16 of 16** combinations show the gain" in text
    assert "missing" not in text
    assert "ours start from: distilled weights." in text
    row = next(line for line in text.splitlines() if line.startswith("| QQP | BA | BERT_TINY † |"))
    # ours 73.00 on the original test, 71.00 on the adversarial one; 3 and 4 points won by training
    assert (
        "73.00 [72.00, 74.00] | 84.46 | 71.00 [70.00, 72.00] | 83.65 | +3.00 | +0.77 | +4.00 | +1.04" in row
    )


def test_one_metric_is_enough_to_count_but_not_for_all():
    run = record("qqp", "esim", "original", {"original": 0.8, "adversarial": 0.8})
    run["tests"]["adversarial"]["accuracy"] = 0.79
    run["tests"]["adversarial"]["balanced_accuracy"] = 0.85
    drop = Runs([run]).drop("qqp", "esim")
    assert drop.holds
    assert not drop.holds_in_all
    assert drop.points == pytest.approx({"accuracy": 1.0, "balanced_accuracy": -4.0})


def test_trecqa_is_reported_on_both_of_its_test_sets_and_counted_on_one():
    runs = every_run()
    for run in runs:
        if run["data"] == "trecqa" and run["train_set"] == "original":
            run["tests"]["clean_dev_adversarial"] = run["tests"]["original"]
    text = markdown(summary(Runs(runs), None))
    rows = [line for line in text.splitlines() if "| MAP | ESIM |" in line]
    assert [row.split(" | ")[5] for row in rows] == [
        "70.00 [69.00, 71.00]",
        "72.00 [71.00, 73.00]",
        "70.00 [69.00, 71.00]",
    ]
    assert [row.split(" | ")[0] for row in rows] == ["| TrecQA", "| TrecQA clean dev", "| Microblog"]
    assert "**16 of 16** combinations show the drop on the adversarial test set, 16 of them in every" in text
    assert "On TrecQA's clean dev set: 0 of 4." in text


def test_seeds_are_averaged_ranged_and_counted():
    values = [0.02, 0.01, -0.06]  # two seeds drop, the mean does not
    runs = Runs(
        record("qqp", "esim", "original", {"original": 0.80, "adversarial": 0.80 - v}, seed)
        for seed, v in enumerate(values)
    )
    drop = runs.drop("qqp", "esim")
    assert (drop.seeds, drop.agreeing, drop.holds) == (3, 2, False)
    assert drop.points["accuracy"] == pytest.approx(-1.0)
    figure = runs.figure("qqp", "esim", "original", "adversarial", "accuracy")
    assert figure.seeds == pytest.approx((78.0, 79.0, 86.0))
    assert (figure.mean, figure.low, figure.high) == pytest.approx((81.0, 80.0, 82.0))
    assert "81.00 [80.00, 82.00]; 3 seeds 78.00–86.00" in markdown(summary(runs, None))


def test_gain_compares_the_same_seeds_only():
    runs = Runs(
        [
            record("qqp", "esim", "original", {"original": 0.8, "adversarial": 0.70}, 0),
            record("qqp", "esim", "original", {"original": 0.8, "adversarial": 0.10}, 1),
            record("qqp", "esim", "adversarial", {"original": 0.8, "adversarial": 0.75}, 0),
        ]
    )
    gain = runs.gain("qqp", "esim")
    assert gain.seeds == 1
    assert gain.points["accuracy"] == pytest.approx(5.0)


def test_missing_runs_are_named_and_never_filled():
    runs = Runs(r for r in every_run() if (r["data"], r["arch"]) != ("microblog", "bimpm"))
    found = summary(runs, None)
    assert found["missing"] == ["microblog.bimpm.original", "microblog.bimpm.adversarial"]
    text = markdown(found)
    assert "**Runs missing (2 of 32):** microblog.bimpm.original, microblog.bimpm.adversarial." in text
    assert "**15 of 16** combinations (15 recorded) show the drop" in text
    row = next(line for line in text.splitlines() if line.startswith("| Microblog | MAP | BiMPM |"))
    assert row == "| Microblog | MAP | BiMPM | – | 26.44 | – | 25.30 | – | +15.06 | – | +12.13 |"
    assert "No probing recorded" in text


def probing(*rows):
    return {
        "majority": 1 / 6,
        "rows": [
            {
                "arch": a,
                "representation": r,
                "data": d,
                "state": s,
                "accuracy": v,
                "interval": [v - 0.01, v + 0.01],
            }
            for a, r, d, s, v in rows
        ],
    }


def test_table_3_sets_one_bert_before_fine_tuning_under_every_data_set_and_counts_orderings():
    found = summary(
        Runs([]),
        probing(
            ("esim", "bilstm_max", "qqp", "untrained", 0.60),
            ("esim", "bilstm_max", "qqp", "trained", 0.70),
            ("esim", "bilstm_max", "trecqa", "untrained", 0.60),
            ("esim", "bilstm_max", "trecqa", "trained", 0.50),
            ("bert-tiny", "embeddings", None, "untrained", 0.85),
            ("bert-tiny", "cls", None, "untrained", 0.75),
            ("minilm", "cls", None, "untrained", 0.65),
        ),
    )
    text = markdown(found)
    lines = text.splitlines()
    assert any(
        line.startswith("| ESIM, BiLSTM-max | trained | 70.00 [69.00, 71.00] | 65.83 | – | 65.43 | 50.00 ")
        for line in lines
    )
    cls = next(line for line in lines if line.startswith("| BERT [CLS] † | untrained"))
    assert cls.count("75.00 [74.00, 76.00]") == 4
    assert any(line.startswith("| minilm, cls | untrained | 65.00 [64.00, 66.00] | – |") for line in lines)
    assert "- ESIM: trained above untrained: 1 of 2 (-10.0 to +10.0 points)." in text
    assert "- bert-tiny, untrained: embeddings above [CLS]: 4 of 4 (+10.0 to +10.0 points)." in text
    assert "- BiMPM: trained above untrained: not recorded." in text
    assert "16.67" in text


def test_rates_are_means_over_seeds_and_empty_categories_have_no_point():
    first, second = (
        record("qqp", "esim", "original", {"original": 0.8, "adversarial": 0.7}, s) for s in (0, 1)
    )
    second["tests"]["adversarial"]["tpr"] = [r | {"value": r["value"] - 0.2} for r in TPR[:3]] + [
        TPR[3] | {"value": None}
    ]
    (points,) = tpr_panels(Runs([first, second]))["QQP"]["ESIM"]
    assert [p.category for p in points] == [1, 2, 3]
    assert [p.value for p in points] == pytest.approx([0.7, 0.6, 0.5])


def test_command_writes_text_numbers_and_figures(tmp_path, capsys):
    folder = tmp_path / "results"
    (folder / "cells").mkdir(parents=True)
    for run in every_run():
        name = f"{run['data']}.{run['arch']}.{run['train_set']}.seed0.json"
        (folder / "cells" / name).write_text(json.dumps(run))
    categories = [{"category": c, "positive": 50 - 5 * c, "negative": 60, "ratio": 0.1} for c in range(1, 5)]
    (folder / "audit.qqp.json").write_text(json.dumps({"categories": categories}))
    with pytest.raises(SystemExit) as done:
        script.run(main, ["--results", str(folder), "--out", str(tmp_path / "out")])
    assert done.value.code == 0
    assert "32 runs (0 of 32 missing), 1 of 4 audits, no probing" in " ".join(capsys.readouterr().out.split())
    for name in ("figure1.png", "figure2.png"):
        assert (tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG")
        assert f"]({name})" in (tmp_path / "out" / "report.md").read_text()
    assert json.loads((tmp_path / "out" / "report.json").read_text())["missing"] == []
    with pytest.raises(SystemExit) as done:
        script.run(main, ["--results", str(folder), "--out", str(tmp_path / "out")])
    assert done.value.code == 2
    assert "--force" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not the record of a run"),
        (json.dumps({"data": "qqp", "arch": "lstm"}), "arch is 'lstm'; expected one of matchpyramid"),
        (json.dumps(record("qqp", "esim", "original", {"original": 0.7})), "'adversarial'"),
    ],
)
def test_damaged_record_is_named(tmp_path, content, message):
    (tmp_path / "broken.json").write_text(content)
    with pytest.raises(DataError, match=r"broken\.json: ") as caught:
        Runs.load(tmp_path)
    assert message in str(caught.value)


def test_no_folder_is_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit) as done:
        script.run(main, ["--results", str(tmp_path / "none")])
    assert done.value.code == 2
    assert "no such folder" in capsys.readouterr().err
