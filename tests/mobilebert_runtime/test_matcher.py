"""Running an artefact: inputs by name, one answer whatever the batch, errors that say what to install."""

import importlib
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_runtime import backends
from mobilebert_runtime.card import Bucket, read_card
from mobilebert_runtime.errors import ArtefactError, ToolError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.matcher import Matcher, positive_probability
from tests.conftest import ROOT
from tests.helpers.tiny_artefacts import SEQ_LEN, onnx_model, write_artefact


@pytest.fixture
def artefact(tmp_path):
    return write_artefact(tmp_path / "matcher", "onnx", onnx_model())


def change_card(artefact, **change):
    data = json.loads((artefact / "io.json").read_text()) | change
    write_json(artefact / "io.json", data)
    write_checksums(artefact)


def test_scores_are_softmax_probabilities_and_do_not_depend_on_the_batch(artefact):
    matcher = Matcher.load(artefact)
    scores = matcher.score(PAIRS)
    assert scores.dtype == np.float32
    assert scores.shape == (len(PAIRS),)
    logits = matcher.logits(PAIRS).astype(np.float64)
    expected = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    one_by_one = np.concatenate([matcher.score([pair]) for pair in PAIRS])
    np.testing.assert_array_equal(scores, one_by_one)
    assert matcher.backend.most_rows == 1  # one sequence length has static shapes
    np.testing.assert_array_equal(Matcher.load(artefact, threads=2).score(PAIRS), scores)


def test_no_pairs_give_no_scores(artefact):
    matcher = Matcher.load(artefact)
    assert matcher.score([]).shape == (0,)
    assert matcher.logits([]).shape == (0, 2)


def test_temperature_threshold_and_positive_label_come_from_the_card(artefact):
    plain = Matcher.load(artefact)
    change_card(artefact, temperature=2.0, positive=0, threshold=0.7)
    changed = Matcher.load(artefact)
    logits = plain.logits(PAIRS).astype(np.float64)
    expected = 1 / (1 + np.exp((logits[:, 1] - logits[:, 0]) / 2))
    np.testing.assert_allclose(changed.score(PAIRS), expected, rtol=1e-6)
    assert changed.label(0.7) == "different"
    assert changed.label(0.69) == "same"


def test_lengths_shift_the_log_odds_in_both_orders(artefact):
    plain = Matcher.load(artefact)
    shift = {"quartiles": [0.0, 0.5, 1.0], "added": [-0.5, 0.0, 0.25, 2.0]}
    change_card(artefact, temperature=2.0, length_shift=shift)
    shifted = Matcher.load(artefact)
    pairs = [("a b", "c d"), ("a b", "c d e"), ("one", "one two"), ("one", "one two three")]
    for order in (pairs, [(b, a) for a, b in pairs]):
        odds = np.diff(plain.logits(order).astype(np.float64), axis=1)[:, 0] / 2
        expected = 1 / (1 + np.exp(-(odds + np.array([-0.5, 0.0, 0.25, 2.0]))))
        np.testing.assert_allclose(shifted.score(order), expected, rtol=1e-6)
    assert np.array_equal(shifted.score(pairs, symmetric=True), shifted.score(order, symmetric=True))


def test_large_logits_do_not_overflow(artefact):
    card = Matcher.load(artefact).card
    logits = np.array([[1e4, -1e4], [-1e4, 1e4]], np.float32)
    np.testing.assert_array_equal(positive_probability(logits, card, [0.0, 0.0]), [0, 1])


def test_inputs_are_found_by_name_whatever_their_order(tmp_path, artefact):
    import onnx

    proto = onnx.load(artefact / "model.onnx")
    reordered = list(proto.graph.input)[::-1]
    del proto.graph.input[:]
    proto.graph.input.extend(reordered)
    other = write_artefact(tmp_path / "reordered", "onnx", proto.SerializeToString())
    np.testing.assert_array_equal(Matcher.load(other).logits(PAIRS), Matcher.load(artefact).logits(PAIRS))


