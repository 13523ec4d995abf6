"""From a model directory to answers, through the real program, as a newcomer types it."""

import json
import subprocess
import sys

import numpy as np
import pytest

import models
from matching.pairs import read_pairs
from mobilebert_export import samples
from mobilebert_export.runtime import Matcher
from mobilebert_export.scoring import open_scorer
from tests import small_matcher

COMMON = ("--model", str(small_matcher.model_directory()), "--seq-len", str(small_matcher.SEQ_LEN))


def program(*arguments, cwd, code=0):
    command = [sys.executable, "-m", "mobilebert_export", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == code, done.stderr
    return done


def test_export_verify_match_by_hand(tmp_path):
    """Float TFLite with the user's own words on stdout and nothing of the converters' anywhere."""
    done = program("export", *COMMON, "--quant", "none", "--out", "artefact", cwd=tmp_path)
    assert "max |Δlogit|" in done.stdout
    for line in done.stderr.splitlines():
        assert line.startswith("✓ "), f"not ours: {line}"
    files = {
        "io.json",
        "recipe.json",
        "report.json",
        "report.md",
        "vocab.txt",
        "tokenizer.json",
        "SHA256SUMS",
    }
    assert {path.name for path in (tmp_path / "artefact").iterdir()} == files | {"model.tflite"}
    again = program("verify", "artefact", "--model", COMMON[1], cwd=tmp_path)
    assert "pairs compared with PyTorch" in again.stdout

    other = ("--model", str(small_matcher.model_directory(seed=1)))
    refused = program("verify", "artefact", *other, cwd=tmp_path, code=2)
    assert "are not those" in refused.stderr

    pair = ("How old is the Moon?", "What's the Moon's age?")
    one = program("match", *pair, "--artefact", "artefact", cwd=tmp_path)
    score, label = one.stdout.split()
    assert 0 <= float(score) <= 1
    assert label == "same"
    (tmp_path / "pairs.tsv").write_text(
        "text_a\ttext_b\nHow old is the Moon?\tWhat's the Moon's age?\na\tb\n"
    )
    arguments = ("--pairs", "pairs.tsv", "--artefact", "artefact", "--json")
    rows = [json.loads(line) for line in program("match", *arguments, cwd=tmp_path).stdout.splitlines()]
    assert rows[0]["score"] == float(score)
    assert [row["text_a"] for row in rows] == ["How old is the Moon?", "a"]


def test_int8_with_the_users_calibration_text_and_its_speed(tmp_path):
    rows = "".join(f"{a}\t{b}\n" for a, b in samples.calibration_pairs())
    (tmp_path / "mine.tsv").write_text("question1\tquestion2\n" + rows, encoding="utf-8")
    asked = ("--target", "onnx", "--quant", "int8", "--calibration", "mine.tsv", "--out", "artefact")
    done = program("export", *COMMON, *asked, cwd=tmp_path)
    assert "time / float32, interleaved" in done.stdout
    recipe = json.loads((tmp_path / "artefact" / "recipe.json").read_text())
    assert recipe["calibration"] == {"pairs": rows.count("\n"), "from": "mine.tsv"}
    assert recipe["recipe"]["name"] == "onnx-int8"
    latency = json.loads((tmp_path / "artefact" / "report.json").read_text())["latency"]
    assert latency["float32"]["p50_ms"] > 0
    assert latency["ratio"] > 0


def test_a_broken_tolerance_exits_1_and_leaves_nothing(tmp_path):
    arguments = ("--target", "onnx", "--quant", "none", "--atol", "1e-12", "--out", "artefact")
    done = program("export", *COMMON, *arguments, cwd=tmp_path, code=1)
    assert "differs from the PyTorch model" in done.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not models.shipped_directory().is_dir(), reason="no matcher is shipped yet")
def test_the_shipped_matcher_in_int8_keeps_its_accuracy(tmp_path, shared_data):
    """Accuracy on pairs of QQP's test set: int8 TFLite within 1 point of PyTorch (0.2 on the whole set)."""
    program("export", "--out", "artefact", "--buckets", "32,128", "--no-measure", cwd=tmp_path)
    matcher = Matcher.load(tmp_path / "artefact")
    table = read_pairs(shared_data / "data" / "qqp" / "test.tsv")
    chosen = np.random.default_rng(0).permutation(len(table))[:400]
    pairs, labels = [table.pairs[row] for row in chosen], table.labels[chosen]
    scores = matcher.score(pairs)
    expected = open_scorer("shipped", 1).score(pairs)
    called, reference = scores >= matcher.card.threshold, expected >= matcher.card.threshold
    assert (called == reference).mean() >= 0.985
    assert abs((called == labels).mean() - (reference == labels).mean()) <= 0.01
