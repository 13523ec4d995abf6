"""From a model directory to answers, through the real program, as a newcomer types it."""

import json
import subprocess
import sys

from mobilebert_export import samples
from tests.helpers import small_matcher

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
    again = program("verify", "artefact", "--model", COMMON[1], cwd=tmp_path)
    assert "expected loss of accuracy" in again.stdout
    assert "99th percentile of |Δlogit|" in again.stdout, "decisions are counted"


def test_a_broken_tolerance_exits_1_and_leaves_nothing(tmp_path):
    arguments = ("--target", "onnx", "--quant", "none", "--atol", "1e-12", "--out", "artefact")
    done = program("export", *COMMON, *arguments, cwd=tmp_path, code=1)
    assert "differs from the PyTorch model" in done.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []
