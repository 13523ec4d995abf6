"""Float TFLite → int8 TFLite with ai-edge-quantizer, which gets a rule per operator from the recipe.

A file holds one graph per sequence length, equal but for shapes, with shared weights. Ranges are measured on
the largest and hold for all: what a shorter graph computes is part of what the longest computes. The packed
graph of an embedding matcher has the same products in the same order, and other operators between them.
"""

import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilebert_quantize.product_noise import (
    ProductForm,
    RangeMeter,
    TensorRange,
    matrix_steps,
    signal_to_noise,
    too_noisy,
)
from mobilebert_quantize.recipes import Recipe
from mobilebert_quantize.tflite.codes import CODED, look_up_codes, mark_coded_lookups
from mobilebert_quantize.tflite.convolutions import multiply_by_convolutions
from mobilebert_quantize.tflite.embedding import scale_looked_up_rows
from mobilebert_quantize.tflite.file import write_compact
from mobilebert_quantize.tflite.four_bit import store_four_bits
from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_runtime.card import PACKED_SIGNATURE

Ranges = dict[str, TensorRange]

# The quantiser chooses operators by the names of their results: ours that shall be integer begin with one of
# these while it works.
_STATIC, _DYNAMIC = "static:", "dynamic:"
_NOT_CODED = f"^(?!{CODED})"


def quantize_tflite(
    source: Path,
    target: Path,
    recipe: Recipe,
    calibration: Mapping[str, NDArray[np.int32]] | None,
    keep_float: Collection[int] = (),
) -> tuple[ProductForm, ...]:
    """Write the quantised form of a float .tflite file.

    Args:
        source: float model, a signature per sequence length.
        target: file to write.
        recipe: one of `mobilebert_quantize.recipes.RECIPES` with target "tflite".
        calibration: encoded pairs, int32 (N, S) by input name, S the largest sequence length; needed when
            `recipe.needs_ranges`.
        keep_float: numbers of products (`product_audit`) that stay in float whatever the recipe says.

    Returns:
        How each product is computed; empty for a recipe that needs no ranges.
    """
    from ai_edge_litert.tools import flatbuffer_utils as fb
    from ai_edge_quantizer import qtyping, quantizer

    model = fb.read_model(str(source))
    if recipe.static_ranges:
        _drop_signature(model, PACKED_SIGNATURE)
    mark_coded_lookups(model, recipe.word_bits)
    graphs = TfliteGraph.all_of(model)
    ranges: Ranges = {}
    if recipe.needs_ranges and calibration is not None:
        ranges = measure_ranges(source, calibration)
    forms = product_forms(model, graphs[0], recipe, ranges, keep_float)
    numbers = {form: {one.number for one in forms if one.form == form} for form in ("float", "dynamic")}
    dynamic = not recipe.static_ranges or bool(numbers["dynamic"])
    for graph in graphs:
        _mark(graph, recipe, {*keep_float, *numbers["float"]}, numbers["dynamic"])
    with tempfile.TemporaryDirectory() as scratch:
        marked = Path(scratch) / "marked.tflite"
        marked.write_bytes(fb.convert_object_to_bytearray(model))
        work = quantizer.Quantizer(str(marked))
        operation = qtyping.TFLOperationName
        if recipe.static_ranges:
            work.add_static_config(
                f"^{_STATIC}",
                operation.ALL_SUPPORTED,
                activation_num_bits=recipe.activation_bits,
                weight_num_bits=8,
            )
        if dynamic:
            work.add_dynamic_config(f"^{_DYNAMIC}", operation.ALL_SUPPORTED, num_bits=8)
        if recipe.embeddings == "int8-rows":
            work.add_dynamic_config(_NOT_CODED, operation.EMBEDDING_LOOKUP, num_bits=8)
        else:
            work.add_weight_only_config(_NOT_CODED, operation.EMBEDDING_LOOKUP, num_bits=8)
        found = None
        if recipe.static_ranges and calibration is not None:
            found = _quantiser_ranges(work, graphs, calibration, ranges)
        # Not by its export_model, which writes through a memory map: a full disk would then end the process.
        target.write_bytes(work.quantize(found, enable_progress_report=False).quantized_model)
    _finish(target, dynamic=dynamic, as_convolutions=recipe.as_convolutions)
    return forms


def _mark(graph: TfliteGraph, recipe: Recipe, floats: Collection[int], dynamic: Collection[int]) -> None:
    """Rename the results of integer operators; `dynamic` are the products with ranges found at run time."""
    usual = _STATIC if recipe.static_ranges else _DYNAMIC
    marks = dict.fromkeys(integer_operators(graph, recipe, {*floats, *dynamic}), usual)
    rows = {id(product) for number, product in enumerate(products(graph)) if number in dynamic}
    marks |= {place: _DYNAMIC for place, op in enumerate(graph.operators) if id(op) in rows}
    for place, mark in marks.items():
        for tensor in graph.operators[place].outputs:
            graph.rename(tensor, mark + graph.name(tensor))


