"""Float TFLite → int8 TFLite with ai-edge-quantizer, told per operator what a recipe means for this graph.

Names do not tell which operator a tensor belongs to, so what a recipe keeps in float is found on the graph.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quantize.recipes import Recipe
from quantize.tflite_graph import TfliteGraph


def quantize_tflite(
    source: Path,
    target: Path,
    recipe: Recipe,
    calibration: Mapping[str, NDArray[np.int32]] | None,
) -> None:
    """Write the quantised form of a float .tflite file.

    Args:
        source: float model with one signature.
        target: file to write.
        recipe: one of `quantize.recipes.RECIPES` with target "tflite".
        calibration: encoded pairs, int32 (N, seq_len) by input name; needed when `recipe.needs_calibration`.
    """
    from ai_edge_quantizer import qtyping, quantizer

    graph = TfliteGraph.read(source)
    work = quantizer.Quantizer(str(source))
    operation = qtyping.TFLOperationName
    if recipe.activations == "int8-static":
        work.add_static_config(".*", operation.ALL_SUPPORTED, activation_num_bits=8, weight_num_bits=8)
        for name in float_outputs(graph, recipe):
            work.update_quantization_recipe(
                f"^{re.escape(name)};?$", operation.ALL_SUPPORTED, algorithm_key="no_quantize"
            )
    else:
        for kind in recipe.integer_operators:
            work.add_dynamic_config(".*", operation(kind), num_bits=8)
    if recipe.embeddings == "int8-rows":
        work.add_dynamic_config(".*", operation.EMBEDDING_LOOKUP, num_bits=8)
    else:
        work.add_weight_only_config(".*", operation.EMBEDDING_LOOKUP, num_bits=8)
    ranges = None
    if recipe.needs_calibration and calibration is not None:
        ranges = work.calibrate({graph.signature: _rows(calibration)[:1]}, num_threads=1)
        for name, (lowest, highest) in measure_ranges(source, graph, calibration).items():
            if "min" in ranges.get(name, {}):
                shape = np.shape(ranges[name]["min"])
                ranges[name]["min"], ranges[name]["max"] = np.full(shape, lowest), np.full(shape, highest)
        if recipe.symmetric_right_operand:
            make_right_operands_symmetric(graph, ranges)
    work.quantize(ranges, enable_progress_report=False).export_model(str(target), overwrite=True)
    if recipe.activations == "int8-dynamic":
        _mark_per_channel(target)


def float_outputs(graph: TfliteGraph, recipe: Recipe) -> list[str]:
    """Names of the tensors whose producing operator stays in float under a static recipe.

    Moving a tensor (transpose, reshape) goes with the operator that computed it. Embedding lookups have a
    rule of their own.
    """
    last = {id(graph.origin(graph.producer(output))) for output in graph.outputs}
    keep = []
    for op in graph.operators:
        origin = graph.origin(op)
        if graph.kind(op) == "EMBEDDING_LOOKUP":
            continue
        if origin is None or graph.kind(origin) not in recipe.integer_operators or id(origin) in last:
            keep.append(graph.name(op.outputs[0]))
    return keep


def measure_ranges(
    source: Path, graph: TfliteGraph, calibration: Mapping[str, NDArray[np.int32]]
) -> dict[str, tuple[float, float]]:
    """Lowest and highest value of every float activation over all calibration pairs, zero included.

    The quantiser's own calibration smooths the extremes of successive samples, which clips. On the shipped
    matcher true extremes take the rms error of the logits from 0.20 to 0.05.
    """
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(source), experimental_preserve_all_tensors=True, num_threads=1)
    interpreter.allocate_tensors()
    run = interpreter.get_signature_runner()
    computed = {graph.name(tensor) for op in graph.operators for tensor in op.outputs}
    activations = {
        detail["name"]: detail["index"]
        for detail in interpreter.get_tensor_details()
        if detail["name"] in computed and detail["dtype"] == np.float32
    }
    ranges = dict.fromkeys(activations, (0.0, 0.0))
    for row in _rows(calibration):
        run(**row)
        for name, index in activations.items():
            values = interpreter.get_tensor(index)
            lowest, highest = ranges[name]
            ranges[name] = min(lowest, float(values.min())), max(highest, float(values.max()))
    return ranges


def make_right_operands_symmetric(graph: TfliteGraph, ranges: dict[str, Any]) -> None:
    """Widen the range of every matrix product's right operand to [−128/127·m, m]: int8 zero point 0.

    XNNPACK runs an int8 BATCH_MATMUL only with zero point 0 there. The tensors it was moved from get the same
    range, so that moving stays free.
    """
    for op in graph.operators:
        if graph.kind(op) != "BATCH_MATMUL":
            continue
        for name in graph.same_values(op.inputs[1]):
            if name in ranges and "min" in ranges[name]:
                found = ranges[name]
                largest = np.maximum(np.abs(found["min"]), np.abs(found["max"]))
                found["min"], found["max"] = -largest * (128 / 127), largest


def _mark_per_channel(path: Path) -> None:
    """Give the operators of a dynamic-range file the version that says "one scale per channel".

    The quantiser leaves the float version, so that runtimes which know only one scale per tensor load the
    file and return wrong numbers. With the right version they refuse it.
    """
    from ai_edge_litert.tools import flatbuffer_utils as fb

    model = fb.read_model(str(path))
    versions = {fb.BuiltinOperator.FULLY_CONNECTED: 12, fb.BuiltinOperator.EMBEDDING_LOOKUP: 4}
    for code in model.operatorCodes:
        code.version = max(code.version, versions.get(code.builtinCode, 0))
    path.write_bytes(fb.convert_object_to_bytearray(model))


def _rows(encoded: Mapping[str, NDArray[np.int32]]) -> list[dict[str, NDArray[np.int32]]]:
    """Batches of one: the file has static shapes."""
    count = len(next(iter(encoded.values())))
    return [{name: values[row : row + 1] for name, values in encoded.items()} for row in range(count)]
