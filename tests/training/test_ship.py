"""Promise: one command leads from labelled pairs to a verified matcher whose targets have no length bias."""

import json
import shutil

import numpy as np
import pytest
from scipy.special import expit, softmax

import mobilebert_models
from mobilebert_export.command_line.named_columns import ColumnNames, known_columns
from mobilebert_export.command_line.program import main
from mobilebert_export.evaluation.scoring import open_scorer
from mobilebert_export.shipping.ship import DEV_PAIRS, ShipConfig, parts_of, split_file
from mobilebert_matching.data.labelled_pairs import LabelledPairs, read_labelled, read_split
from mobilebert_matching.length_bias.length_prior import LengthPrior
from mobilebert_models import EncoderConfig, build, save_pretrained
from mobilebert_runtime.errors import DataError, ModelError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.distillation.distillation_data import DistillationData, task_targets, teachers_logits
from mobilebert_training.finetuning.encoded_pairs import predict_logits
from tests.helpers.texts import MINILM
from tests.helpers.toys import WORDS, toy_pairs, write_pairs

SMALL = EncoderConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40)


def biased_pairs(count=400, seed=0):
    """Pairs of which short differences are mostly the same, long ones mostly different."""
    rng = np.random.default_rng(seed)
    pairs, labels = [], []
    for _ in range(count):
        shorter, extra = int(rng.integers(3, 7)), int(rng.integers(0, 6))
        labels.append(int(rng.random() < 0.8 - 0.12 * extra))
        pairs.append((" ".join(rng.choice(WORDS, shorter)), " ".join(rng.choice(WORDS, shorter + extra))))
    return LabelledPairs(pairs, np.array(labels))


def run(command, code=0):
    with pytest.raises(SystemExit) as left:
        main(command)
    assert left.value.code == code


def test_debiased_targets_have_one_ratio_in_every_category():
    """A teacher that knows lengths only gives soft labels without length, and weighted labels are level."""
    train = biased_pairs()
    distillation_data = DistillationData(train, biased_pairs(60, seed=1).pairs, train)
    prior = LengthPrior.fit(*train)
    odds = prior.of(distillation_data.pairs)
    logits = np.stack([np.zeros_like(odds), odds], axis=1)
    debiased, known = task_targets(distillation_data, logits, 1.0), len(train.pairs)
    assert np.array_equal(debiased.logits[:known], logits[:known])
    share = softmax(debiased.logits[known:], axis=1)[:, 1]
    np.testing.assert_allclose(share, expit(prior.overall), rtol=1e-12)
    assert (debiased.weights[known:] == 1).all()
    category, counts = prior.category(train.pairs), debiased.weights[: len(train.pairs)]
    for c in range(1, 5):
        positive, negative = (counts[(category == c) & (train.labels == y)].sum() for y in (1, 0))
        np.testing.assert_allclose(np.log(positive / negative), prior.overall, rtol=1e-9)
    untouched = task_targets(distillation_data, logits, 0.0)
    assert np.array_equal(untouched.logits, logits)
    assert (untouched.weights == 1).all()
    with pytest.raises(ModelError, match="two classes"):
        task_targets(distillation_data, np.zeros((len(odds), 3)), 1.0)


def test_teachers_words_are_averaged_kept_and_not_mistaken(tmp_path, monkeypatch):
    pairs, _ = toy_pairs(20)
    folders = []
    for seed in (0, 1):
        folders.append(tmp_path / f"teacher-{seed}")
        save_pretrained(build(SMALL, seed=seed), folders[-1], tokenizer_from=MINILM)
    tokenizer = PairTokenizer.load(MINILM)
    each = [
        predict_logits(mobilebert_models.load_classifier(f), tokenizer, pairs).astype(np.float64)
        for f in folders
    ]
    product = np.prod([softmax(logits, axis=1) for logits in each], axis=0) ** 0.5
    expected = product / product.sum(axis=1, keepdims=True)
    shares = []
    got = teachers_logits(folders, pairs, tmp_path / "labels", shares.append)
    np.testing.assert_allclose(softmax(got, axis=1), expected, rtol=1e-5)
    assert shares == [0.5, 1.0]
    with monkeypatch.context() as patched:
        patched.setattr(
            "mobilebert_training.distillation.teacher_logits.predict_logits", None
        )  # nothing is left to compute
        assert np.array_equal(teachers_logits(folders, pairs, tmp_path / "labels"), got)
    other = teachers_logits(folders[:1], pairs[::-1], tmp_path / "labels")
    np.testing.assert_allclose(softmax(other, axis=1), softmax(each[0], axis=1)[::-1], rtol=1e-5)