def _drop_signature(model: Any, name: str) -> None:
    """Remove a signature and its graph, if the file has it.

    The ranges of the packed graph are not among those of calibration: its operators are others, and where
    texts are missing its head sees values that no pair gives.
    """
    dropped = [one for one in model.signatureDefs if one.signatureKey.decode() == name]
    for signature in dropped:
        del model.subgraphs[signature.subgraphIndex]
        model.signatureDefs.remove(signature)
        for other in model.signatureDefs:
            other.subgraphIndex -= other.subgraphIndex > signature.subgraphIndex


def integer_operators(graph: TfliteGraph, recipe: Recipe, keep_float: Collection[int] = ()) -> set[int]:
    """Places, in the file's order, of the operators that a recipe computes in integers.

    Moving a tensor (transpose, reshape) goes with the operator that computed it. With static ranges two
    kinds of linear layers stay in float: the last, whose results are the logits, and those whose matrix is
    computed, such as a head's that compares two texts: like attention's products (decision 007), and TFLite
    2.14 has none of 16-bit operands. Embedding lookups have a rule of their own.
    """
    stays = {id(product) for number, product in enumerate(products(graph)) if number in keep_float}
    if recipe.static_ranges:
        stays |= {id(graph.origin(graph.producer(output))) for output in graph.outputs}
        stays |= {id(op) for op in products(graph) if graph.producer(int(op.inputs[1])) is not None}
    if recipe.float_embedding_layer:
        stays |= {id(product) for product in embedding_layers(graph)}
    places = set()
    for place, op in enumerate(graph.operators):
        origin = graph.origin(op)
        if origin is None or graph.kind(origin) not in recipe.integer_operators or id(origin) in stays:
            continue
        if recipe.static_ranges or origin is op:
            places.add(place)
    return places


def products(graph: TfliteGraph) -> list[Any]:
    """The linear layers and matrix products in the order they are computed: the products of an audit."""
    return [op for op in graph.operators if graph.kind(op) in ("FULLY_CONNECTED", "BATCH_MATMUL")]


def product_forms(
    model: Any, graph: TfliteGraph, recipe: Recipe, ranges: Ranges, keep_float: Collection[int]
) -> tuple[ProductForm, ...]:
    """How each product of a recipe that needs ranges is to be computed: in integers, or in float.

    Args:
        model: the parsed file.
        graph: its first graph.
        recipe: the recipe.
        ranges: of `measure_ranges`; empty for a recipe without static ranges.
        keep_float: products that stay in float whatever it says.
    """
    if not ranges:
        return ()
    whole = products(graph)
    integer = {number: whole[number] for number in _integer_products(graph, recipe)}
    found = {number: _decibels(model, graph, op, ranges, recipe) for number, op in integer.items()}
    form = dict.fromkeys(integer, "static" if recipe.static_ranges else "dynamic")
    if recipe.dynamic_into_sums:
        form |= dict.fromkeys(_into_sums(graph, integer), "dynamic")
    form |= dict.fromkeys({*keep_float, *too_noisy(found, recipe.noise_limit_db)}, "float")
    return tuple(
        ProductForm(number, graph.name(op.outputs[0]), form[number], found[number])
        for number, op in integer.items()
    )


def _into_sums(graph: TfliteGraph, integer: Mapping[int, Any]) -> list[int]:
    """Numbers of those of some products that read none of them and whose results are only added."""
    computed = {id(op) for op in integer.values()}
    return [
        number
        for number, op in integer.items()
        if id(graph.origin(graph.producer(int(op.inputs[0])))) not in computed
        and all(graph.kind(user) == "ADD" for user in graph.users(int(op.outputs[0])))
    ]


def _integer_products(graph: TfliteGraph, recipe: Recipe) -> list[int]:
    """Numbers of the products that a recipe computes in integers unless told otherwise."""
    places = integer_operators(graph, recipe)
    integer = {id(graph.operators[place]) for place in places}
    return [number for number, op in enumerate(products(graph)) if id(op) in integer]


def _decibels(model: Any, graph: TfliteGraph, op: Any, ranges: Ranges, recipe: Recipe) -> float:
    """Signal over noise of a product with the ranges of calibration."""
    left, right, result = (int(tensor) for tensor in (op.inputs[0], op.inputs[1], op.outputs[0]))
    matrix = graph.constant(model, right)
    if matrix is None:
        return float("inf")
    factor = matrix_steps(matrix.reshape(graph.shape(right)), 8)
    inner = graph.shape(left)[-1]
    return signal_to_noise(
        inner, ranges[graph.name(left)], factor, ranges[graph.name(result)], rounded=recipe.static_ranges
    )


