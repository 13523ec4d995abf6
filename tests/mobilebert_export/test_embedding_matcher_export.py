"""An exported embedding matcher gives PyTorch's logits and vectors, in both runtimes and in every bucket."""

from pathlib import Path

import numpy as np
import pytest
import torch

from mobilebert_export.onnx.writer import write_float_onnx
from mobilebert_export.tflite.writer import write_float_tflite
from mobilebert_models.networks.embedding_matcher import WIDTH
from mobilebert_quantize.recipes import RECIPES
from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_quantize.tflite.int8 import embedding_layers, integer_operators, products
from mobilebert_runtime.card import Bucket
from tests.models.test_embedding_matcher import MOBILEBERT, matcher, packed, texts

OUTPUTS = ("logits", "embedding")


def encoded(length):
    """Packed pairs, and a single text, of `length` tokens with padding."""
    left, right = texts(2)
    return [packed(left, right, length), packed(right, left, length), packed(left, [], length)]


def tflite(path, length, batch):
    from ai_edge_litert.interpreter import Interpreter

    runner = Interpreter(str(path), num_threads=1).get_signature_runner(f"seq_{length}")
    return runner(**{name: tensor.numpy().astype(np.int32) for name, tensor in batch.items()})


def onnx(path, length, batch):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    given = {name: tensor.numpy().astype(np.int32) for name, tensor in batch.items()}
    return dict(zip(OUTPUTS, session.run(list(OUTPUTS), given), strict=True))


@pytest.mark.slow
def test_float_onnx_of_a_mobilebert_trunk_gives_the_networks_logits_and_vectors(tmp_path: Path) -> None:
    model, path = matcher(MOBILEBERT), tmp_path / "model.onnx"
    write_float_onnx(model, path, (Bucket(40, None),), 20, outputs=OUTPUTS)
    for batch in encoded(40):
        with torch.inference_mode():
            wanted = dict(zip(OUTPUTS, model(**batch), strict=True))
        found = onnx(path, 40, batch)
        for name in OUTPUTS:
            np.testing.assert_allclose(found[name], wanted[name].numpy(), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("head", ["embedding_matcher", "learned_matcher"])
@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_float_export_gives_the_networks_logits_and_vectors(target, head, tmp_path: Path) -> None:
    model, path = matcher(head=head), tmp_path / f"model.{target}"
    if target == "tflite":
        buckets = (Bucket(32, "seq_32"), Bucket(40, "seq_40"))
        write_float_tflite(model, path, buckets, outputs=OUTPUTS)
        check_that_the_head_is_in_integers(path)
    else:
        buckets = (Bucket(32, None), Bucket(40, None))
        write_float_onnx(model, path, buckets, 20, outputs=OUTPUTS)
    for bucket in buckets:
        for batch in encoded(bucket.seq_len):
            with torch.inference_mode():
                wanted = dict(zip(OUTPUTS, model(**batch), strict=True))
            found = (tflite if target == "tflite" else onnx)(path, bucket.seq_len, batch)
            for name in OUTPUTS:
                np.testing.assert_allclose(found[name], wanted[name].numpy(), atol=1e-4)


def check_that_the_head_is_in_integers(path):
    """Its layers join two states of a word; only layers that join neighbouring words stay in float."""
    graph = TfliteGraph.read(path)
    joins = [
        product
        for product in products(graph)
        if (source := graph.origin(graph.producer(int(product.inputs[0])))) is not None
        and graph.kind(source) == "CONCATENATION"
    ]
    assert len(joins) >= 2  # context and matter
    assert embedding_layers(graph) == []
    places = integer_operators(graph, RECIPES["tflite-int8"])
    context = next(product for product in joins if graph.shape(product.outputs[0])[-1] == WIDTH)
    assert graph.operators.index(context) in places
