"""Float ONNX → int8 ONNX.

Linear layers become ONNX Runtime's fused operator: 8 bits in, exact sums, float out. With static ranges it
adds the bias as well, and where a result, or its ReLU, is only read in 8 bits, a convolution over one token
makes the 8 bits at once. With dynamic ones each row of activations, a token, has a range of its own: the
operator knows one scale per tensor, so a row is brought to [0, 1] before it and back after it. (The runtime's
own dynamic quantisation has one range for all rows, which a token with outliers ruins: decision 018.)
The usual form, QuantizeLinear and DequantizeLinear around float operators, is rewritten
by the runtime into float Gemm operators that unpack their weights in every inference: twice as slow as float
(docs/decisions/011).

Activations are unsigned and matrices signed with 7 bits. Processors of x86 without VNNI add two such products
in 16 bits, saturating: 2·255·64 = 32,640 still fits, so the sums are exact and the same as on a phone. Signed
activations would give the same answers, but the runtime has no fast kernel for them there.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mobilebert_models.weights.word_codes import (
    ENTRIES,
    WordCodes,
    can_be_coded,
    find_codes,
    group_size,
    product_codes,
)
from mobilebert_quantize.onnx.attention import RUNTIME, fuse_attention
from mobilebert_quantize.product_noise import (
    ProductForm,
    RangeMeter,
    TensorRange,
    largest_weight,
    matrix_steps,
    signal_to_noise,
    too_noisy,
)
from mobilebert_quantize.recipes import Recipe

_PRODUCTS = ("MatMul", "Gemm")
_LEAST = 1e-30  # a column of zeros has a step too
_LARGEST_BIAS = 2**30  # in steps of the sums it is added to; the sums themselves stay far below


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
        recipe: one of `mobilebert_quantize.recipes.RECIPES` with target "onnx".
        calibration: encoded pairs, int32 (N, S) by input name; needed when `recipe.needs_ranges`.
        keep_float: numbers of products (`product_audit`) that stay in float; only with static ranges.

    Returns:
        How each linear layer is computed; empty for a recipe that needs no ranges.
    """
    import onnx

    proto = onnx.load(source)
    work = _Rewriter(proto, recipe)
    layers = work.linear_layers()
    ranges: dict[str, TensorRange] = {}
    forms: tuple[ProductForm, ...] = ()
    chosen = {node.output[0]: "dynamic" for node in layers.values()}
    if recipe.needs_ranges:
        watched = {name for node in layers.values() for name in (node.input[0], node.output[0])}
        ranges = measure_ranges(proto, watched, calibration or {})
        forms = work.forms(layers, ranges, keep_float)
        chosen = {one.name: one.form for one in forms if one.form != "float"}
    work.replace_linear_layers(chosen, ranges)
    work.replace_lookups()
    fuse_attention(proto.graph, work.shapes)
    proto.opset_import.append(onnx.helper.make_opsetid(RUNTIME, 1))
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
        self.by_rows: set[str] = set()  # tensors that have a uint8 form with a range per row

    def linear_layers(self) -> dict[int, Any]:
        """Products with a constant matrix by their number, but the last, which makes the logits."""
        products = [node for node in self.graph.node if node.op_type in _PRODUCTS]
        # A DeBERTa's products with distances have a matrix for each head, and are attention's.
        matrices = {name for name, tensor in self.constants.items() if len(tensor.dims) == 2}
        return {number: node for number, node in enumerate(products[:-1]) if node.input[1] in matrices}

    def forms(
        self, layers: Mapping[int, Any], ranges: Mapping[str, TensorRange], keep_float: Collection[int]
    ) -> tuple[ProductForm, ...]:
        """How each linear layer is computed: in the next finer form where it would be too noisy."""
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
        usual, finer = ("static", "dynamic") if self.recipe.static_ranges else ("dynamic", "float")
        chosen = dict.fromkeys(layers, usual)
        chosen |= dict.fromkeys(too_noisy(found, self.recipe.noise_limit_db), finer)
        chosen |= {number: "float" for number in keep_float if number in layers}
        return tuple(
            ProductForm(number, node.output[0], chosen[number], found[number])
            for number, node in layers.items()
        )

    def replace_linear_layers(self, chosen: Mapping[str, str], ranges: Mapping[str, TensorRange]) -> None:
        """x·W + b in integers.

        Args:
            chosen: "static" or "dynamic" by the name of a product's result.
            ranges: of the inputs of the static ones.
        """
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
            if chosen[node.output[0]] == "dynamic":
                nodes += self._dynamic(node, matrix, bias, result.output[0])
            elif last := self._read_in_8_bits(result.output[0], readers, chosen):
                absorbed.add(last)
                nodes += self._convolution(node, matrix, bias, last, ranges)
                continue
            else:
                nodes += self._static(node, matrix, bias, result.output[0], ranges)
            self._declare(result.output[0])
        self._finish(nodes)

    def _read_in_8_bits(
        self, name: str, readers: Mapping[str, Sequence[Any]], chosen: Mapping[str, str]
    ) -> str:
        """A result (B, S, O) or its ReLU, whichever static layers alone read; "" where none is."""
        if name not in self.shapes or len(self.shapes[name].type.tensor_type.shape.dim) != 3:
            return ""
        following = readers.get(name, [])
        if len(following) == 1 and following[0].op_type == "Relu":
            name = following[0].output[0]
            following = readers.get(name, [])
        read = [node.input[0] == name and chosen.get(node.output[0]) == "static" for node in following]
        left = any(output.name == name for output in self.graph.output)
        return name if read and all(read) and not left else ""

    def _declare(self, name: str, made: str = "", kind: int = 0) -> None:
        """Keep the shape of a tensor, since of the runtime's own operators none can be inferred.

        Args:
            name: as in the float graph.
            made: of the tensor that takes its place, if another does.
            kind: its type, an onnx.TensorProto.DataType.
        """
        if name in self.shapes:
            value = self.graph.value_info.add()
            value.CopyFrom(self.shapes[name])
            if made:
                value.name, value.type.tensor_type.elem_type = made, kind

    def _static(
        self,
        node: Any,
        matrix: NDArray[np.float32],
        bias: str,
        result: str,
        ranges: Mapping[str, TensorRange],
    ) -> list[Any]:
        """Quantise x once, integer product, float result with the bias."""
        before = self._quantise(node.input[0], ranges[node.input[0]])
        tensor, scale, zero = self.quantised[node.input[0]]
        return [*before, self._product(node.output[0], matrix, (tensor, scale, zero), bias, result)[0]]

    def _convolution(
        self,
        node: Any,
        matrix: NDArray[np.float32],
        bias: str,
        last: str,
        ranges: Mapping[str, TensorRange],
    ) -> list[Any]:
        """Quantise x once, and from the integer sums make the uint8 form of `last`; a range from 0 is a ReLU.

        The runtime's matrix product of 8-bit results has no kernel that is faster than one with float
        results; its convolution has (decision 011).
        """
        from onnx import TensorProto, helper, numpy_helper

        name, before = node.output[0], self._quantise(node.input[0], ranges[node.input[0]])
        given = self.quantised[node.input[0]]
        step = float(numpy_helper.to_array(self.constants[given[1]]))
        added = numpy_helper.to_array(self.constants[bias]).astype(np.float64) if bias else np.zeros(1)
        # The bias is a sum of 32 bits too: where the weights are small beside it, their steps are wider.
        least = np.abs(added) / (step * _LARGEST_BIAS) * largest_weight(self.recipe.weight_bits)
        weight, steps = quantise_columns(
            matrix, self.recipe.weight_bits, np.maximum(least, _LEAST).astype(np.float32)
        )
        inputs = [
            *given,
            self._add(f"{name}.weight", weight.T[:, :, None]),
            self._add(f"{name}.steps", steps),
            self._add("weight.zero", np.int8(0)),
        ]
        made, *into = self._uint8(last, ranges[last])
        inputs += into
        if bias:
            sums = np.rint(added / (step * steps.astype(np.float64)))
            inputs.append(self._add(f"{name}.bias", sums.astype(np.int32)))
        self._declare(last, made, TensorProto.UINT8)
        product = helper.make_node(
            "QLinearConv", inputs, [made], name=name, domain=RUNTIME, channels_last=1, kernel_shape=[1]
        )
        return [*before, product]

    def _dynamic(self, node: Any, matrix: NDArray[np.float32], bias: str, result: str) -> list[Any]:
        """Each row of x by its own range: x = low + span·u, so x·W + b = span·(u·W) + low·ΣW + b.

        u, from 0 to 1, is what is quantised; ΣW sums each column of the quantised W, so that low is exact.
        """
        from onnx import helper

        source, name = node.input[0], node.output[0]
        before = self._quantise_rows(source)
        low, span = f"{source}.low", f"{source}.span"
        step, zero = self._add("rows.step", np.float32(1 / 255)), self._add("rows.zero", np.uint8(0))
        product, sums = self._product(name, matrix, (f"{source}.rows", step, zero), "", f"{name}.raw")
        shift = [helper.make_node("Mul", [low, self._add(f"{name}.sums", sums)], [f"{name}.offset"])]
        if bias:
            shift.append(helper.make_node("Add", [f"{name}.offset", bias], [f"{name}.shift"]))
        scaled = helper.make_node("Mul", [f"{name}.raw", span], [f"{name}.scaled"])
        total = helper.make_node("Add", [scaled.output[0], shift[-1].output[0]], [result])
        return [*before, product, *shift, scaled, total]

    def _product(
        self, name: str, matrix: NDArray[np.float32], quantised: tuple[str, str, str], bias: str, result: str
    ) -> tuple[Any, NDArray[np.float32]]:
        """The runtime's integer product with (tensor, scale, zero point), and ΣW, (out,)."""
        from onnx import helper

        weight, steps = quantise_columns(matrix, self.recipe.weight_bits)
        tensor, scale, zero = quantised
        inputs = [tensor, self._add(f"{name}.weight", weight), scale, self._add(f"{name}.steps", steps)]
        node = helper.make_node(
            "MatMulIntegerToFloat", [*inputs, zero, "", bias], [result], name=name, domain=RUNTIME
        )
        return node, (weight.sum(axis=0, dtype=np.int64) * steps).astype(np.float32)

    def replace_lookups(self) -> None:
        """Embedding tables in int8, by rows with scales or as product codes; only rows looked up: float."""
        from onnx import TensorProto, helper, numpy_helper

        nodes: list[Any] = []
        bits = self.recipe.word_bits
        for node in self.graph.node:
            table = self.constants.get(node.input[0]) if node.op_type == "Gather" else None
            if table is None or table.data_type != TensorProto.FLOAT or len(table.dims) != 2:
                nodes.append(node)
                continue
            name, values = node.output[0], torch.from_numpy(numpy_helper.to_array(table).copy())
            words = find_codes(values)
            if words is None and bits != 8 and can_be_coded(values, bits):
                words = product_codes(values, torch.ones(len(values)), group_size(bits))
            if words is not None:
                nodes += self._coded_lookup(node, words)
                continue
            rows, steps = quantise_columns(values.numpy().T, 8)
            tables = self._add(f"{name}.table", rows.T), self._add(f"{name}.scales", steps[:, None])
            names = [f"{name}.int8", f"{name}.float", f"{name}.scale"]
            nodes += [
                helper.make_node("Gather", [tables[0], node.input[1]], names[:1], axis=0),
                helper.make_node("Cast", names[:1], names[1:2], to=TensorProto.FLOAT),
                helper.make_node("Gather", [tables[1], node.input[1]], names[2:], axis=0),
                helper.make_node("Mul", names[1:], [name]),
            ]
        self._finish(nodes)

    def _coded_lookup(self, node: Any, words: WordCodes) -> list[Any]:
        """Ids (B, S) → codes (B, S, G) → their places in all codebooks → (B, S, G, E/G) → (B, S, E)."""
        from onnx import TensorProto, helper

        name, (_, groups), size = node.output[0], words.codes.shape, words.codebook.shape[2]
        begins = np.arange(groups, dtype=np.int64) * ENTRIES
        books = words.codebook.numpy().reshape(groups * ENTRIES, size)
        back = np.array([0, 0, groups * size], np.int64)  # 0: as it is
        made = [f"{name}.{part}" for part in ("own", "whole", "places", "parts", "float", "scaled")]
        return [
            helper.make_node(
                "Gather", [self._add(f"{name}.codes", words.codes.numpy()), node.input[1]], made[:1]
            ),
            helper.make_node("Cast", made[:1], made[1:2], to=TensorProto.INT64),
            helper.make_node("Add", [made[1], self._add(f"{name}.begins", begins)], made[2:3]),
            helper.make_node("Gather", [self._add(f"{name}.codebook", books), made[2]], made[3:4]),
            helper.make_node("Cast", made[3:4], made[4:5], to=TensorProto.FLOAT),
            helper.make_node("Mul", [made[4], self._add(f"{name}.scale", np.float32(words.scale))], made[5:]),
            helper.make_node("Reshape", [made[5], self._add("words.shape", back)], [name]),
        ]

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
        made = self._uint8(name, extremes)
        return [helper.make_node("QuantizeLinear", [name, *made[1:]], [made[0]])]

    def _uint8(self, name: str, extremes: TensorRange) -> tuple[str, str, str]:
        """Name, scale and zero point of a tensor's uint8 form; from now on something makes it."""
        lowest, highest, _ = extremes
        step = np.float32((highest - lowest) / 255 or 1.0)
        zero = np.uint8(np.clip(round(-lowest / step), 0, 255))
        made = f"{name}.uint8", self._add(f"{name}.step", step), self._add(f"{name}.zero", zero)
        self.quantised[name] = made
        return made

    def _quantise_rows(self, name: str) -> list[Any]:
        """The nodes that make NAME.rows (uint8), NAME.low and NAME.span, unless they are there."""
        from onnx import helper

        if name in self.by_rows:
            return []
        self.by_rows.add(name)
        last, least = self._add("rows.axis", np.array([-1])), self._add("rows.least", np.float32(1e-12))
        made = {
            part: f"{name}.{part}" for part in ("low", "high", "width", "span", "inverse", "above", "unit")
        }
        step, zero = self._add("rows.step", np.float32(1 / 255)), self._add("rows.zero", np.uint8(0))
        return [
            helper.make_node("ReduceMin", [name, last], [made["low"]], keepdims=1),
            helper.make_node("ReduceMax", [name, last], [made["high"]], keepdims=1),
            helper.make_node("Sub", [made["high"], made["low"]], [made["width"]]),
            helper.make_node("Max", [made["width"], least], [made["span"]]),  # a row may be constant
            helper.make_node("Reciprocal", [made["span"]], [made["inverse"]]),
            helper.make_node("Sub", [name, made["low"]], [made["above"]]),
            helper.make_node("Mul", [made["above"], made["inverse"]], [made["unit"]]),
            helper.make_node("QuantizeLinear", [made["unit"], step, zero], [f"{name}.rows"]),
        ]

    def _add(self, name: str, values: Any) -> str:
        from onnx import numpy_helper

        if name in self.constants:
            return name

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


def quantise_columns(
    matrix: NDArray[np.float32], bits: int, least: float | NDArray[np.float32] = _LEAST
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """(in, out) → int8 (in, out) and one symmetric step per column, (out,); 7 bits use −64 to 64.

    `least`, for all columns or (out,), is taken for the largest weight of a column where that is smaller.
    """
    steps = np.maximum(np.abs(matrix).max(axis=0), least) / largest_weight(bits)
    return np.round(matrix / steps).astype(np.int8), steps.astype(np.float32)
