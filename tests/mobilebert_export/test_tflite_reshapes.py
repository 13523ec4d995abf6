"""With the batch axis throughout a .tflite file has fewer operators and the same numbers, bit for bit."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from mobilebert_export.pipeline.exact_rewrites import Rewritten, rewrite
from mobilebert_export.tflite import conversion as tflite_conversion
from mobilebert_export.tflite import writer as tflite_writer
from mobilebert_models import build
from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher
from mobilebert_quantize.recipes import find_recipe
from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_runtime.card import INPUT_NAMES, PACKED_SIGNATURE, Bucket
from tests.helpers.tiny_networks import encoded, randomise, tiny
from tests.models.test_embedding_matcher import matcher

BUCKETS = (Bucket(24, "seq_24"), Bucket(8, "seq_8"))
AS_CONVERTED, WITH_BATCH_AXIS, FLAT = "as converted", "with batch axis", "flat"


@pytest.fixture
def converted(tmp_path):
    """Writes the file of a network in a form: the same conversion in each, for it takes half a minute."""
    kept = {}

    def convert(graphs):
        network = graphs[0].network
        if network not in kept:
            kept[network] = tflite_conversion.convert(graphs)
        return copy.deepcopy(kept[network])

    return lambda network, form: written(network, tmp_path, form, convert)


def written(network, folder, form, convert):
    """The file `AS_CONVERTED`, `WITH_BATCH_AXIS` throughout, or `FLAT`: linear layers write two axes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tflite_writer, "convert", convert)
        if form == AS_CONVERTED:
            patch.setattr(tflite_writer, "keep_batch_axis", lambda file: None)
        path = folder / f"{form}.tflite"
        outputs = ("logits", "embedding") if isinstance(network, EmbeddingMatcher) else ("logits",)
        tflite_writer.write_float_tflite(network, path, BUCKETS, outputs, batch_axis=form != FLAT)
    return path


def graphs(path):
    from ai_edge_litert.tools import flatbuffer_utils

    return {graph.signature: graph for graph in TfliteGraph.all_of(flatbuffer_utils.read_model(str(path)))}


def asking_matcher():
    """With an overlap of questions, as the shipped ones have: one more product of two texts' tokens."""
    network = matcher()
    network.head.know_questions({"?": 5, "what": 6, "how": 7})
    network.head.weigh_cosines((1.0, 0.2, 0.3, 0.6), (1.0, 0.5, -0.3, 1.0))
    network.head.weigh_overlap(0.85, 6.0, 0.5)
    return network


