"""Bad input to the real program: one line, exit 2, nothing changed on disk."""

import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.helpers import small_matcher

ROWS = "".join(f"How far is town {n}?\tWhat is the distance to town {n}?\n" for n in range(30))


def snapshot(folder):
    return {path.relative_to(folder): path.is_file() and path.read_bytes() for path in folder.rglob("*")}


@pytest.fixture
def work(tmp_path):
    """A folder with everything a request may name, good and bad."""
    (tmp_path / "good.tsv").write_text("text_a\ttext_b\n" + ROWS)
    (tmp_path / "empty.tsv").write_text("")
    (tmp_path / "header-only.tsv").write_text("text_a\ttext_b\n")
    (tmp_path / "no-columns.tsv").write_text("alpha\tbeta\n" + ROWS)
    (tmp_path / "prose.tsv").write_text("This is no table at all.\nIt has sentences.\n")
    (tmp_path / "bytes.tsv").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "long-line.tsv").write_text("text_a\ttext_b\n" + ROWS + "x" * 10_000_000 + "\ty\n")
    (tmp_path / "page.pdf").write_bytes(b"%PDF-1.7")
    old = tmp_path / "old"
    old.mkdir()
    (old / "io.json").write_text("{}")
    return tmp_path


def refused(work, *arguments: str) -> str:
    """Run the program in `work`; return its one line after checking that it refused and changed nothing."""
    before = snapshot(work)
    command = [sys.executable, "-m", "mobilebert_export", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=work)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("✓")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("mobilebert: ")
    assert len(lines[0]) < 700
    assert snapshot(work) == before
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--target", "coreml"], "tflite, onnx"),
        (["--quant", "int4"], "none, fp16, dynamic, int8, static, int16x8"),
        (["--target", "onnx", "--quant", "int16x8"], "only none, fp16, dynamic, int8"),
        (["--buckets", "16,lots"], "16,32,64,128"),
        (["--buckets", "64,32,128"], "ascending"),
        (["--buckets", "16,32", "--seq-len", "128"], "--seq-len, 128"),
        (["--buckets", "4,128"], "at least 8"),
        (["--buckets", ",".join(map(str, range(64, 129)))], "65 lengths; at most 64"),
        (["--max-accuracy-drop", "0.2", "--quant", "none"], "can be mixed"),
        (["--opset", "7"], "18 to 20"),
        (["--atol", "0"], "--atol"),
        (["--threads", "0"], "--threads"),
        (["--out", "old"], "--force"),
        (["--out", "good.tsv", "--force"], "is a file, not a folder"),
        (["--out", "good.tsv/artefact"], "in it is a file"),
        (["--calibration", "nowhere.tsv"], "nowhere.tsv"),
        (["--calibration", "page.pdf"], "page.pdf"),
        (["--calibration", "empty.tsv"], "empty.tsv"),
        (["--calibration", "header-only.tsv"], "header-only.tsv"),
        (["--calibration", "no-columns.tsv"], "--text-a"),
        (["--calibration", "no-columns.tsv", "--text-a", "alpha", "--text-b", "gamma"], "'gamma'"),
        (["--calibration", "prose.tsv"], "prose.tsv"),
        (["--calibration", "bytes.tsv"], "bytes.tsv"),
        (["--calibration", "long-line.tsv"], "10,000,000 characters"),
        (
            ["--calibration", "good.tsv", "--quant", "none"],
            "applies only to --quant dynamic, int8, static and int16x8",
        ),
    ],
)
def test_a_bad_request_is_refused_before_anything_is_loaded(work, arguments, says):
    out = [] if "--out" in arguments else ["--out", "new"]
    assert says in refused(work, "export", "--model", "nowhere", *out, *arguments)


def test_a_bad_model_directory_is_refused(work):
    def request(model, *more):
        return refused(work, "export", "--model", model, "--quant", "none", "--out", "new", *more)

    assert "nowhere" in request("nowhere")
    model = work / "model"
    shutil.copytree(small_matcher.model_directory(), model)
    weights = (model / "model.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    assert "truncated" in request("model")
    (model / "model.safetensors").write_bytes(weights)
    assert "8 to 128" in request("model", "--seq-len", "4096")
    (model / "tokenizer.json").unlink()
    assert "tokenizer.json" in request("model")


def test_a_budget_that_cannot_be_checked_is_refused(work):
    shutil.copytree(small_matcher.model_directory(), work / "model")

    def request(*more):
        return refused(work, "export", "--model", "model", "--out", "new", *more)

    (work / "labelled.tsv").write_text("label\ttext_a\ttext_b\n" + "2\ta\tb\n" * 5)
    assert "go together" in request("--max-accuracy-drop", "0.2")
    assert "go together" in request("--pairs", "good.tsv")
    assert "0 to 100" in request("--max-accuracy-drop", "-1", "--pairs", "good.tsv")
    assert "no column of labels" in request("--max-accuracy-drop", "1", "--pairs", "good.tsv")
    assert "label 2" in request("--max-accuracy-drop", "1", "--pairs", "labelled.tsv")


def test_an_audit_of_what_cannot_be_audited_is_refused(work):
    shutil.copytree(small_matcher.model_directory(), work / "model")
    assert "nowhere" in refused(work, "quantize-audit", "nowhere", "--out", "new")
    assert "is a file" in refused(work, "quantize-audit", "model", "--out", "good.tsv")
    assert "measures no ranges" in refused(work, "quantize-audit", "model", "--quant", "none", "--out", "new")
    assert "export the artefact again" in refused(work, "quantize-audit", "old", "--out", "new")
    assert "8 to 128" in refused(work, "quantize-audit", "model", "--seq-len", "999", "--out", "new")


def test_match_and_verify_refuse_what_is_no_artefact(work):
    assert "nowhere" in refused(work, "match", "a", "b", "--artefact", "nowhere")
    assert "give two" in refused(work, "match", "only one", "--artefact", "nowhere")
    assert "not both" in refused(work, "match", "a", "b", "--pairs", "good.tsv", "--artefact", "nowhere")
    assert "export the artefact again" in refused(work, "match", "a", "b", "--artefact", "old")
    assert "nowhere" in refused(work, "verify", "nowhere")
    assert "give one with --pairs" in refused(work, "match", "a", "b", "--text-a", "x", "--artefact", "old")
    assert "give one with --pairs" in refused(work, "verify", "old", "--text-a", "x")
    assert "give one with --file" in refused(work, "run", "old", "a", "b", "--text-b", "x")
    assert "one folder of records" in refused(work, "bench", "history", "old", "nowhere")
    records = [f"{ROOT}/results/bench/buckets.json#matcher-fp32"] * 2
    assert "works on artefacts, not on records" in refused(work, "gate", *records, "--instructions")
