"""Quantised files: what is int8 and what is float in them, and that the answers survive."""

import itertools
import json

import numpy as np
import pytest

from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_export import samples
from mobilebert_export.tflite.writer import describe_tflite
from mobilebert_matching.data.pairs import read_text_pairs
from mobilebert_quantize import recipes
from mobilebert_quantize.calibration_data import encode_calibration
from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.matcher import Matcher
from tests.helpers import small_matcher


def tensors(folder):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(
        str(folder / "model.tflite"), experimental_preserve_all_tensors=True, num_threads=1
    )
    return {detail["name"]: detail for detail in interpreter.get_tensor_details()}


def test_every_target_and_quantisation_has_a_recipe_and_no_other_name_has():
    names = {f"{target}-{quant}" for target, quant in itertools.product(recipes.TARGETS, recipes.QUANTS)}
    assert set(recipes.RECIPES) == names - {"onnx-int16x8"}
    with pytest.raises(recipes.OptionError, match="only none, fp16, dynamic, int8"):
        recipes.find_recipe("onnx", "int16x8")
    assert all(recipe.name == name for name, recipe in recipes.RECIPES.items())
    for target, quant in (("coreml", "int8"), ("tflite", "int4"), ("tflite", ""), ("TFLITE", "int8")):
        with pytest.raises(recipes.OptionError, match="expected one of"):
            recipes.find_recipe(target, quant)


def test_float_tolerances_are_tight_and_int8_ones_hold_labels_and_order():
    for recipe in recipes.RECIPES.values():
        if recipe.quant == "none":
            assert recipe.tolerance.max_abs_logit <= 1e-4
        if recipe.activations == "float32":
            assert recipe.tolerance.min_label_agreement >= 0.995
        assert recipe.tolerance.max_expected_loss <= 0.002
        assert recipe.tolerance.min_rank_agreement >= 0.99


def test_names_survive_conversion_and_quantisation_in_signature_and_tensors():
    for quant in ("none", "int8"):
        graph = TfliteGraph.read(small_matcher.artefact("tflite", quant) / "model.tflite")
        assert [graph.name(t) for t in graph.inputs] == ["input_ids", "attention_mask", "token_type_ids"]
        assert [graph.name(t) for t in graph.outputs] == ["logits"]


def test_static_is_what_int8_tries_first_under_a_name_of_its_own():
    static, int8 = (small_matcher.artefact("tflite", quant) for quant in ("static", "int8"))
    assert (static / "model.tflite").read_bytes() == (int8 / "model.tflite").read_bytes()
    recipe = json.loads((static / "recipe.json").read_text())["recipe"]
    assert (recipe["name"], recipe["activations"]) == ("tflite-static", "int8-static")
    assert recipes.recipes_to_try(recipes.RECIPES["tflite-static"]) == (recipes.RECIPES["tflite-static"],)


@pytest.mark.parametrize("quant", ["none", "dynamic", "int8"])
def test_xnnpack_takes_all_but_the_lookups_in_one_partition(quant):
    found = describe_tflite(small_matcher.artefact("tflite", quant) / "model.tflite").xnnpack
    assert found.partitions == 1
    assert set(found.left_out) <= {"EMBEDDING_LOOKUP", "RESHAPE", "CAST", "DEQUANTIZE"}
    assert found.delegated_operators + sum(found.left_out.values()) == found.all_operators


