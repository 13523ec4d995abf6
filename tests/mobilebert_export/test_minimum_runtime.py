"""Promise of --minimum-runtime 2.14: the same answers as a newer file's, from operators that TFLite 2.14 has.

test_export_runtimes.py runs such files there.
"""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from mobilebert_export import samples
from mobilebert_quantize import recipes
from mobilebert_quantize.tflite.four_bit import four_bit_codes
from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.matcher import Matcher
from tests.helpers import small_matcher
from tests.helpers.small_matcher import embedding_artefact

PAIRS = samples.verification_pairs()[:40]


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("oldest") / "artefact"
    model = str(small_matcher.embedding_model())
    small_matcher.report("tflite", "dynamic", folder, model=model, minimum_runtime="2.14")
    return folder


def test_its_linear_layers_are_convolutions_with_the_same_answers(oldest: Path) -> None:
    newer = embedding_artefact("tflite", "dynamic")
    kinds, before = (
        Counter(graph.kind(op) for op in graph.operators)
        for graph in (TfliteGraph.read(folder / "model.tflite") for folder in (oldest, newer))
    )
    assert before["CONV_2D"] == 0
    assert kinds["CONV_2D"] > 8
    assert kinds["CONV_2D"] + kinds["FULLY_CONNECTED"] == before["FULLY_CONNECTED"]
    assert Matcher.load(oldest).card.minimum_runtime == {"tflite": "2.14"}
    recipe = json.loads((oldest / "recipe.json").read_text())["recipe"]
    assert recipe["as_convolutions"]
    assert recipe["embeddings"] == "int8-scaled"
    found, expected = (Matcher.load(folder).logits(PAIRS) for folder in (oldest, newer))
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.ptp(expected))
    assert (oldest / "model.tflite").stat().st_size < 1.2 * (newer / "model.tflite").stat().st_size


def test_every_graph_has_them_the_packed_one_too(oldest: Path) -> None:
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.tools import flatbuffer_utils as fb

    model = fb.read_model(str(oldest / "model.tflite"))
    for graph in model.subgraphs:
        kinds = Counter(model.operatorCodes[op.opcodeIndex].builtinCode for op in graph.operators)
        assert kinds[schema.BuiltinOperator.CONV_2D] > 8
    names = [signature.signatureKey.decode() for signature in model.signatureDefs]
    assert "packed" in names
    text = PAIRS[0][0]
    several = [(text, other) for _, other in PAIRS]
    alone = np.concatenate([Matcher.load(oldest).logits([pair]) for pair in several])
    np.testing.assert_allclose(Matcher.load(oldest).logits(several), alone, atol=1e-2 * np.ptp(alone))


def test_four_bit_weights_are_the_same_numbers_in_eight_bits() -> None:
    from ai_edge_litert import schema_py_generated as schema

    from mobilebert_quantize.tflite.convolutions import multiply_by_convolutions
    from mobilebert_quantize.tflite.parts import made

    values = torch.randint(-7, 8, (3, 32), generator=torch.Generator().manual_seed(0)).numpy()
    values[:, 0] = 7
    stored = np.round(values * 127 / 7).astype(np.int8)
    assert four_bit_codes(stored) is not None
    scales = np.array([0.5, 0.25, 2.0], np.float32)

    def tensor(shape: list[int], form: int, buffer: int = 0, scale: np.ndarray | None = None) -> object:
        told = None if scale is None else made(schema.QuantizationParametersT, scale=scale)
        return made(
            schema.TensorT,
            shape=np.array(shape, np.int32),
            type=form,
            buffer=buffer,
            quantization=told,
            name=b"t",
        )

    types = schema.TensorType
    graph = made(
        schema.SubGraphT,
        tensors=[
            tensor([1, 5, 32], types.FLOAT32),
            tensor([3, 32], types.INT8, 1, scales),
            tensor([1, 5, 3], types.FLOAT32),
        ],
        operators=[
            made(
                schema.OperatorT,
                opcodeIndex=0,
                inputs=np.array([0, 1, -1], np.int32),
                outputs=np.array([2], np.int32),
                builtinOptions=made(schema.FullyConnectedOptionsT, fusedActivationFunction=1),
            )
        ],
    )
    linear = schema.BuiltinOperator.FULLY_CONNECTED
    model = made(
        schema.ModelT,
        subgraphs=[graph],
        operatorCodes=[made(schema.OperatorCodeT, builtinCode=linear, deprecatedBuiltinCode=9, version=1)],
        buffers=[schema.BufferT(), made(schema.BufferT, data=np.frombuffer(stored.tobytes(), np.uint8))],
    )
    multiply_by_convolutions(model)
    _, convolution, _ = graph.operators
    tokens, weights, bias = (graph.tensors[number] for number in convolution.inputs)
    assert list(tokens.shape) == [5, 1, 1, 32]
    assert list(weights.shape) == [3, 1, 1, 32]
    assert convolution.builtinOptions.fusedActivationFunction == 1
    assert not any(model.buffers[bias.buffer].data)
    codes = np.frombuffer(bytes(model.buffers[weights.buffer].data), np.int8).reshape(3, 32)
    steps = scales.astype(np.float64)[:, None] * 127 / 7
    np.testing.assert_allclose(codes * np.asarray(weights.quantization.scale)[:, None], values * steps, 1e-6)
    assert graph.tensors[1].buffer == 0, "the matrix is stored once"


def test_all_that_may_stand_in_for_it_runs_there_too() -> None:
    for name in ("tflite-int8", "tflite-dynamic", "tflite-static", "tflite-int16x8"):
        asked = recipes.for_oldest_runtimes(recipes.RECIPES[name])
        tried = recipes.recipes_to_try(asked)
        assert len(tried) == len(recipes.recipes_to_try(recipes.RECIPES[name]))
        for recipe in tried:
            assert recipe.minimum_runtime == {"tflite": "2.14"}
            assert recipe.as_convolutions
            assert recipe.embeddings == "int8-scaled"
            assert not recipe.holds_four_bits


@pytest.mark.parametrize(
    ("target", "version", "message"),
    [
        ("onnx", "2.14", "applies to TFLite only; leave it out"),
        ("tflite", "2.13", r"expected 2\.14 or 2\.18"),
    ],
)
def test_a_version_that_cannot_be_had_is_refused_at_once(
    target: str, version: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match=message):
        small_matcher.report(target, "int8", tmp_path / "out", minimum_runtime=version)
    assert not (tmp_path / "out").exists()


def test_the_newer_one_changes_nothing() -> None:
    from mobilebert_export.pipeline.export_request import ExportRequest

    assert ExportRequest(Path("out"), minimum_runtime="2.18").recipe() == ExportRequest(Path("out")).recipe()