def embedding_layers(graph: TfliteGraph) -> list[Any]:
    """The linear layers before any attention that read several words side by side: what they read was joined.

    A head may join states of one word, such as those of two layers: attention precedes these.
    """
    found = []
    for op in products(graph):
        source = graph.origin(graph.producer(int(op.inputs[0])))
        if graph.kind(op) != "FULLY_CONNECTED" or source is None or graph.kind(source) != "CONCATENATION":
            continue
        if all(graph.kind(before) != "SOFTMAX" for before in graph.upstream(source)):
            found.append(op)
    return found


def product_widths(path: Path) -> list[int]:
    """Last axis of the result of each product of a float file."""
    graph = TfliteGraph.read(path)
    return [graph.shape(op.outputs[0])[-1] for op in products(graph)]


def measure_ranges(source: Path, calibration: Mapping[str, NDArray[np.int32]]) -> Ranges:
    """Lowest and highest value, zero included, and mean square of every float activation, over all pairs.

    The quantiser's own calibration smooths the extremes of successive samples, which clips. On the shipped
    matcher true extremes take the rms error of the logits from 0.20 to 0.05.

    Returns:
        By tensor name in the first graph of the file.
    """
    from ai_edge_litert.interpreter import Interpreter

    graph = TfliteGraph.read(source)
    interpreter = Interpreter(str(source), experimental_preserve_all_tensors=True, num_threads=1)
    interpreter.allocate_tensors()
    run = interpreter.get_signature_runner(graph.signature)
    computed = {graph.name(tensor) for op in graph.operators for tensor in op.outputs}
    activations = {
        detail["name"]: detail["index"]
        for detail in interpreter.get_tensor_details()
        if detail["name"] in computed and detail["dtype"] == np.float32
    }
    meter = RangeMeter()
    for row in rows_of(calibration):
        run(**row)
        for name, index in activations.items():
            meter.add(name, interpreter.get_tensor(index))
    return meter.ranges()


def rows_of(encoded: Mapping[str, NDArray[np.int32]]) -> list[dict[str, NDArray[np.int32]]]:
    """Batches of one: the graphs have static shapes."""
    count = len(next(iter(encoded.values())))
    return [{name: values[row : row + 1] for name, values in encoded.items()} for row in range(count)]


def _quantiser_ranges(
    work: Any,
    graphs: list[TfliteGraph],
    calibration: Mapping[str, NDArray[np.int32]],
    ranges: Ranges,
) -> dict[str, Any]:
    """Our ranges in the quantiser's own form: its calibration of one pair, the figures replaced."""
    largest = graphs[0]
    samples = {
        graph.signature: [
            {name: values[:1, : graph.shape(graph.inputs[0])[1]] for name, values in calibration.items()}
        ]
        for graph in graphs
    }
    found: dict[str, Any] = work.calibrate(samples, num_threads=1)
    for graph in graphs:
        for here, there in zip(graph.operators, largest.operators, strict=True):
            for tensor, original in zip(here.outputs, there.outputs, strict=True):
                entry, known = found.get(graph.name(tensor), {}), _unmarked(largest.name(original))
                if "min" in entry and known in ranges:
                    for key, value in zip(("min", "max"), ranges[known][:2], strict=True):
                        entry[key] = np.full(np.shape(entry[key]), value)
    return found


def _unmarked(name: str) -> str:
    return name.removeprefix(_STATIC).removeprefix(_DYNAMIC)


def _finish(path: Path, *, dynamic: bool, as_convolutions: bool) -> None:
    """Take our marks off the names, keep each weight once, in few bits, and set the operators' true versions.

    The quantiser leaves dynamic-range operators the version of their float form, so that runtimes which know
    only one scale per tensor load the file and return wrong numbers. With the version that says "one scale
    per channel" they refuse it; of convolutions they know it.
    """
    from ai_edge_litert.tools import flatbuffer_utils as fb

    model = fb.read_model(str(path))
    scale_looked_up_rows(model)
    look_up_codes(model)
    for number, graph in enumerate(model.subgraphs):
        for tensor in graph.tensors:
            # No runtime reads them; whoever looks at the file looks at the first graph.
            tensor.name = b"" if number else _unmarked(tensor.name.decode()).encode()
    if dynamic and as_convolutions:
        multiply_by_convolutions(model)
    elif dynamic:
        store_four_bits(model)
        versions = {fb.BuiltinOperator.FULLY_CONNECTED: 12, fb.BuiltinOperator.EMBEDDING_LOOKUP: 4}
        for code in model.operatorCodes:
            code.version = max(code.version, versions.get(code.builtinCode, 0))
    write_compact(model, path)
