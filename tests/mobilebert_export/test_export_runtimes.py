"""An artefact on machines that have neither torch nor tensorflow: small environments made for the purpose.

They need a package index; without one the tests skip and say so.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from mobilebert_export import samples
from mobilebert_export.pipeline.export_request import DEFAULT_BUCKETS
from mobilebert_export.verification.agreement import decisions, positive_log_odds
from mobilebert_runtime.matcher import Matcher
from tests.conftest import ROOT
from tests.helpers import small_matcher
from tests.helpers.model_directories import model_directory

# As `make android-artefacts` makes them; with static ranges, which the oldest runtimes know.
SHIPPED = (ROOT / "artefacts" / "matcher-qqp-m-int8", ROOT / "artefacts" / "matcher-qqp-m-int8-onnx")

# As `make export` makes it.
DEFAULT = ROOT / "artefacts" / "matcher-int8"

SCRIPT = """
import importlib.util, json, sys
from mobilebert_runtime.matcher import Matcher
for name in ("torch", "tensorflow", "transformers", "typer", "rich", "safetensors"):
    if importlib.util.find_spec(name):
        sys.exit(f"{name} is installed: this environment proves nothing")
pairs = [tuple(pair) for pair in json.load(sys.stdin)]
matcher = Matcher.load(sys.argv[1])
print(json.dumps({"runtime": matcher.backend.name, "logits": matcher.logits(pairs).tolist()}))
"""


def environment(folder, *packages):
    """The python of a new environment with these packages."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    # What is imported here is compiled then; the rest need not be. Python 3.13 lacks wheels of old packages,
    # and nothing is built.
    flags = ["--quiet", "--no-compile", "--disable-pip-version-check", "--only-binary=:all:"]
    install = [str(python), "-m", "pip", "install", *flags, *packages]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip can't install {' '.join(packages)}: {done.stderr.strip().splitlines()[-1]}")
    return python


@pytest.fixture(scope="module")
def current(tmp_path_factory):
    return environment(
        tmp_path_factory.mktemp("current") / "venv", "numpy", "tokenizers", "ai-edge-litert==2.3.0"
    )


@pytest.fixture(scope="module")
def oldest(tmp_path_factory):
    packages = ("numpy==1.26.4", "tokenizers", "tflite-runtime==2.14.0", "onnxruntime==1.17.0")
    return environment(tmp_path_factory.mktemp("oldest") / "venv", *packages)


@pytest.fixture(scope="module")
def litert_1(tmp_path_factory):
    """The oldest that dynamic ranges run in: TFLite 2.18."""
    packages = ("numpy==1.26.4", "tokenizers", "ai-edge-litert==1.0.1")
    return environment(tmp_path_factory.mktemp("litert-1") / "venv", *packages)


def run(python, artefact, pairs):
    return subprocess.run(
        [str(python), "-P", "-c", SCRIPT, str(artefact)],
        input=json.dumps(pairs),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def agree(python, target, quant, tolerance):
    """Logits in the other environment are those of this one."""
    return folder_agrees(
        python, small_matcher.artefact(target, quant), samples.verification_pairs()[:30], tolerance
    )


def folder_agrees(python, artefact, pairs, tolerance):
    """The same of any artefact folder; the other environment's runtime."""
    runtime, there = logits_there(python, artefact, pairs)
    np.testing.assert_allclose(there, Matcher.load(artefact).logits(pairs), atol=tolerance)
    return runtime


def logits_there(python, artefact, pairs):
    """The other environment's runtime, and the logits it gives: (N, labels)."""
    done = run(python, artefact, pairs)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["runtime"], np.float32(found["logits"])


def lengths_used(artefact, pairs):
    """The buckets that pairs run in, ascending."""
    matcher = Matcher.load(artefact)
    card = matcher.card
    return sorted({card.bucket(len(ids)).seq_len for ids, _ in matcher.tokenizer.ids(pairs, card.seq_len)})


def test_tflite_runs_with_numpy_tokenizers_and_litert_alone(current):
    assert agree(current, "tflite", "none", 1e-5) == "ai-edge-litert"
    assert agree(current, "tflite", "int8", 1e-5) == "ai-edge-litert"


def test_a_missing_runtime_is_named(current):
    done = run(current, small_matcher.artefact("onnx", "none"), [])
    assert "ToolError: model.onnx needs a runtime" in done.stderr
    assert "pip install 'onnxruntime" in done.stderr


def test_tflite_runs_in_tflite_runtime_2_14(oldest):
    """Without int8 kernels for matrix products the old XNNPACK leaves them to TFLite's own: a step apart."""
    assert agree(oldest, "tflite", "none", 1e-5) == "tflite-runtime"
    assert agree(oldest, "tflite", "int8", 0.1) == "tflite-runtime"
    assert agree(oldest, "tflite", "int16x8", 0.1) == "tflite-runtime"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quant", "tolerance"), [("none", 1e-5), ("fp16", 1e-4), ("static", 0.1), ("int16x8", 0.01)]
)
def test_an_embedding_matcher_runs_in_tflite_runtime_2_14(oldest, quant, tolerance):
    """Positions that are added, linear layers that write three axes, products of two computed tensors."""
    folder = small_matcher.embedding_artefact("tflite", quant)
    assert json.loads((folder / "report.json").read_text())["minimum_runtime"] == {"tflite": "2.14"}
    pairs = samples.verification_pairs()[:30]
    assert folder_agrees(oldest, folder, pairs, tolerance) == "tflite-runtime"


