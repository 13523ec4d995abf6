"""Promise of the shipped matchers' report: every figure from a record, every finding from its figures."""

import functools
import itertools
import json

import numpy as np
import pytest

from mobilebert_matching.evaluation.pair_evaluation import evaluate
from mobilebert_matching.evaluation.perturbations import invariances
from mobilebert_runtime.errors import DataError
from studies.common import script
from studies.common.markdown import with_interval
from studies.common.records import read_folder
from studies.shipped.findings import findings
from studies.shipped.records import (
    OTHERS,
    OURS,
    QQP,
    STUDENTS,
    TITLES,
    TRANSFERS,
    Cost,
    ShipRecords,
    dominated,
)
from studies.shipped.report import main, markdown
from tests.conftest import ROOT


@functools.cache
def figures(seed, skill, lean):
    """Of 400 pairs: `skill` tells labels apart, `lean` takes diverging lengths for another meaning."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 12, (400, 2))
    pairs = [(" ".join("a" * int(n)), " ".join("b" * int(m))) for n, m in lengths]
    labels = rng.integers(0, 2, 400)
    divergence = np.abs(np.diff(lengths, axis=1)[:, 0]) / lengths.min(1)
    logit = skill * (2 * labels - 1) + rng.normal(size=400) - lean * divergence
    return json.dumps(evaluate(pairs, labels, 1 / (1 + np.exp(-logit)), 0.5))


def evaluation(matcher, seed=0, skill=1.2, lean=0.0):
    start = {"matcher": matcher, "runtime": "PyTorch", "data": "qqp/test.tsv"}
    return start | json.loads(figures(seed, skill, lean))


def latency(*names, mode="padded"):
    return {
        "settings": {"mode": mode},
        "candidates": [{"name": name, "threads": 1} for name in names],
        "summary": {n: {"p50_ms": 4.0 + i, "p90_ms": 5.5, "peak_mib": 80.0} for i, n in enumerate(names)},
        "facts": {name: {"bytes": 5_000_000} for name in names},
    }


def put(folder, name, record):
    (folder / f"{name}.json").write_text(json.dumps(record))


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A folder with every record the page knows."""
    folder = tmp_path_factory.mktemp("ship")
    for name in OURS:
        for test in (QQP, *TRANSFERS):
            put(folder, f"{name}.{test}", evaluation(f"runs/{name}/model"))
        moved = invariances(
            lambda pairs: np.array([len(a) / 50 for a, _ in pairs]), [("one two", "three")], 0.5
        )
        put(folder, f"{name}.invariances", {"matcher": name} | moved)
    put(folder, f"teacher.symmetric.{QQP}", evaluation("runs/teacher/model"))
    for name in STUDENTS:
        put(folder, f"{name}.int8.{QQP}", evaluation(f"artefacts/{name}-int8"))
        put(folder, f"{name}.original.{QQP}", evaluation(f"runs/{name}-original/model", lean=1.0))
    for number, name in enumerate(OTHERS):
        put(folder, f"{name}.{QQP}", evaluation(name, seed=number % 2, skill=0.7))
    put(folder, "latency", latency("matcher-m-int8", "matcher-s-int8", "someone-else"))
    timed = {
        name: {"ms": 2.0 + i, "ratio": 1 + i / 2, "interval": [0.9 + i / 2, 1.1 + i / 2]}
        for i, name in enumerate(["matcher-m", *OTHERS])
        if not name.endswith(".adversarial")
    }
    put(folder, "speed", {"base": "matcher-m", "pairs": 512, "threads": 1, "matchers": timed})
    return folder


def row(text, *start):
    """The one table row that begins with these cells."""
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {' | '.join(start)} |"))
    return line


def beside(text, title):
    """A row of the table of what is replaced."""
    return row(text.split("## Compared with what they replace")[1].split("## What was found")[0], title)


def report(*arguments):
    with pytest.raises(SystemExit) as done:
        script.run(main, list(map(str, arguments)))
    return done.value.code


def test_an_empty_folder_gives_a_page_that_says_what_is_absent(tmp_path, capsys):
    assert report("--results", tmp_path) == 0
    text = (tmp_path / "report.md").read_text()
    found = text.split("## What was found")[1].split("## Not recorded")[0]
    assert {line.split(" | ")[-1] for line in found.splitlines()[4:] if line} == {"– |"}
    for name in ("teacher.qqp-test", "matcher-m.int8.qqp-test", "esim.original.qqp-test", "latency", "speed"):
        assert f"`{name}`" in text
    assert not (tmp_path / "pareto.png").exists()
    assert "0 matchers" in capsys.readouterr().out
    assert report("--results", tmp_path / "none") == 2