def test_a_model_that_is_not_what_its_card_says_is_refused(tmp_path, artefact):
    card = read_card(artefact)
    change_card(artefact, **replace(card, buckets=(Bucket(SEQ_LEN // 2),)).to_json())
    with pytest.raises(ArtefactError, match=r"input_ids int32\[1, 64\].*needs.*\[1, 32\]"):
        Matcher.load(artefact)
    change_card(artefact, **replace(card, labels=("a", "b", "c")).to_json())
    with pytest.raises(ArtefactError, match="its outputs are"):
        Matcher.load(artefact)
    import onnx

    proto = onnx.load(artefact / "model.onnx")
    for node in proto.graph.node:
        node.input[:] = ["mask" if name == "attention_mask" else name for name in node.input]
    proto.graph.input[1].name = "mask"
    renamed = write_artefact(tmp_path / "renamed", "onnx", proto.SerializeToString())
    with pytest.raises(ArtefactError, match="its inputs are"):
        Matcher.load(renamed)


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_a_file_the_runtime_refuses_is_an_artefact_error(tmp_path, target):
    junk = write_artefact(tmp_path / "junk", target, b"TFL3 this is not a model")
    with pytest.raises(ArtefactError, match="refuses it"):
        Matcher.load(junk)


def test_a_truncated_model_is_found_before_the_runtime_sees_it(artefact):
    model = artefact / "model.onnx"
    model.write_bytes(model.read_bytes()[:-100])
    with pytest.raises(ArtefactError, match=r"model\.onnx: damaged"):
        Matcher.load(artefact)


def test_fewer_than_one_thread_is_refused(artefact):
    with pytest.raises(ArtefactError, match="threads"):
        Matcher.load(artefact, threads=0)


@pytest.mark.parametrize(("target", "package"), [("tflite", "ai-edge-litert"), ("onnx", "onnxruntime")])
def test_a_missing_runtime_is_named_with_what_to_install(tmp_path, monkeypatch, target, package):
    folder = write_artefact(tmp_path / "matcher", target, b"")
    known = importlib.import_module

    def absent(name, *rest):
        if name.split(".")[0] in ("ai_edge_litert", "tflite_runtime", "onnxruntime"):
            raise ModuleNotFoundError(f"No module named {name.split('.')[0]!r}", name=name.split(".")[0])
        return known(name, *rest)

    monkeypatch.setattr(backends.importlib, "import_module", absent)
    with pytest.raises(ToolError, match=f"pip install {package}"):
        Matcher.load(folder)


def test_a_runtime_that_cannot_be_loaded_is_named_with_its_reason(artefact, monkeypatch):
    known = importlib.import_module

    def broken(name, *rest):
        if name == "onnxruntime":
            raise ImportError("libc.so.6: version `GLIBC_2.35' not found")
        return known(name, *rest)

    monkeypatch.setattr(backends.importlib, "import_module", broken)
    with pytest.raises(ToolError, match=r"onnxruntime is installed but can't be loaded .*GLIBC_2"):
        Matcher.load(artefact)


def test_a_runtime_older_than_the_card_demands_is_refused(artefact):
    change_card(artefact, minimum_runtime={"onnxruntime": "99.0"})
    with pytest.raises(ToolError, match=r"needs 99\.0 or newer"):
        Matcher.load(artefact)


def test_loading_and_scoring_import_neither_torch_nor_the_command_line(artefact):
    script = (
        "import sys\nfrom mobilebert_runtime.matcher import Matcher\n"
        f"print(Matcher.load({str(artefact)!r}).score([('a', 'b')]).shape)\n"
        "print([name for name in ('torch', 'tensorflow', 'transformers', 'typer', 'rich', 'models') "
        "if name in sys.modules])"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.splitlines() == ["(1,)", "[]"]