def test_int8_tflite_is_int8_where_the_time_and_the_bytes_are_and_float_where_it_hurts():
    folder = small_matcher.artefact("tflite", "int8")
    graph, details = TfliteGraph.read(folder / "model.tflite"), tensors(folder)

    def kind(tensor):
        return np.dtype(details[graph.name(tensor)]["dtype"]).name

    linear = [op for op in graph.operators if graph.kind(op) == "FULLY_CONNECTED"]
    # The layer that reads three words side by side, and the last.
    assert [kind(op.inputs[1]) for op in linear] == ["float32", *["int8"] * (len(linear) - 2), "float32"]
    for op in linear[1:-1]:
        scales = details[graph.name(op.inputs[1])]["quantization_parameters"]["scales"]
        assert len(scales) == details[graph.name(op.inputs[1])]["shape"][0], "one scale per output channel"
    for op in graph.operators:
        if graph.kind(op) == "SOFTMAX":
            assert kind(op.outputs[0]) == "float32"
    attention = [op for op in graph.operators if graph.kind(op) == "BATCH_MATMUL"]
    assert len(attention) == 2 * small_matcher.CONFIG.num_hidden_layers
    for op in attention:
        assert {kind(tensor) for tensor in (*op.inputs, *op.outputs)} == {"float32"}
    assert kind(graph.outputs[0]) == "float32"
    words = max(details.values(), key=lambda detail: np.prod(detail["shape"]))
    assert list(words["shape"]) == [30522, 32]
    assert words["dtype"] == np.int8, "and no float copy of the table"
    # The mask constant never meets an int8 tensor: no quantised range reaches it.
    lowest = [
        scale * (-128 - zero)
        for detail in details.values()
        if detail["dtype"] == np.int8 and len(detail["quantization_parameters"]["scales"]) == 1
        if list(detail["quantization_parameters"]["scales"]) != [1.0]  # embedding rows: scales of their own
        for scale, zero in zip(
            detail["quantization_parameters"]["scales"],
            detail["quantization_parameters"]["zero_points"],
            strict=True,
        )
    ]
    assert min(lowest) > small_matcher.CONFIG.attention_mask_value / 2


def test_dynamic_tflite_is_one_partition_and_says_that_it_has_one_scale_per_channel():
    path = small_matcher.artefact("tflite", "dynamic") / "model.tflite"
    graph = TfliteGraph.read(path)
    versions = {graph.kind(op): graph.version(op) for op in graph.operators}
    assert versions["FULLY_CONNECTED"] >= 12
    assert versions["EMBEDDING_LOOKUP"] >= 4
    found = describe_tflite(path).xnnpack
    assert found.partitions == 1
    assert set(found.left_out) <= {"EMBEDDING_LOOKUP", "RESHAPE", "CAST", "DEQUANTIZE"}


def test_a_table_of_rows_with_scales_gives_the_rounded_embeddings():
    """What the runtime looks up and multiplies, against the two tables of the file multiplied by hand."""
    from ai_edge_litert.tools import flatbuffer_utils as fb

    path = small_matcher.artefact("tflite", "int8") / "model.tflite"
    graph, model = TfliteGraph.read(path), fb.read_model(str(path))
    interpreter, ids = small_matcher.run_keeping_tensors(path, graph.signature)
    (product,) = (
        op
        for op in graph.operators
        if graph.kind(op) == "MUL" and graph.shape(op.outputs[0]) == [small_matcher.SEQ_LEN, 32]
        if all((made := graph.producer(t)) and graph.kind(made) == "EMBEDDING_LOOKUP" for t in op.inputs)
    )
    rows, scales = (
        np.frombuffer(bytes(model.buffers[model.subgraphs[0].tensors[table].buffer].data), kind)
        for table, kind in zip(
            (graph.producer(tensor).inputs[1] for tensor in product.inputs),
            (np.int8, np.float32),
            strict=True,
        )
    )
    expected = rows.reshape(len(scales), -1)[ids[0]] * scales[ids[0], None]
    np.testing.assert_array_equal(interpreter.get_tensor(int(product.outputs[0])), expected)
    largest = np.abs(rows.reshape(len(scales), -1).astype(int)).max(1)
    assert set(largest) <= {0, 127}, "every row uses the whole range but the padding's zeros"


@pytest.mark.slow
def test_int16x8_has_16_bit_activations_in_its_linear_layers():
    folder = small_matcher.artefact("tflite", "int16x8")
    graph, details = TfliteGraph.read(folder / "model.tflite"), tensors(folder)
    *layers, last = [op for op in graph.operators if graph.kind(op) == "FULLY_CONNECTED"]
    kinds = {
        tuple(np.dtype(details[graph.name(t)]["dtype"]).name for t in (*op.inputs[:2], op.outputs[0]))
        for op in layers
    }
    assert kinds == {("int16", "int8", "int16")}
    assert details[graph.name(last.inputs[0])]["dtype"] == np.float32
    exact = Matcher.load(small_matcher.artefact("tflite", "none")).logits(PAIRS)
    error = {
        quant: np.abs(Matcher.load(small_matcher.artefact("tflite", quant)).logits(PAIRS) - exact).mean()
        for quant in ("int8", "int16x8")
    }
    assert error["int16x8"] < error["int8"]


