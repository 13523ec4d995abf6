"""ONNX Runtime's own attention in the place of eleven nodes gives the same answers."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from android_bench.measuring import model_facts
from mobilebert_export.onnx.writer import write_float_onnx
from mobilebert_export.pipeline.exact_rewrites import Rewritten, rewrite
from mobilebert_models import load_pretrained
from mobilebert_models.networks.layers import encoder_of, input_names
from mobilebert_quantize.onnx.attention import RUNTIME, fuse_attention
from mobilebert_quantize.recipes import find_recipe
from mobilebert_runtime.card import Bucket
from tests.helpers.model_directories import TOKENIZERS, model_directory
from tests.models.test_embedding_matcher import matcher

LENGTH = 24


def fused(path: Path) -> tuple[Path, int]:
    """The file with attention replaced, and how often it was."""
    proto = onnx.load(path)
    inferred = onnx.shape_inference.infer_shapes(proto).graph.value_info
    count = fuse_attention(proto.graph, {value.name: value for value in inferred})
    proto.opset_import.append(onnx.helper.make_opsetid(RUNTIME, 1))
    made = path.with_name("fused.onnx")
    made.write_bytes(proto.SerializeToString())
    return made, count


def answers(path: Path, inputs: dict[str, np.ndarray]) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def batch(names: tuple[str, ...], rows: int, length: int) -> dict[str, np.ndarray]:
    """Texts of several lengths, padded; the first fills its row."""
    draw = np.random.default_rng(0)
    mask = (np.arange(length) < np.array([length, 5, length // 2])[:rows, None]).astype(np.int32)
    inputs = {
        "input_ids": draw.integers(5, 600, mask.shape, np.int32) * mask,
        "attention_mask": mask,
        "token_type_ids": np.zeros_like(mask),
    }
    return {name: inputs[name] for name in names}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory):
    """Of a kind, by its name; made once."""
    made: dict[str, torch.nn.Module] = {}

    def of(kind: str) -> torch.nn.Module:
        if kind not in made:
            folder = model_directory(tmp_path_factory.mktemp(kind), kind, "text-matching")
            made[kind] = load_pretrained(folder).eval()
        return made[kind]

    return of


@pytest.mark.parametrize("lengths", [(LENGTH,), (8, LENGTH)], ids=["fixed", "free"])
@pytest.mark.parametrize(
    "kind",
    [
        kind if kind in ("bert", "mobilebert") else pytest.param(kind, marks=pytest.mark.slow)
        for kind in TOKENIZERS
        if kind not in ("mpnet", "modernbert", "deberta-v2")
    ],
)
def test_every_layer_is_replaced_and_answers_stay(kind, lengths, model, tmp_path) -> None:
    network = model(kind)
    path = tmp_path / "plain.onnx"
    write_float_onnx(network, path, tuple(Bucket(length) for length in lengths), 18)
    made, count = fused(path)
    assert count == len(encoder_of(network).layers)
    kinds = [node.op_type for node in onnx.load(made).graph.node]
    assert kinds.count("MultiHeadAttention") == count
    assert "Softmax" not in kinds
    for rows, length in [(1, LENGTH)] if len(lengths) == 1 else [(1, 8), (3, LENGTH)]:
        inputs = batch(tuple(input_names(network)), rows, length)
        found, plain = answers(made, inputs), answers(path, inputs)
        np.testing.assert_allclose(found, plain, atol=1e-5)
        with torch.no_grad():
            wanted = network(*(torch.from_numpy(inputs[name]) for name in input_names(network)))
        np.testing.assert_allclose(found, wanted.numpy(), atol=1e-4)
    if len(lengths) == 1:
        assert model_facts._read_onnx(made, LENGTH)[1] == model_facts._read_onnx(path, LENGTH)[1]


@pytest.mark.parametrize("lengths", [(LENGTH,), (8, LENGTH)], ids=["fixed", "free"])
def test_a_layer_in_which_one_token_asks_stays(lengths, model, tmp_path) -> None:
    """As an export leaves the last layer of a classifier."""
    names = tuple(input_names(model("bert")))
    proof = batch(names, 3, LENGTH)
    network = rewrite(Rewritten(model("bert")), find_recipe("onnx", "none"), proof, None).network
    path = tmp_path / "plain.onnx"
    write_float_onnx(network, path, tuple(Bucket(length) for length in lengths), 18)
    made, count = fused(path)
    assert count == len(encoder_of(network).layers) - 1 > 0
    assert [node.op_type for node in onnx.load(made).graph.node].count("Softmax") == 1
    inputs = batch(names, 1 if len(lengths) == 1 else 3, LENGTH)
    np.testing.assert_allclose(answers(made, inputs), answers(path, inputs), atol=1e-5)


@pytest.mark.parametrize("name", ["mpnet", pytest.param("matcher", marks=pytest.mark.slow)])
def test_masks_of_pairs_of_tokens_stay_as_they_are(name, model, tmp_path) -> None:
    """Relative positions, and texts that do not see each other."""
    network = model("mpnet") if name == "mpnet" else matcher()
    outputs = ("logits",) if name == "mpnet" else ("logits", "embedding")
    path = tmp_path / "plain.onnx"
    write_float_onnx(network, path, (Bucket(8), Bucket(LENGTH)), 18, outputs)
    made, count = fused(path)
    assert count == 0
    assert [node.op_type for node in onnx.load(made).graph.node] == [
        node.op_type for node in onnx.load(path).graph.node
    ]


def test_scores_that_someone_else_reads_stay(model, tmp_path) -> None:
    path = tmp_path / "plain.onnx"
    write_float_onnx(model("bert"), path, (Bucket(LENGTH),), 18)
    proto = onnx.load(path)
    softmax = next(node for node in proto.graph.node if node.op_type == "Softmax")
    proto.graph.node.append(onnx.helper.make_node("Identity", [softmax.output[0]], ["seen"]))
    proto.graph.output.append(onnx.ValueInfoProto(name="seen"))
    path.write_bytes(proto.SerializeToString())
    _, count = fused(path)
    assert count == len(encoder_of(model("bert")).layers) - 1