def check_length_shift(model, artefact, data):
    """What is left of the prior was fitted on dev, and both runtimes take it out alike."""
    settings = mobilebert_models.MatcherSettings.load(model)
    test = read_split(data, "test").pairs
    assert any(settings.length_shift["added"])
    assert json.loads((artefact / "io.json").read_text())["length_shift"] == settings.length_shift
    scores = [open_scorer(str(one), 1).score(test) for one in (model, artefact)]
    np.testing.assert_allclose(*scores, atol=1e-4)
    copy = shutil.copytree(model, data / "copy")
    calibrate = ["calibrate", str(copy), "--data", str(data)]
    run([*calibrate, "--debias"], code=2)  # it has settings
    run([*calibrate, "--debias", "--force"])
    again = mobilebert_models.MatcherSettings.load(copy)  # of the saved weights, which are float16
    np.testing.assert_allclose(again.length_shift["added"], settings.length_shift["added"], atol=1e-3)
    run([*calibrate, "--no-debias", "--force"])
    assert mobilebert_models.MatcherSettings.load(copy).length_shift is None


def test_ship_makes_teacher_student_artefact_and_records(tmp_path, capfd):
    data = tmp_path / "data"
    data.mkdir()
    for name, count, seed in (("train", 80, 0), ("dev", 24, 1), ("test", 24, 2)):
        rows = biased_pairs(count, seed)
        lines = [f"{y}\t{a}\t{b}\n" for (a, b), y in zip(*rows, strict=True)]
        (data / f"{name}.tsv").write_text("label\ttext_a\ttext_b\n" + "".join(lines), encoding="utf-8")
    out = tmp_path / "ship"
    command = [
        "ship",
        "--data",
        str(data),
        "--out",
        str(out),
        "--matcher",
        "matcher-s",
        "--quant",
        "none",
        "--quick",
        "--threads",
        "1",
    ]
    run(command)
    said = "".join("".join(capfd.readouterr()).split())  # without the line breaks of a narrow terminal
    measured = json.loads((out / "matcher-s-none.json").read_text())["accuracy"]
    assert f"{out / 'matcher-s-none'}:accuracy{measured:.3f}" in said
    config = mobilebert_models.read_config(out / "matcher-s" / "model")
    assert config == mobilebert_models.preset("matcher-s")
    assert PairTokenizer.load(out / "matcher-s-none").vocab_size == config.vocab_size
    for name in ("matcher-s", "matcher-s-none"):
        assert json.loads((out / f"{name}.json").read_text())["pairs"] == 24
    record = json.loads((out / "matcher-s" / "task.json").read_text())
    assert record["metadata"]["debias"] == 1.0
    card = (out / "matcher-s-none" / "README.md").read_text(encoding="utf-8")
    assert all(f"| CAT{number} | " in card for number in (1, 2, 3, 4))
    assert f"| accuracy | {measured:.3f} (" in card
    assert "| recall gap, CAT1 − CAT4 | " in card
    check_length_shift(out / "matcher-s" / "model", out / "matcher-s-none", data)
    stamps = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    run([*command[:6], "bert-base"], code=2)  # no matcher that is shipped
    run(command)  # all of it is finished
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == stamps