@pytest.mark.slow
def test_ranges_found_at_run_time_are_right_in_tflite_runtime_2_14_where_it_was_asked_for(oldest, tmp_path):
    pairs = samples.verification_pairs()[:30]
    for name, model in (
        ("cross", small_matcher.model_directory()),
        ("vectors", small_matcher.embedding_model()),
    ):
        folder = tmp_path / name
        small_matcher.report("tflite", "dynamic", folder, model=str(model), minimum_runtime="2.14")
        assert folder_agrees(oldest, folder, pairs, 0.1) == "tflite-runtime"


@pytest.mark.slow
@pytest.mark.parametrize("quant", ["fp16", "int16x8"])
def test_a_stock_encoder_runs_in_tflite_runtime_2_14(oldest, tmp_path, quant):
    """Its positions are a constant that is added, which XNNPACK of then loses where it has to widen it."""
    folder, pairs = tmp_path / "exported", samples.verification_pairs()[:30]
    model = model_directory(tmp_path / "model", "roberta", "text-matching")
    small_matcher.report("tflite", quant, folder, model=str(model))
    assert small_matcher.SEQ_LEN in lengths_used(folder, pairs)
    assert folder_agrees(oldest, folder, pairs, 0.01 if quant == "int16x8" else 1e-4) == "tflite-runtime"


@pytest.mark.slow
def test_product_codes_of_words_run_in_the_oldest_runtimes(oldest):
    pairs = samples.verification_pairs()[:30]
    for target, runtime in (("tflite", "tflite-runtime"), ("onnx", "onnxruntime")):
        assert folder_agrees(oldest, small_matcher.coded_artefact(target), pairs, 0.1) == runtime


@pytest.mark.slow
def test_all_four_lengths_of_the_default_export_run_in_tflite_runtime_2_14(oldest, tmp_path):
    folder, pairs = tmp_path / "four", samples.verification_pairs()[:60]
    made = small_matcher.report(
        "tflite", "int8", folder, seq_len=DEFAULT_BUCKETS[-1], buckets=DEFAULT_BUCKETS
    )
    assert lengths_used(folder, pairs) == list(DEFAULT_BUCKETS)
    assert made["minimum_runtime"] == {"tflite": "2.14"}
    assert "Runs in tflite ≥ 2.14." in (folder / "report.md").read_text(encoding="utf-8")
    assert folder_agrees(oldest, folder, pairs, 0.1) == "tflite-runtime"


@pytest.mark.slow
@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_the_shipped_artefacts_run_in_the_oldest_runtimes(oldest, folder):
    if not folder.is_dir():
        pytest.skip(f"not run: no {folder.relative_to(ROOT)}; run `make android-artefacts`")
    pairs, bound = samples.verification_pairs(), 0.1
    matcher = Matcher.load(folder)
    card, shift = matcher.card, matcher.card.shift(pairs)
    assert lengths_used(folder, pairs) == [bucket.seq_len for bucket in card.buckets]
    runtime, there = logits_there(oldest, folder, pairs)
    assert runtime in ("tflite-runtime", "onnxruntime")
    here = matcher.logits(pairs)
    # TFLite's kernels of 2023 round one int8 value in 300 to 1,600 the other way; in one pair of a hundred
    # more of that noise adds up than the bound.
    assert np.quantile(np.abs(there - here).max(axis=1), 0.99) <= bound
    # Two logits that move by the bound move their difference by twice that: farther from the threshold, the
    # label stays.
    threshold = card.temperature * (np.log(card.threshold / (1 - card.threshold)) - np.array(shift))
    clear = np.abs(positive_log_odds(here, card.positive) - threshold) > 2 * bound
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(decisions(there, card, shift)[clear], decisions(here, card, shift)[clear])


def test_a_file_newer_than_its_runtime_is_refused_not_misread(oldest):
    done = run(oldest, small_matcher.artefact("tflite", "dynamic"), [])
    assert "needs 2.18 or newer" in done.stderr
    assert "pip install --upgrade ai-edge-litert" in done.stderr


@pytest.mark.slow
def test_dynamic_ranges_run_in_litert_1_0(litert_1):
    pairs = samples.verification_pairs()[:30]
    for folder in (
        small_matcher.artefact("tflite", "dynamic"),
        small_matcher.embedding_artefact("tflite", "dynamic"),
    ):
        assert folder_agrees(litert_1, folder, pairs, 0.1) == "ai-edge-litert"


def test_the_default_artefact_runs_in_the_oldest_runtime_that_its_card_names(litert_1):
    if not DEFAULT.is_dir():
        pytest.skip(f"not run: no {DEFAULT.relative_to(ROOT)}; run `make export`")
    assert Matcher.load(DEFAULT).card.minimum_runtime == {"tflite": "2.18"}
    assert folder_agrees(litert_1, DEFAULT, samples.verification_pairs()[:60], 0.1) == "ai-edge-litert"


def test_onnx_runs_in_onnxruntime_1_17(oldest):
    assert agree(oldest, "onnx", "none", 1e-5) == "onnxruntime"
    assert agree(oldest, "onnx", "int8", 0.1) == "onnxruntime"
