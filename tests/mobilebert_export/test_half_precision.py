"""float16 weights: half the file, the answers of a network whose weights are rounded so, in both runtimes."""

import copy

import numpy as np
import pytest
import torch

import mobilebert_models
from mobilebert_export import samples
from mobilebert_export.tflite.writer import describe_tflite
from mobilebert_export.verification.network_outputs import reference_logits
from mobilebert_quantize.half_precision import halve
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.matcher import Matcher
from tests.helpers import small_matcher


@pytest.mark.parametrize("target", [pytest.param("tflite", marks=pytest.mark.slow), "onnx"])
def test_the_file_is_half_as_large_and_answers_as_the_rounded_network(target):
    small, plain = (small_matcher.artefact(target, quant) for quant in ("fp16", "none"))
    sizes = [(folder / f"model.{target}").stat().st_size for folder in (small, plain)]
    assert sizes[0] < 0.55 * sizes[1]
    matcher = Matcher.load(small)
    assert matcher.card.quant == "fp16"
    pairs = samples.verification_pairs()[:40]
    network = mobilebert_models.load_pretrained(small_matcher.model_directory())
    encoded = matcher.tokenizer.encode(pairs, small_matcher.SEQ_LEN)
    exact = reference_logits(network, encoded)
    rounded = copy.deepcopy(network)
    with torch.no_grad():
        for weight in rounded.parameters():
            weight.copy_(weight.half().float())
    expected = reference_logits(rounded, encoded)
    found = matcher.logits_of(encoded)
    # Norms are folded before the weights are rounded, so the rounding is another one of the same size.
    size = np.abs(expected - exact).max()
    assert 0 < np.abs(found - exact).max() < 4 * size


@pytest.mark.slow
def test_xnnpack_takes_the_half_weights_in_one_partition():
    found = describe_tflite(small_matcher.artefact("tflite", "fp16") / "model.tflite")
    assert found.xnnpack.partitions == 1
    assert set(found.xnnpack.left_out) <= {"EMBEDDING_LOOKUP", "RESHAPE", "CAST", "DEQUANTIZE"}


def test_a_weight_beyond_float16_is_refused(tmp_path):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    large = numpy_helper.from_array(np.full((64, 64), 1e5, np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 64])],
        [large],
    )
    onnx.save(helper.make_model(graph), tmp_path / "model.onnx")
    with pytest.raises(ModelError, match="does not fit float16"):
        halve(tmp_path / "model.onnx", tmp_path / "half.onnx")