def test_one_file_is_split_into_the_same_two_parts_every_time(tmp_path):
    pairs, labels = biased_pairs(100)
    rows = [
        {"label": int(y), "text_a": f"{a}\n{n}", "text_b": f"{b}\tz"}
        for n, (y, (a, b)) in enumerate(zip(labels, pairs, strict=True))
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    folders = [split_file(file, tmp_path / name) for name in ("one", "other")]
    train, dev = (read_split(folders[0], name) for name in ("train", "dev"))
    assert len(train.pairs) == 80
    assert len(dev.pairs) == 20 <= DEV_PAIRS
    found = {pair: label for part in (train, dev) for pair, label in zip(*part, strict=True)}
    wanted = {(r["text_a"].replace("\n", " "), r["text_b"].replace("\t", " ")): r["label"] for r in rows}
    assert found == wanted
    for name in ("train.tsv", "dev.tsv"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
    file.write_text("".join(json.dumps(row | {"label": 1}) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(DataError, match="no label but 1"):
        split_file(file, tmp_path / "one")


def test_a_folder_without_development_pairs_keeps_back_a_fifth_and_its_test_pairs(tmp_path):
    folder = tmp_path / "pairs"
    folder.mkdir()
    write_pairs(folder / "train.tsv", *biased_pairs(100))
    write_pairs(folder / "test.tsv", *biased_pairs(20, 1))
    data = parts_of(ShipConfig(folder, tmp_path / "out"))
    train, dev = (read_split(data, name) for name in ("train", "dev"))
    assert (len(train.pairs), len(dev.pairs)) == (80, 20)
    assert sorted(train.pairs + dev.pairs) == sorted(biased_pairs(100).pairs)
    assert (data / "test.tsv").read_bytes() == (folder / "test.tsv").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["test.tsv", "train.tsv"]
    write_pairs(folder / "dev.tsv", *biased_pairs(20, 2))
    assert parts_of(ShipConfig(folder, tmp_path / "other")) == folder


def test_texts_in_quotation_marks_stay_texts(tmp_path):
    """What looks like the quoting of CSV is how people write of titles, where the user's file is no TSV."""
    rows = [
        {"label": k % 2, "text_a": f'"Is ""{k}"" a word?"' if k % 2 else f"a {k}", "text_b": f"b {k}"}
        for k in range(20)
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    parts = [read_split(split_file(file, tmp_path / "data"), name) for name in ("train", "dev")]
    assert {pair for part in parts for pair in part.pairs} == {(row["text_a"], row["text_b"]) for row in rows}
    named = ColumnNames(text_a="text_a", text_b="text_b", label="label")
    with known_columns(file, named) as copy:
        assert read_labelled(copy).pairs == [(row["text_a"], row["text_b"]) for row in rows]


@pytest.mark.parametrize("order", range(4))
def test_both_parts_of_one_file_have_rare_labels_too(tmp_path, order):
    """100 pairs, four of which match: by chance alone, most orders leave the development part without one."""
    labels = np.random.default_rng(order).permutation([1] * 4 + [0] * 96)
    rows = "".join(f"{label}\ta {n}\tb {n}\n" for n, label in enumerate(labels))
    file = tmp_path / "rare.tsv"
    file.write_text("label\ttext_a\ttext_b\n" + rows, encoding="utf-8")
    folder = split_file(file, tmp_path / "data")
    train, dev = (read_split(folder, name) for name in ("train", "dev"))
    assert (len(train.pairs), train.labels.sum()) == (80, 3)
    assert (len(dev.pairs), dev.labels.sum()) == (20, 1)


def test_a_label_of_one_pair_can_not_be_split(tmp_path):
    file = tmp_path / "rare.tsv"
    rows = "".join(f"0\tc\td {n}\n" for n in range(9))
    file.write_text("label\ttext_a\ttext_b\n1\ta\tb\n" + rows, encoding="utf-8")
    with pytest.raises(
        DataError, match="1 of 10 different pairs have the label 1; give at least 2 of each label"
    ):
        split_file(file, tmp_path / "data")


@pytest.mark.parametrize("data", ["data", "data/train.tsv"])
def test_pairs_that_lie_where_their_parts_would_be_written_are_not_touched(tmp_path, capfd, data):
    (tmp_path / "data").mkdir()
    write_pairs(tmp_path / "data" / "train.tsv", *biased_pairs(30))
    before = (tmp_path / "data" / "train.tsv").read_bytes()
    run(["ship", f"--data={tmp_path / data}", f"--out={tmp_path}", "--quick"], code=2)
    said = " ".join(capfd.readouterr().err.split())
    assert "data is there already, and the parts of your pairs are written there; choose another" in said
    assert [path.name for path in tmp_path.rglob("*")] == ["data", "train.tsv"]
    assert (tmp_path / "data" / "train.tsv").read_bytes() == before


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_a_third_label_in_any_part_is_refused_before_any_work(tmp_path, capfd, part):
    for name in ("train", "dev", "test"):
        write_pairs(tmp_path / f"{name}.tsv", *biased_pairs(30))
    pairs, labels = biased_pairs(30)
    write_pairs(tmp_path / f"{part}.tsv", pairs, [2, *labels[1:]])
    run(["ship", f"--data={tmp_path}", f"--out={tmp_path / 'out'}", "--quick"], code=2)
    said = " ".join(capfd.readouterr().err.split())
    assert f"{part}.tsv: has label 2; matcher-open-m tells two apart, 0 and 1" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_ship_fine_tunes_the_general_matcher_on_one_file(tmp_path):
    pairs, labels = biased_pairs(100)
    file, out = tmp_path / "mine.tsv", tmp_path / "ship"
    lines = [f"{y}\t{a}\t{b}\n" for (a, b), y in zip(pairs, labels, strict=True)]
    file.write_text("label\ttext_a\ttext_b\n" + "".join(lines), encoding="utf-8")
    run(["ship", f"--data={file}", f"--out={out}", "--quant=none", "--quick", "--threads=1"])
    assert not (out / "teacher-0").exists()
    model, artefact = out / "matcher-open-m" / "model", out / "matcher-open-m-none"
    settings = mobilebert_models.MatcherSettings.load(model)
    assert len(set(settings.length_shift["added"])) == 1  # an offset alone
    card = (artefact / "README.md").read_text(encoding="utf-8")
    assert "Length bias: left in, there are too few pairs to fit it (train.tsv: CAT" in card
    untuned = json.loads((out / "matcher-open-m-before.json").read_text())
    assert f"Before fine-tuning, matcher-open-m as it ships: accuracy {untuned['accuracy']:.3f}" in card
    scores = [open_scorer(str(one), 1).score(pairs[:8]) for one in (model, artefact)]
    np.testing.assert_allclose(*scores, atol=1e-4)
    record = json.loads((out / "matcher-open-m-none.json").read_text())
    assert (record["part"], record["pairs"]) == ("dev", 20)
    assert (out / "matcher-open-m.json").is_file()
    before = open_scorer("matcher-open-m", 1).score(pairs[:8])
    assert np.abs(scores[0] - before).max() > 0.01
