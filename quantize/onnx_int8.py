"""Float ONNX → int8 ONNX.

With static ranges the linear layers become ONNX Runtime's fused operator: 8 bits in, exact sums, float out
with the bias added. The usual form, QuantizeLinear and DequantizeLinear around float operators, is rewritten
by the runtime into float Gemm operators that unpack their weights in every inference: twice as slow as float
(docs/decisions/011).

Activations are unsigned and matrices signed with 7 bits. Processors of x86 without VNNI add two such products
in 16 bits, saturating: 2·255·64 = 32,640 still fits, so the sums are exact and the same as on a phone. Signed
activations would give the same answers, but the runtime has no fast kernel for them there.
"""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quantize.product_noise import (
    ProductForm,
    RangeMeter,
    TensorRange,
    matrix_steps,
    signal_to_noise,
    too_noisy,
)
from quantize.recipes import Recipe

# Domain of ONNX Runtime's own operators.
_RUNTIME = "com.microsoft"
_PRODUCTS = ("MatMul", "Gemm")


def quantize_onnx(
    source: Path,
    target: Path,
    recipe: Recipe,
    calibration: Mapping[str, NDArray[np.int32]] | None,
    keep_float: Collection[int] = (),
) -> tuple[ProductForm, ...]:
    """Write the quantised form of a float .onnx file.

    Args:
        source: float model.
        target: file to write.
        recipe: one of `quantize.recipes.RECIPES` with target "onnx".
        calibration: encoded pairs, int32 (N, S) by input name; needed when `recipe.needs_calibration`.
        keep_float: numbers of products (`product_audit`) that stay in float; only with static ranges.

    Returns:
        How each linear layer is computed that the recipe gives static ranges; empty for other recipes.
    """
    if not recipe.needs_calibration:
        from onnxruntime import quantization as ort

        # Dynamic activations are always unsigned; with 7-bit weights their products can't saturate either.
        ort.quantize_dynamic(
            source,
            target,
            op_types_to_quantize=list(recipe.integer_operators),
            per_channel=True,
            reduce_range=recipe.weight_bits == 7,
            weight_type=ort.QuantType.QInt8,
        )
        return ()
    import onnx

    proto = onnx.load(source)
    work = _Rewriter(proto, recipe)
    layers = work.linear_layers()
    watched = {name for node in layers.values() for name in (node.input[0], node.output[0])}
    ranges = measure_ranges(proto, watched, calibration or {})
    forms = work.forms(layers, ranges, keep_float)
    work.replace_linear_layers([layers[one.number] for one in forms if one.form == "static"], ranges)
    work.replace_lookups()
    proto.opset_import.append(onnx.helper.make_opsetid(_RUNTIME, 1))
    target.write_bytes(proto.SerializeToString())
    return forms


def product_widths(path: Path) -> list[int]:
    """Last axis of the result of each product of a float file, 0 where it is not fixed."""
    import onnx

    graph = onnx.shape_inference.infer_shapes(onnx.load(path)).graph
    axes = {value.name: value.type.tensor_type.shape.dim for value in (*graph.value_info, *graph.output)}
    return [axes[node.output[0]][-1].dim_value for node in graph.node if node.op_type in _PRODUCTS]


def measure_ranges(
    proto: Any, tensors: Collection[str], calibration: Mapping[str, NDArray[np.int32]]
) -> dict[str, TensorRange]:
    """Lowest and highest value, zero included, and mean square of some tensors over all calibration pairs."""
    import onnx
    import onnxruntime

    names = sorted(tensors)
    watched = onnx.ModelProto.FromString(proto.SerializeToString())
    watched.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        watched.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    meter = RangeMeter()
    for row in range(len(next(iter(calibration.values()), ()))):
        found = session.run(names, {name: values[row : row + 1] for name, values in calibration.items()})
        for name, values in zip(names, found, strict=True):
            meter.add(name, values)
    return meter.ranges()