def test_a_full_folder_leaves_nothing_out_and_is_not_replaced_unasked(everything, tmp_path, capsys):
    assert report("--results", everything, "--out", tmp_path) == 0
    text = (tmp_path / "report.md").read_text()
    assert "## Not recorded\n\nNothing.\n" in text
    assert "not recorded |" not in text
    heads = [i for i, line in enumerate(text.splitlines()) if line.startswith("| ---")]
    assert heads
    for i in heads:  # every row of a table has as many cells as its head
        table = itertools.takewhile(lambda line: line.startswith("|"), text.splitlines()[i - 1 :])
        assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert (tmp_path / "pareto.png").read_bytes().startswith(b"\x89PNG")
    assert "](pareto.png)" in text
    assert report("--results", everything, "--out", tmp_path) == 2
    assert "--force" in capsys.readouterr().err
    assert report("--results", everything, "--out", tmp_path, "--force") == 0


def test_numbers_are_those_of_the_records(everything):
    text = markdown(ShipRecords.load(everything))
    found = json.loads((everything / "matcher-s.int8.qqp-test.json").read_text())
    for part, record in (("original", found), ("adversarial", found["adversarial"])):
        line = row(text, "matcher-s, int8", part, f"{record['pairs']:,}")
        low, high = record["f1_interval"]
        assert f"| {100 * record['f1']:.2f} [{100 * low:.2f}, {100 * high:.2f}] |" in line
        assert f"| {record['auc']:.3f} [" in line
        gap = record["tpr_gap"]
        assert row(
            text,
            "matcher-s, int8",
            part,
            f"{100 * gap['value']:.1f} [{100 * gap['low']:.1f}, {100 * gap['high']:.1f}]",
        )
    category = found["categories"][3]
    rate = category["true_positive_rate"], *category["true_positive_rate_interval"]
    shown = "{:.1f} [{:.1f}, {:.1f}] |".format(*(100 * value for value in rate))
    assert row(text, "matcher-s, int8", "TPR").endswith(shown)
    most = max(found["positives"], 400 - found["positives"])
    assert row(text, "MRPC", "teacher", "400", f"{most / 4:.2f}")
    assert row(text, "matcher-m", "the two texts change places", "1")
    place = 1 + list(OTHERS).index("esim.original")
    for title in ("ESIM", "ESIM, bias-free training"):  # the second was not timed: it is the same network
        assert f"| {1 + place / 2:.2f} [" in beside(text, title)


def test_leads_are_differences_on_both_tests(everything):
    records = ShipRecords.load(everything)
    mine, theirs = records.test("matcher-m"), records.test("bimpm.original")
    leads = [
        100 * (a["accuracy"] - b["accuracy"])
        for a, b in ((mine, theirs), (mine["adversarial"], theirs["adversarial"]))
    ]
    assert "{:+.2f} / {:+.2f}".format(*leads) in beside(markdown(records), "BiMPM")


def changed(everything, tmp_path, **changes):
    """The findings after records were changed: name with underscores for the separators → what to update."""
    for path in everything.glob("*.json"):
        record = json.loads(path.read_text())
        for key, update in changes.items():
            if path.stem == key.replace("__", "."):
                update(record)
        put(tmp_path, path.stem, record)
    return {line.what: line.found for line in findings(ShipRecords.load(tmp_path))}


def set_accuracy(value):
    def update(record):
        record["accuracy"] = value
        record["accuracy_interval"] = [value - 0.008, value + 0.008]
        record["adversarial"]["accuracy"] = value

    return update


def set_gap(value):
    def update(record):
        for part in (record, record["adversarial"]):
            part["tpr_gap"]["value"] = value

    return update


def test_a_gap_of_too_few_pairs_is_shown_without_an_interval():
    assert with_interval(0.25, (None, None), 1, scale=100) == "25.0"
    assert with_interval(0.25, (0.0, 0.5), 1, scale=100) == "25.0 [0.0, 50.0]"
    assert with_interval(None, (None, None), 1) == "–"


