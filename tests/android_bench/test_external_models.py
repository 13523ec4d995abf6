"""A model file of another converter is measured like an artefact once bare.json says how to feed it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from android_bench.measuring import latency
from android_bench.measuring.external_model import ExternalModel, describe, open_model
from android_bench.measuring.model_facts import model_facts
from mobilebert_runtime.card import ArtefactCard
from mobilebert_runtime.errors import ArtefactError
from tests.helpers.tiny_artefacts import SEQ_LEN, onnx_model, write_artefact


@pytest.fixture
def artefact(tmp_path: Path) -> Path:
    pytest.importorskip("onnxruntime")
    return write_artefact(tmp_path / "ours", "onnx", onnx_model())


@pytest.fixture
def bare(artefact: Path) -> Path:
    """The artefact's network under other input names, as 64-bit numbers, in another order."""
    import onnx
    from onnx import TensorProto, helper

    names = {"input_ids": "args_2", "attention_mask": "args_0", "token_type_ids": "args_1"}
    model = onnx.load(artefact / "model.onnx")
    casts = [
        helper.make_node("Cast", [theirs], [ours], to=TensorProto.INT32) for ours, theirs in names.items()
    ]
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, [1, SEQ_LEN])
        for name in sorted(names.values())
    ]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    folder = artefact.parent / "theirs"
    folder.mkdir()
    onnx.save(model, folder / "model.onnx")
    for name in ("vocab.txt", "tokenizer.json"):
        shutil.copyfile(artefact / name, folder / name)
    described = {ours: (theirs, "int64") for ours, theirs in names.items()}
    ExternalModel("onnx", "none", "model.onnx", SEQ_LEN, described).write(folder)
    return folder


def test_same_text_gives_the_same_answer_under_other_names_and_types(artefact, bare):
    assert isinstance(describe(artefact), ArtefactCard)
    assert isinstance(describe(bare), ExternalModel)
    ours, theirs = (latency.encode(folder, latency.PAIRS) for folder in (artefact, bare))
    assert {name: array.dtype for name, array in theirs.items()} == {
        "args_0": np.int64,
        "args_1": np.int64,
        "args_2": np.int64,
    }
    expected, found = (
        open_model(folder, 1).run({name: array[:1] for name, array in arrays.items()})
        for folder, arrays in ((artefact, ours), (bare, theirs))
    )
    np.testing.assert_array_equal(*found.values(), expected["logits"])


def test_a_bare_model_is_measured_beside_an_artefact(artefact, bare):
    result = latency.compare([artefact, bare], sessions=1, seconds=0)
    assert result.names == ("ours", "theirs")
    assert min(len(result.of(name)[0].steady_ms) for name in result.names) >= 10
    facts = model_facts(bare)
    assert facts["macs"] == model_facts(artefact)["macs"]
    assert (facts["target"], facts["seq_len"], facts["xnnpack"]) == ("onnx", SEQ_LEN, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "coreml"}, "target 'coreml'"),
        ({"inputs": {"pixels": ["args_0", "int64"]}}, "inputs pixels"),
        ({"inputs": {"input_ids": ["args_2", "int65"]}}, "int65"),
        ({"model_file": "other.onnx"}, "no such file"),
        ({"layers": 3}, "does not describe"),
    ],
)
def test_a_wrong_description_is_one_line(bare, change, message):
    path = bare / "bare.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ArtefactError, match=message) as caught:
        latency.name_candidates([bare])
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_inputs_that_the_file_does_not_have_are_refused_before_anything_is_timed(bare):
    path = bare / "bare.json"
    described = json.loads(path.read_text())
    described["inputs"]["input_ids"] = ["args_2", "int32"]
    path.write_text(json.dumps(described))
    with pytest.raises(ArtefactError, match="says"):
        open_model(bare, 1)
    (bare / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ArtefactError, match="refuses it"):
        open_model(bare, 1)