class _Rewriter:
    """Replaces nodes of a graph, keeping their order, and drops the constants that nobody reads any more."""

    def __init__(self, proto: Any, recipe: Recipe) -> None:
        import onnx

        self.graph, self.recipe = proto.graph, recipe
        inferred = onnx.shape_inference.infer_shapes(proto).graph.value_info
        self.shapes = {value.name: value for value in inferred}
        self.constants = {tensor.name: tensor for tensor in proto.graph.initializer}
        self.quantised: dict[str, tuple[str, str, str]] = {}  # tensor → its uint8 form, scale and zero point

    def linear_layers(self) -> dict[int, Any]:
        """Products with a constant matrix by their number, but the last, which makes the logits."""
        products = [node for node in self.graph.node if node.op_type in _PRODUCTS]
        return {number: node for number, node in enumerate(products[:-1]) if node.input[1] in self.constants}

    def forms(
        self, layers: Mapping[int, Any], ranges: Mapping[str, TensorRange], keep_float: Collection[int]
    ) -> tuple[ProductForm, ...]:
        """How each linear layer is computed: in float where the recipe finds it too noisy for int8."""
        found = {}
        for number, node in layers.items():
            matrix = self._matrix(node)
            found[number] = signal_to_noise(
                len(matrix),
                ranges[node.input[0]],
                matrix_steps(matrix.T, self.recipe.weight_bits),
                ranges[node.output[0]],
                rounded=False,
            )
        floats = {*keep_float, *too_noisy(found, self.recipe.noise_limit_db)}
        return tuple(
            ProductForm(number, node.output[0], "float" if number in floats else "static", found[number])
            for number, node in layers.items()
        )

    def replace_linear_layers(self, layers: Iterable[Any], ranges: Mapping[str, TensorRange]) -> None:
        """x·W + b → quantise x once, integer product, float result with the bias."""
        from onnx import helper

        chosen = {node.output[0]: node for node in layers}
        readers: dict[str, list[Any]] = {}
        for node in self.graph.node:
            for name in node.input:
                readers.setdefault(name, []).append(node)
        nodes: list[Any] = []
        absorbed: set[str] = set()
        for node in self.graph.node:
            if node.output[0] in absorbed:
                continue
            if node.output[0] not in chosen:
                nodes.append(node)
                continue
            matrix, bias, result = self._matrix(node), node.input[2] if len(node.input) > 2 else "", node
            following = readers.get(node.output[0], [])
            if not bias and len(following) == 1 and (bias := self._bias(following[0], matrix.shape[1])):
                result = following[0]
                absorbed.add(result.output[0])
            nodes += self._quantise(node.input[0], ranges[node.input[0]])
            tensor, scale, zero = self.quantised[node.input[0]]
            weight, steps = quantise_columns(matrix, self.recipe.weight_bits)
            name = node.output[0]
            inputs = [tensor, self._add(f"{name}.weight", weight), scale, self._add(f"{name}.steps", steps)]
            inputs += [zero, "", bias]
            nodes.append(
                helper.make_node(
                    "MatMulIntegerToFloat", inputs, [result.output[0]], name=node.name, domain=_RUNTIME
                )
            )
            if result.output[0] in self.shapes:  # of the runtime's own operator none can be inferred
                self.graph.value_info.append(self.shapes[result.output[0]])
        self._finish(nodes)

    def replace_lookups(self) -> None:
        """Embedding tables in int8 with a scale per row; only the rows looked up are made float."""
        from onnx import TensorProto, helper, numpy_helper

        nodes: list[Any] = []
        for node in self.graph.node:
            table = self.constants.get(node.input[0]) if node.op_type == "Gather" else None
            if table is None or table.data_type != TensorProto.FLOAT or len(table.dims) != 2:
                nodes.append(node)
                continue
            rows, steps = quantise_columns(numpy_helper.to_array(table).T, 8)
            name = node.output[0]
            tables = self._add(f"{name}.rows", rows.T), self._add(f"{name}.scales", steps[:, None])
            names = [f"{name}.int8", f"{name}.float", f"{name}.scale"]
            nodes += [
                helper.make_node("Gather", [tables[0], node.input[1]], names[:1], axis=0),
                helper.make_node("Cast", names[:1], names[1:2], to=TensorProto.FLOAT),
                helper.make_node("Gather", [tables[1], node.input[1]], names[2:], axis=0),
                helper.make_node("Mul", names[1:], [name]),
            ]
        self._finish(nodes)

    def _matrix(self, node: Any) -> NDArray[np.float32]:
        """The constant of a product as (in, out)."""
        from onnx import numpy_helper

        matrix = numpy_helper.to_array(self.constants[node.input[1]])
        transposed = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
        return matrix.T if transposed else matrix

    def _bias(self, node: Any, width: int) -> str:
        """The constant that an Add adds to each row; "" if the node is something else."""
        if node.op_type != "Add":
            return ""
        return next(
            (n for n in node.input if n in self.constants and list(self.constants[n].dims) == [width]), ""
        )

    def _quantise(self, name: str, extremes: TensorRange) -> list[Any]:
        """The node that makes a tensor uint8, unless there is one already."""
        from onnx import helper

        if name in self.quantised:
            return []
        lowest, highest, _ = extremes
        step = np.float32((highest - lowest) / 255 or 1.0)
        zero = np.uint8(np.clip(round(-lowest / step), 0, 255))
        made = f"{name}.uint8", self._add(f"{name}.step", step), self._add(f"{name}.zero", zero)
        self.quantised[name] = made
        return [helper.make_node("QuantizeLinear", [name, *made[1:]], [made[0]])]

    def _add(self, name: str, values: Any) -> str:
        from onnx import numpy_helper

        tensor = numpy_helper.from_array(np.ascontiguousarray(values).reshape(np.shape(values)), name)
        self.graph.initializer.append(tensor)
        self.constants[name] = tensor
        return name

    def _finish(self, nodes: list[Any]) -> None:
        read = {name for node in nodes for name in node.input}
        kept = [tensor for tensor in self.constants.values() if tensor.name in read]
        del self.graph.node[:], self.graph.initializer[:]
        self.graph.node.extend(nodes)
        self.graph.initializer.extend(kept)
        self.constants = {tensor.name: tensor for tensor in self.graph.initializer}


def quantise_columns(matrix: NDArray[np.float32], bits: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """(in, out) → int8 (in, out) and one symmetric step per column, (out,); 7 bits use −64 to 64."""
    largest = 127 if bits == 8 else 2 ** (bits - 1)
    steps = np.maximum(np.abs(matrix).max(axis=0), 1e-30) / largest
    return np.round(matrix / steps).astype(np.int8), steps.astype(np.float32)