def test_findings_are_the_figures_of_the_records(everything, tmp_path):
    renamed = {
        "matcher-m__qqp-test": lambda r: (set_accuracy(0.8650)(r), set_gap(0.05)(r)),
        "matcher-m__int8__qqp-test": set_accuracy(0.8632),
        "matcher-m__original__qqp-test": lambda r: (set_accuracy(0.8720)(r), set_gap(0.10)(r)),
        "matcher-s__qqp-test": lambda r: (set_accuracy(0.8401)(r), set_gap(-0.051)(r)),
        "matcher-s__original__qqp-test": lambda r: (set_accuracy(0.8720)(r), set_gap(0.10)(r)),
        "esim__original__qqp-test": set_accuracy(0.85),
    }
    found = changed(everything, tmp_path, **renamed)
    expected = {
        "matcher-m: accuracy, int8 minus float": "-0.18 points",
        "matcher-m: recall gap TPR(CAT1) − TPR(CAT4), original test": (
            "+0.050; trained on the original set +0.100 (50% of it)"
        ),
        "matcher-s: recall gap TPR(CAT1) − TPR(CAT4), adversarial test": (
            "-0.051; trained on the original set +0.100 (51% of it)"
        ),
        "matcher-m: accuracy with debiased training, original test": (
            "86.50%; trained on the original set 87.20 [86.40, 88.00]"
        ),
        "matcher-s: accuracy, original test, against 10 of 10 others": "84.01%; best other 85.00% (ESIM)",
    }
    assert {what: found[what] for what in expected} == expected
    answer = json.loads((tmp_path / "matcher-m.qqp-test.json").read_text())["adversarial"]["length_probe"]
    said = found["matcher-m: lengths predict which pairs are errors, adversarial test"]
    assert said.startswith(f"AUC {answer['error']['auc']:.3f}, ")
    assert said.endswith(", at chance") == answer["error"]["at_chance"]


def test_the_best_of_the_recorded_others_is_named_with_their_number(everything, tmp_path):
    changed(everything, tmp_path, **{"esim__original__qqp-test": set_accuracy(0.85)})
    for name in ("bimpm.original", "cosine-minilm-l6"):
        (tmp_path / f"{name}.{QQP}.json").unlink()
    found = {line.what: line.found for line in findings(ShipRecords.load(tmp_path))}
    said = found["matcher-m: accuracy, original test, against 8 of 10 others"]
    assert said.endswith("best other 85.00% (ESIM)")


def test_the_recorded_page_holds_no_target_and_every_recorded_figure():
    folder = ROOT / "results" / "ship"
    records = ShipRecords.load(folder)
    page = markdown(records, folder / "pareto.png")
    assert page == (folder / "report.md").read_text(encoding="utf-8")


def test_records_of_older_programs_are_read(tmp_path):
    older = read_folder(ROOT / "results" / "matcher")
    for file, name in {"teacher": "teacher", "student": "matcher-m", "tflite-int8": "matcher-m.int8"}.items():
        (tmp_path / f"{name}.{QQP}.json").write_text(json.dumps(older[f"{file}.{QQP}.json"]))
    text = markdown(ShipRecords.load(tmp_path))
    student = older[f"student.{QQP}.json"]
    assert f"| {100 * student['accuracy']:.2f} [" in row(text, "matcher-m", "original")
    assert "matcher-m | adversarial" not in text


def test_an_artefact_finds_its_accuracy_by_its_folder(everything):
    records = ShipRecords.load(everything)
    (run,) = records.latencies.values()
    accuracy = records.test("matcher-s.int8")["accuracy"]
    assert [(cost.name, cost.ms, cost.accuracy) for cost in records.costs(run)] == [
        ("matcher-m-int8", 4.0, accuracy),
        ("matcher-s-int8", 5.0, accuracy),
    ]
    assert row(markdown(records), "someone-else").rstrip(" |").endswith("–")


def test_dominated_by_hand():
    costs = [
        Cost(n, ms, 1.0, a, a, a)
        for n, ms, a in (("a", 1, 0.8), ("b", 2, 0.9), ("c", 2, 0.85), ("d", 3, 0.9))
    ]
    assert dominated(costs) == {"c", "d"}
    assert dominated([costs[0], costs[0]]) == set()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("matcher-x.qqp-test", {}, "NAME one of teacher"),
        ("matcher-m.squad", {}, "TEST one of qqp-test"),
        ("matcher-m.qqp-test", {"matcher": "m"}, "lacks data, pairs"),
        ("speed", [], "lacks base"),
        ("speed", {"base": "mine", "pairs": 1, "threads": 1, "matchers": {}}, "its base 'mine' is none of"),
        ("latency", {"summary": {}}, "lacks facts"),
    ],
)
def test_a_record_that_is_none_is_named(tmp_path, name, content, message):
    put(tmp_path, name, content)
    with pytest.raises(DataError, match=message) as caught:
        ShipRecords.load(tmp_path)
    assert f"{name}.json" in str(caught.value)


def test_every_name_has_a_title_of_its_own():
    assert len(set(TITLES.values())) == len(TITLES)
