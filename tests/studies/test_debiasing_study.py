"""Promise of the debiasing study: methods run from the command line, once; a record says what came out."""

import json
import shutil

import numpy as np
import pytest

from mobilebert_matching.length_bias.length_divergence import pairwise
from mobilebert_matching.length_bias.training_sets import find_data
from mobilebert_matching.mining.tfidf import mine_pairs
from mobilebert_runtime.errors import OptionError
from mobilebert_training.training_config import ResumeError
from studies.common import script
from studies.debiasing.compare import Comparison, RunConfig, main
from studies.debiasing.report import draw, page
from studies.length_bias.word_level.word_matcher import TRAINING
from studies.length_bias.word_level.word_vectors import WordVectors
from tests.helpers.small_matcher import model_directory

pytestmark = pytest.mark.slow

TOPICS = [
    f"{noun} {verb}" for noun in ("otter", "lamp", "river", "piano") for verb in ("sleeps", "burns", "sings")
]
# One of each kind: hard labels, soft ones, weights, further pairs, another method's model.
CHOSEN = ("original", "adjusted", "re-weighted", "augmented", "shifted")
SIZES = {"train": 160, "dev": 60, "test": 120}


def rows(count, seed):
    """Questions on a few topics; label 1 is rarer where lengths diverge. No pair occurs twice."""
    rng = np.random.default_rng(seed)
    seen = set()
    while len(seen) < count:
        a, b = (int(n) for n in rng.integers(1, 8, 2))
        topic = TOPICS[rng.integers(len(TOPICS))]
        texts = [f"{topic} number {rng.integers(40)}" + " really" * n for n in (a, b)]
        label = int(rng.random() < 0.7 / (1 + 2 * pairwise([a + 4], [b + 4])[0]))
        if tuple(texts) not in {row[1:] for row in seen}:
            seen.add((label, *texts))
    return sorted(seen)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data set of biased pairs, and where the module's runs go."""
    root = tmp_path_factory.mktemp("debiasing")
    (root / "data").mkdir()
    for seed, (part, count) in enumerate(SIZES.items()):
        lines = ["label\tquestion1\tquestion2", *("\t".join(map(str, row)) for row in rows(count, seed))]
        (root / "data" / f"{part}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


def run(folder, *more):
    command = ["--data", str(folder / "data"), "--start", str(model_directory(1))]
    command += ["--teacher", str(model_directory()), "--runs", str(folder / "runs")]
    command += ["--out", str(folder / "out"), *more]
    with pytest.raises(SystemExit) as stop:
        script.run(main, command)
    return stop.value.code


@pytest.fixture(scope="module")
def records(folder):
    """The records of the chosen methods, run from the command line."""
    assert run(folder, *chosen()) == 0
    return {name: json.loads((folder / "out" / f"{name}.seed0.json").read_text("utf-8")) for name in CHOSEN}


def chosen():
    return [word for name in CHOSEN for word in ("--method", name)]


def test_methods_are_trained_for_the_same_number_of_steps_and_tested(records):
    assert {record["training"]["steps"] for record in records.values()} == {3}  # 160 pairs by 64
    assert records["augmented"]["training"]["examples"] > SIZES["train"]
    for name, record in records.items():
        assert record["test"]["pairs"] == SIZES["test"]
        fair = record["test"]["adversarial"]
        assert fair["pairs"] < SIZES["test"]
        assert {"tpr_gap", "length_probe", "categories"} <= set(fair)
        assert (record["teacher"] is not None) == (name in ("adjusted", "augmented"))
        assert (record["accuracy_won_over_original"] is None) == (name == "original")
        won = record["accuracy_won_over_original"]
        if won:
            difference = fair["accuracy"] - records["original"]["test"]["adversarial"]["accuracy"]
            assert won["adversarial"]["value"] == pytest.approx(difference, abs=1e-12)


def test_the_record_says_how_balanced_the_training_set_was(records):
    def ratios(name):
        return [row["weighted_ratio"] for row in records[name]["training"]["metadata"]["categories"]]

    assert np.ptp(ratios("original")) > 0.5
    np.testing.assert_allclose(ratios("re-weighted"), ratios("re-weighted")[0], rtol=1e-9)
    rows = records["original"]["training"]["metadata"]["categories"]
    np.testing.assert_allclose(ratios("original"), [row["positive"] / row["negative"] for row in rows])
    assert not np.allclose(ratios("adjusted"), ratios("original"))  # of its targets, not of the labels


def test_shifting_afterwards_takes_the_model_of_the_original(records, folder):
    assert records["shifted"]["training"] == records["original"]["training"]
    assert records["shifted"]["test"] != records["original"]["test"]
    assert not (folder / "runs" / "shifted.seed0").exists()


def test_a_finished_method_is_not_run_again(records, folder, monkeypatch):
    def fail(*_, **__):
        raise AssertionError

    shutil.copytree(folder / "out", folder / "before")
    with monkeypatch.context() as patch:
        patch.setattr("studies.debiasing.compare.train", fail)
        patch.setattr("mobilebert_training.distillation.teacher_logits.predict_logits", fail)
        assert run(folder, *chosen()) == 0
    for path in (folder / "before").iterdir():
        assert path.read_bytes() == (folder / "out" / path.name).read_bytes(), path.name


def test_the_teachers_logits_are_kept_for_the_methods_that_share_them(records, folder):
    kept = [np.load(path) for path in (folder / "runs" / "teacher_logits").glob("*.npy")]
    assert len(kept) == 2  # of the labelled pairs, and of the mined ones
    assert SIZES["train"] in [len(logits) for logits in kept]


def test_a_record_of_other_settings_is_not_taken_for_this_one(records, folder, capsys):
    assert run(folder, "--epochs", "2", "--method", "original") == 2
    assert "other --out and --runs" in capsys.readouterr().err


def test_the_table_has_a_row_a_method_with_its_figures(records, folder):
    text = (folder / "out" / "report.md").read_text("utf-8")
    cells = {row.split(" | ")[0].lstrip("| "): row.split(" | ") for row in text.splitlines()[2:]}
    for name, record in records.items():
        assert cells[name][2].startswith(f"{100 * record['test']['accuracy']:.1f} [")
        assert cells[name][3].startswith(f"{100 * record['test']['adversarial']['accuracy']:.1f} [")
    assert "![" in text


@pytest.mark.parametrize(
    ("gap", "accuracy", "verdict"),
    [(0.05, 0.80, "yes, yes"), (-0.05, 0.76, "yes, yes"), (0.06, 0.80, "no, yes"), (0.0, 0.74, "yes, no")],
)
def test_the_verdict_is_the_acceptance_line(records, gap, accuracy, verdict):
    """Half of a gap of 0.1; an accuracy not below 0.75."""
    base, other = (json.loads(json.dumps(records[name])) for name in ("original", "re-weighted"))
    base["test"]["adversarial"]["tpr_gap"]["value"] = 0.1
    base["test"]["accuracy_interval"] = [0.75, 0.85]
    other["test"]["adversarial"]["tpr_gap"]["value"], other["test"]["accuracy"] = gap, accuracy
    row = page([other, base]).splitlines()[-1]
    assert row.startswith("| re-weighted |")
    assert row.endswith(f"{verdict} |")


def test_the_plot_is_a_png_of_all_records(records, tmp_path):
    draw(list(records.values()), tmp_path / "plot")
    assert (tmp_path / "plot").read_bytes().startswith(b"\x89PNG")


def test_bad_requests_end_in_one_line(folder, capsys):
    assert run(folder, "--method", "magic") == 2
    assert "'magic' is unknown" in capsys.readouterr().err
    assert run(folder, "--corpus", "shards") == 2
    assert "No such option: --corpus" in capsys.readouterr().err
    assert run(folder, "--teacher", str(folder / "data"), "--method", "adjusted") == 2
    assert "model.safetensors: no such file; give a model directory" in capsys.readouterr().err


def test_a_method_without_its_teacher_is_refused_before_any_work(folder, tmp_path):
    study = Comparison(
        find_data(folder / "data"),
        str(model_directory()),
        RunConfig(),
        tmp_path / "out",
        tmp_path / "runs",
        mine_pairs,
    )
    with pytest.raises(OptionError, match="give --teacher"):
        study.run("adjusted")
    assert not list(tmp_path.iterdir())


def test_a_run_of_another_start_is_not_gone_on_with(records, folder, tmp_path):
    study = Comparison(
        find_data(folder / "data"),
        str(model_directory()),
        RunConfig(),
        tmp_path / "out",
        folder / "runs",
        mine_pairs,
    )
    with pytest.raises(ResumeError, match="use the same settings and files"):
        study.run("original")


def test_a_word_level_matcher_starts_from_random_weights_at_its_own_rate(folder, tmp_path, monkeypatch):
    vectors = WordVectors.of({"really": np.arange(300.0)}, unknown=16)
    monkeypatch.setattr(WordVectors, "installed", classmethod(lambda cls: vectors))
    out = ["--out", str(tmp_path / "out"), "--runs", str(tmp_path / "runs")]
    assert run(folder, "--start", "matchpyramid", *out, "--method", "original") == 0
    record = json.loads((tmp_path / "out" / "original.seed0.json").read_text("utf-8"))
    assert set(record["sources"]["sha256"]) == {"data"}
    assert record["training"]["config"]["learning_rate"] == TRAINING["matchpyramid"].learning_rate
