"""Float TFLite → int8 TFLite with ai-edge-quantizer, told per operator what a recipe means for this graph.

Names alone do not tell an attention score from a feed-forward sum, so the operators that a recipe keeps in
float are found by walking the graph: from the attention mask forward, from every softmax backward.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quantize.recipes import Recipe
from quantize.tflite_graph import TfliteGraph

MASK_INPUT = "attention_mask"


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
        work.add_dynamic_config(".*", operation.FULLY_CONNECTED, num_bits=8)
    if recipe.embeddings == "int8-rows":
        work.add_dynamic_config(".*", operation.EMBEDDING_LOOKUP, num_bits=8)
    else:
        work.add_weight_only_config(".*", operation.EMBEDDING_LOOKUP, num_bits=8)
    ranges = None
    if recipe.needs_calibration and calibration is not None:
        ranges = work.calibrate({graph.signature: _one_by_one(calibration)}, num_threads=1)
        if recipe.symmetric_right_operand:
            make_right_operands_symmetric(graph, ranges)
    work.quantize(ranges, enable_progress_report=False).export_model(str(target), overwrite=True)
    if recipe.activations == "int8-dynamic":
        _mark_per_channel(target)


def float_outputs(graph: TfliteGraph, recipe: Recipe) -> list[str]:
    """Names of the tensors whose producing operator stays in float under a recipe."""
    keep: list[str] = []
    if "attention mask" in recipe.float_pieces:
        keep += [graph.name(op.outputs[0]) for op in graph.fed_by(MASK_INPUT)]
    if "softmax" in recipe.float_pieces:
        for op in graph.operators:
            if graph.kind(op) == "SOFTMAX":
                keep.append(graph.name(op.outputs[0]))
                keep += [graph.name(before.outputs[0]) for before in graph.elementwise_before(op)]
    if "logits" in recipe.float_pieces:
        keep += [graph.name(op.outputs[0]) for op in graph.head()]
    return list(dict.fromkeys(keep))


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


def _one_by_one(encoded: Mapping[str, NDArray[np.int32]]) -> list[dict[str, NDArray[np.int32]]]:
    """Batches of one: the file has static shapes. A list, since the calibrator goes through it twice."""
    count = len(next(iter(encoded.values())))
    return [{name: values[row : row + 1] for name, values in encoded.items()} for row in range(count)]
