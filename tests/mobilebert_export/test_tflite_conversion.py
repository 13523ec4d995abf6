"""Graphs that two processes convert are those that one converts."""

import numpy as np
import pytest
import torch

from mobilebert_export.tflite import conversion as tflite_conversion
from mobilebert_export.tflite.writer import write_float_tflite
from mobilebert_models import EncoderConfig, build
from mobilebert_runtime.card import Bucket
from tests.helpers.tiny_networks import randomise

pytest.importorskip("litert_torch")

BUCKETS = [Bucket(length, f"seq_{length}") for length in (32, 16, 8)]


@pytest.fixture(scope="module")
def network():
    config = EncoderConfig(
        vocab_size=200,
        hidden_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=64,
    )
    return randomise(build(config)).eval()


def let_two_processes_convert(patch, cores=2):
    """However small a network is."""
    patch.setattr(tflite_conversion, "_MODULES_WORTH_A_PROCESS", 1)
    patch.setattr(tflite_conversion, "usable_cores", lambda: cores)


def graphs_of(path):
    """Of each graph its operators, the shapes of its tensors and its constants; names do not count."""
    from ai_edge_litert.tools import flatbuffer_utils

    file = flatbuffer_utils.read_model(str(path))
    found = []
    for signature in file.signatureDefs:
        graph = file.subgraphs[signature.subgraphIndex]
        tensors = []
        for tensor in graph.tensors:
            data = file.buffers[tensor.buffer].data
            constant = b"" if data is None else bytes(data)
            tensors.append((tuple(tensor.shape), tensor.type, constant))
        operators = []
        for operator in graph.operators:
            code = file.operatorCodes[operator.opcodeIndex]
            options = operator.builtinOptions and sorted(
                (name, str(value)) for name, value in vars(operator.builtinOptions).items()
            )
            operators.append(
                (code.builtinCode, code.version, [*operator.inputs], [*operator.outputs], options)
            )
        found.append((signature.signatureKey, [*graph.inputs], [*graph.outputs], tensors, operators))
    return found


def run(path, signature, **inputs):
    from ai_edge_litert.interpreter import Interpreter

    runner = Interpreter(str(path), num_threads=1).get_signature_runner(signature)
    return next(iter(runner(**inputs).values()))


@pytest.fixture(scope="module")
def paths(network, tmp_path_factory):
    """The file of one process, and of two."""
    folder = tmp_path_factory.mktemp("conversion")
    write_float_tflite(network, folder / "one.tflite", BUCKETS)
    with pytest.MonkeyPatch.context() as patch:
        let_two_processes_convert(patch)
        write_float_tflite(network, folder / "two.tflite", BUCKETS)
    return folder / "one.tflite", folder / "two.tflite"


def test_two_processes_make_the_graphs_of_one(paths):
    one, two = (graphs_of(path) for path in paths)
    assert [graph[0] for graph in two] == [b"seq_32", b"seq_16", b"seq_8"]
    assert one == two


def test_constants_of_both_processes_are_stored_once(paths):
    one, two = (path.stat().st_size for path in paths)
    assert two == pytest.approx(one, rel=0.01)


@pytest.mark.parametrize("bucket", BUCKETS, ids=lambda bucket: bucket.signature)
def test_each_graph_answers_as_the_network_does(paths, network, bucket):
    draw = np.random.default_rng(0)
    ids = draw.integers(1, 200, (1, bucket.seq_len), np.int32)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    with torch.no_grad():
        wanted = network(*(torch.from_numpy(value) for value in inputs.values())).numpy()
    one, two = (run(path, bucket.signature, **inputs) for path in paths)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(two, wanted, atol=1e-5)


def test_a_second_process_that_fails_is_an_error(network, monkeypatch, tmp_path):
    let_two_processes_convert(monkeypatch)
    monkeypatch.setattr(tflite_conversion.sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="second process of the conversion ended with 1"):
        write_float_tflite(network, tmp_path / "model.tflite", BUCKETS)
    assert not (tmp_path / "model.tflite").exists()


def test_a_class_that_another_process_cannot_find_stays_in_this_one(network, monkeypatch):
    class Own(torch.nn.Module):
        pass

    let_two_processes_convert(monkeypatch)

    def pays(module, count=2):
        graph = tflite_conversion.Graph("seq_8", module, ("input_ids",), 8, ("logits",))
        return tflite_conversion._second_process_pays([graph] * count)

    assert pays(network)
    assert not pays(Own())
    assert not pays(network, count=1)
    let_two_processes_convert(monkeypatch, cores=1)
    assert not pays(network)


@pytest.mark.parametrize("shape", [(5, 5), (3, 6), (6, 3), (2, 4, 5)])
@pytest.mark.parametrize("diagonal", [-2, -1, 0, 1])
def test_the_lower_triangle_is_pytorchs(shape, diagonal):
    matrix = torch.randn(shape)
    assert torch.equal(tflite_conversion._tril(matrix, diagonal), matrix.tril(diagonal))


def test_a_lower_triangle_counts_in_32_bits(tmp_path, monkeypatch):
    """64 bits would make the converter trace the whole graph once more, without a word."""
    from litert_torch import fx_infra

    class Earlier(torch.nn.Module):
        def forward(self, input_ids):
            return torch.ones(8, 8).tril(-1) * input_ids

    asked = fx_infra.safe_run_decompositions
    traced = []

    def run_decompositions(program, *args, **kwargs):
        found = asked(program, *args, **kwargs)
        traced.append(found is not program)
        return found

    monkeypatch.setattr(fx_infra, "safe_run_decompositions", run_decompositions)
    graph = tflite_conversion.Graph("seq_8", Earlier(), ("input_ids",), 8, ("out",))
    file = tmp_path / "model.tflite"
    file.write_bytes(tflite_conversion._convert_here([graph]))
    # After the export and before the lowering; the third time nothing is left to do.
    assert traced == [True, True, False]
    ids = np.arange(8, dtype=np.int32)[None]
    np.testing.assert_array_equal(run(file, "seq_8", input_ids=ids), np.tri(8, k=-1, dtype=np.float32) * ids)