def test_static_onnx_cannot_saturate_and_answers_as_signed_products_do():
    """Two products of uint8 by 7-bit weights fit into 16 bits; shifting all to signed int8 changes no bit."""
    import onnx
    import onnxruntime
    from onnx import numpy_helper

    folder = small_matcher.artefact("onnx", "int8")
    proto = onnx.load(folder / "model.onnx")
    assert proto.ir_version <= 9
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    places = {"MatMulIntegerToFloat": (1, 3, 4), "QLinearConv": (3, 4, 2)}  # weights, steps, zero point
    layers = [(node, places[node.op_type]) for node in proto.graph.node if node.op_type in places]
    floats = [node for node in proto.graph.node if node.op_type in ("MatMul", "Gemm")]
    weighted = [node for node in floats if node.input[1] in values]
    assert len(weighted) == 1, "all but the last linear layer"
    assert len(floats) == 3, "and the two products of the last layer's attention"
    assert {node.op_type for node, _ in layers} == set(places)
    attention = sum(node.op_type == "MultiHeadAttention" for node in proto.graph.node)
    # In the last layer one token asks.
    assert attention == small_matcher.CONFIG.num_hidden_layers - 1
    zeros = set()
    for node, (weight, steps, zero) in layers:
        matrix, channels = values[node.input[weight]], 0 if node.op_type == "QLinearConv" else 1
        assert 2 * 255 * np.abs(matrix.astype(int)).max() <= np.iinfo(np.int16).max
        assert len(values[node.input[steps]]) == matrix.shape[channels], "one step per output channel"
        assert values[node.input[zero]].dtype == np.uint8
        zeros.add(node.input[zero])
    for tensor in proto.graph.initializer:
        if tensor.name in zeros:
            signed = (values[tensor.name].astype(int) - 128).astype(np.int8)
            tensor.CopyFrom(numpy_helper.from_array(signed, tensor.name))
    del proto.graph.value_info[:]  # it says uint8
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    matcher = Matcher.load(folder)
    encoded = matcher.tokenizer.encode(PAIRS, small_matcher.SEQ_LEN)
    rows = [
        session.run(None, {name: values[row : row + 1] for name, values in encoded.items()})[0]
        for row in range(len(PAIRS))
    ]
    np.testing.assert_array_equal(np.concatenate(rows), matcher.logits_of(encoded))


@pytest.mark.parametrize("target", recipes.TARGETS)
def test_int8_is_a_third_of_the_size(target):
    plain, small = (
        (small_matcher.artefact(target, quant) / f"model.{target}").stat().st_size
        for quant in ("none", "int8")
    )
    assert small < 0.4 * plain


def test_both_targets_give_the_same_answers():
    pairs = samples.verification_pairs()[:60]
    logits = {
        (target, quant): Matcher.load(small_matcher.artefact(target, quant)).logits(pairs)
        for target in recipes.TARGETS
        for quant in ("none", "int8")
    }
    np.testing.assert_allclose(logits["tflite", "none"], logits["onnx", "none"], atol=1e-5)
    spread = np.ptp(logits["tflite", "none"], axis=0).max()
    assert np.abs(logits["tflite", "int8"] - logits["onnx", "int8"]).max() < 0.1 * spread


def test_padding_does_not_change_an_artefact():
    """What lies in the padded ids and types can't reach the answer, in float and in int8."""
    matcher = Matcher.load(small_matcher.artefact("tflite", "int8"))
    encoded = matcher.tokenizer.encode(samples.verification_pairs()[:20], matcher.card.seq_len)
    dirty = {name: values.copy() for name, values in encoded.items()}
    padded = encoded["attention_mask"] == 0
    dirty["input_ids"][padded] = 2023
    dirty["token_type_ids"][padded] = 1
    np.testing.assert_array_equal(matcher.logits_of(dirty), matcher.logits_of(encoded))


def test_calibration_text_that_cannot_be_trusted_is_refused(tmp_path):
    from mobilebert_runtime.tokenizer import PairTokenizer

    tokenizer = PairTokenizer.load(small_matcher.model_directory())
    with pytest.raises(DataError, match="at least 16"):
        encode_calibration(samples.calibration_pairs()[:15], tokenizer, 64)
    damaged = tmp_path / "damaged.tsv"
    damaged.write_text("text_a\ttext_b\n" + "a\tb\n" * 30 + "only one field\n")
    with pytest.raises(DataError, match="line 32"):
        read_text_pairs(damaged)