def answers(path, signature, length):
    from ai_edge_litert.interpreter import Interpreter

    random = np.random.default_rng(length)
    mask = (np.arange(length) < length - 3)[None].astype(np.int32)
    ids = random.integers(1, 60, (1, length)).astype(np.int32) * mask
    types = (np.arange(length) >= length // 2)[None].astype(np.int32) * mask
    runner = Interpreter(str(path), num_threads=1).get_signature_runner(signature)
    known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    return runner(**{name: known[name] for name in runner.get_input_details()})


SLOW = [
    pytest.param(name, marks=pytest.mark.slow) for name in ("bert-base", "albert-base", "embedding matcher")
]


@pytest.mark.parametrize("name", ["mobilebert", *SLOW])
def test_the_numbers_are_those_of_the_converters_graphs(converted, name):
    network = asking_matcher() if name == "embedding matcher" else randomise(build(tiny(name)))
    if name == "mobilebert":  # as an export has it: its results are added two axes to two
        plain = Rewritten(network.eval())
        network = rewrite(plain, find_recipe("tflite", "none"), encoded(), encoded()).network
    before, after = (converted(network.eval(), form) for form in (AS_CONVERTED, WITH_BATCH_AXIS))
    kinds = {}
    for path in (before, after):
        found = graphs(path)
        kinds[path] = [[graph.kind(op) for op in graph.operators] for graph in found.values()]
    assert (PACKED_SIGNATURE in found) == (name == "embedding matcher")
    names = []
    for graph in found.values():
        tensors = {int(tensor) for op in graph.operators for tensor in (*op.inputs, *op.outputs)} - {-1}
        names += [graph.name(tensor) for tensor in tensors]
    assert len(set(names)) == len(names), "ranges are kept by name"
    for old, new in zip(kinds[before], kinds[after], strict=True):
        assert new.count("RESHAPE") < old.count("RESHAPE")
        if name == "embedding matcher":  # of two texts' tokens, five in each graph
            assert new.count("BATCH_MATMUL") - old.count("BATCH_MATMUL") in (4, 5)
            assert new.count("BATCH_MATMUL") + new.count("FULLY_CONNECTED") == (
                old.count("BATCH_MATMUL") + old.count("FULLY_CONNECTED")
            )
        else:
            assert [kind for kind in new if kind != "RESHAPE"] == [kind for kind in old if kind != "RESHAPE"]
    for signature in found:
        length = 8 if signature == "seq_8" else 24
        old, new = (answers(path, signature, length) for path in (before, after))
        assert old.keys() == new.keys()
        # Products of two texts' tokens come from another kernel, whose sums have another order.
        within = 1e-6 if name == "embedding matcher" else 0
        for output, values in old.items():
            np.testing.assert_allclose(new[output], values, rtol=0, atol=within)


@pytest.mark.slow
def test_products_of_two_computed_matrices_are_xnnpacks(converted):
    """As linear layers they are none of its; what is left of those has a constant matrix."""
    for graph in graphs(converted(asking_matcher().eval(), WITH_BATCH_AXIS)).values():
        for op in graph.operators:
            if graph.kind(op) == "FULLY_CONNECTED":
                assert graph.producer(int(op.inputs[1])) is None, graph.name(int(op.outputs[0]))


def test_linear_layers_and_products_read_and_give_the_batch_axis(converted):
    path = converted(randomise(build(tiny("mobilebert"))).eval(), WITH_BATCH_AXIS)
    for graph in graphs(path).values():
        products = []
        for op in graph.operators:
            read, result = graph.shape(op.inputs[0]), graph.shape(op.outputs[0])
            if graph.kind(op) == "FULLY_CONNECTED" and int(op.outputs[0]) not in graph.outputs:
                assert len(read) == len(result)
                assert op.builtinOptions.keepNumDims
            if graph.kind(op) == "BATCH_MATMUL":
                products.append(len(result))
        assert products == [4] * 6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert-base", "embedding matcher"])
def test_without_the_batch_axis_every_linear_layer_writes_two_axes(converted, name):
    network = (asking_matcher() if name == "embedding matcher" else randomise(build(tiny(name)))).eval()
    before, flat = (converted(network, form) for form in (AS_CONVERTED, FLAT))
    written = {}
    for path in (before, flat):
        linear = [
            (g, op) for g in graphs(path).values() for op in g.operators if g.kind(op) == "FULLY_CONNECTED"
        ]
        written[path] = [len(graph.shape(op.outputs[0])) for graph, op in linear]
    assert 3 in written[before]
    assert set(written[flat]) == {2}
    assert len(written[flat]) == len(written[before])
    for signature, graph in graphs(flat).items():
        length = graph.shape(graph.inputs[0])[1]
        old, new = (answers(path, signature, length) for path in (before, flat))
        for output, values in old.items():
            np.testing.assert_array_equal(new[output], values)


class Stacked(nn.Module):
    """Two results of a linear layer one upon the other: what reads them counts axes."""

    config = SimpleNamespace(input_names=INPUT_NAMES)

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.linear, self.last = nn.Embedding(60, 8), nn.Linear(8, 6), nn.Linear(6, 2)

    def forward(self, input_ids, attention_mask, token_type_ids):
        rows = self.linear(self.words(input_ids))[0]  # (S, 6)
        return self.last(torch.cat([rows, 2 * rows], 0))


def test_what_is_read_by_an_operator_that_counts_axes_stays_as_it_is(converted):
    network = Stacked().eval()
    before, after = (converted(network, form) for form in (AS_CONVERTED, WITH_BATCH_AXIS))
    for path in (before, after):
        graph = graphs(path)["seq_24"]
        joined = next(op for op in graph.operators if graph.kind(op) == "CONCATENATION")
        assert [graph.shape(tensor) for tensor in joined.inputs] == [[24, 6], [24, 6]]
    old, new = (answers(path, "seq_24", 24) for path in (before, after))
    for output, values in old.items():
        np.testing.assert_array_equal(new[output], values)
