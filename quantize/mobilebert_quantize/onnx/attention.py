"""Attention of an .onnx graph as ONNX Runtime's own operator, one node in the place of eleven.

`MultiHeadAttention` parts heads, multiplies, masks, takes the softmax and joins heads in one kernel, in float
as before (decision 011). It takes a mask of tokens as ONNX Runtime 1.17 knows it, 1 or 0 a token. Attention
with another mask, of relative positions or of texts that do not see each other, stays as it is. So does that
of a last layer in which one token asks: ONNX Runtime 1.17 answers wrongly where queries are fewer than keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

RUNTIME = "com.microsoft"  # domain of ONNX Runtime's own operators
_SPLIT = [0, 2, 1, 3]  # (B, S, A, D) → (B, A, S, D), and back
_KEYS = [0, 2, 3, 1]  # (B, S, A, D) → (B, A, D, S)
_HIDDEN = -1.0  # a token with less in the additive mask is hidden; others have 0


@dataclass(frozen=True)
class _Attention:
    query: str  # (B, Q, A·D); key and value (B, S, A·D)
    key: str
    value: str
    mask: str  # (B, 1, 1, S)
    heads: int
    scale: float
    nodes: tuple[Any, ...]  # the last makes the context (B, Q, A·D)


def fuse_attention(graph: Any, shapes: Mapping[str, Any]) -> int:
    """Replace attention in a graph whose masks are 0 at tokens and very negative at padding.

    Args:
        graph: onnx.GraphProto, changed in place; the model has to import `RUNTIME`.
        shapes: onnx.ValueInfoProto by tensor name, as shape inference finds them in the float graph.

    Returns:
        How many there were.
    """
    from onnx import TensorProto, ValueInfoProto, helper, numpy_helper

    found = {made.nodes[-1].output[0]: made for made in _Finder(graph, shapes).all()}
    replaced = {node.output[0] for made in found.values() for node in made.nodes}
    masks = {made.mask for made in found.values()}
    for name, values in (("mask.axes", np.array([1, 2])), ("mask.hidden", np.array(_HIDDEN, np.float32))):
        graph.initializer.append(numpy_helper.from_array(values, name))
    nodes = []
    for node in graph.node:
        made = found.get(node.output[0])
        if made:
            inputs = [made.query, made.key, made.value, "", f"{made.mask}.tokens"]
            nodes.append(
                helper.make_node(
                    "MultiHeadAttention",
                    inputs,
                    [node.output[0]],
                    name=node.output[0],
                    domain=RUNTIME,
                    num_heads=made.heads,
                    scale=made.scale,
                )
            )
        elif node.output[0] not in replaced:
            nodes.append(node)
        for mask in masks.intersection(node.output):
            flat, seen = f"{mask}.flat", f"{mask}.seen"
            nodes += [
                helper.make_node("Squeeze", [mask, "mask.axes"], [flat]),
                helper.make_node("Greater", [flat, "mask.hidden"], [seen]),
                helper.make_node("Cast", [seen], [f"{mask}.tokens"], to=TensorProto.INT32),
            ]
    read = {name for node in nodes for name in node.input}
    constants = [tensor for tensor in graph.initializer if tensor.name in read]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(constants)
    left = [value for value in graph.value_info if value.name not in replaced]
    for name, made in found.items():  # of the runtime's own operator none can be inferred
        if made.query in shapes:
            context = ValueInfoProto()
            context.CopyFrom(shapes[made.query])
            context.name = name
            left.append(context)
    del graph.value_info[:]
    graph.value_info.extend(left)
    return len(found)


class _Finder:
    """Attention as `mobilebert_models.networks.layers.SelfAttention` is written by torch.onnx."""

    def __init__(self, graph: Any, shapes: Mapping[str, Any]) -> None:
        from onnx import numpy_helper

        self.graph, self.shapes = graph, shapes
        self.made = {name: node for node in graph.node for name in node.output}
        self.constants = {tensor.name: tensor for tensor in graph.initializer}
        self.values = numpy_helper.to_array
        self.read: dict[str, list[Any]] = {}
        for node in graph.node:
            for name in node.input:
                self.read.setdefault(name, []).append(node)

    def all(self) -> list[_Attention]:
        found = (self._around(node) for node in self.graph.node if node.op_type == "Softmax")
        return [made for made in found if made]

    def _around(self, softmax: Any) -> _Attention | None:
        """The attention of a softmax; None where the graph around it is another."""
        add, after = self._maker(softmax.input[0], "Add"), self._only_reader(softmax, "MatMul")
        if not add or not after or after.input[0] != softmax.output[0]:
            return None
        scores, mask = add.input if self._hides_tokens(add.input[1]) else reversed(add.input)
        scaled = self._maker(scores, "Mul")
        product = self._maker(scaled.input[0] if scaled else scores, "MatMul")
        transposed = self._only_reader(after, "Transpose")
        joined = transposed and self._only_reader(transposed, "Reshape")
        if not product or not joined or not self._hides_tokens(mask) or _order(transposed) != _SPLIT:
            return None
        scale = self._number(scaled.input[1]) if scaled else 1.0
        parts = [
            self._heads(product.input[0], _SPLIT),
            self._heads(product.input[1], _KEYS),
            self._heads(after.input[1], _SPLIT),
        ]
        if scale is None or None in parts or len({part[2] for part in parts if part}) != 1:
            return None
        (query, key, value) = (part for part in parts if part)
        inside = (*query[1], *key[1], *value[1], product, *([scaled] if scaled else []), add, softmax, after)
        nodes = (*inside, transposed, joined)
        if any(len(self.read.get(node.output[0], ())) != 1 for node in nodes[:-1]):
            return None
        if self._tokens(query[0]) is None or self._tokens(query[0]) != self._tokens(key[0]):
            return None
        return _Attention(query[0], key[0], value[0], mask, query[2], scale, nodes)

    def _heads(self, name: str, order: list[int]) -> tuple[str, tuple[Any, Any], int] | None:
        """Of a tensor that is parted into heads: what it is made of, by which nodes, and the heads A."""
        transpose = self._maker(name, "Transpose")
        reshape = transpose and self._maker(transpose.input[0], "Reshape")
        if not reshape or _order(transpose) != order or (heads := self._axis(reshape.input[1], 2)) is None:
            return None
        return reshape.input[0], (reshape, transpose), heads

    def _axis(self, shape: str, axis: int) -> int | None:
        """A number of the four of a shape, a constant or numbers put together; None where it is not fixed."""
        if shape in self.constants:
            numbers = self.values(self.constants[shape])
            return int(numbers[axis]) if len(numbers) == 4 else None
        parts = self._maker(shape, "Concat")
        if not parts or len(parts.input) != 4 or parts.input[axis] not in self.constants:
            return None
        return int(self.values(self.constants[parts.input[axis]])[0])

    def _number(self, name: str) -> float | None:
        """A constant of one number."""
        if name not in self.constants or self.values(self.constants[name]).size != 1:
            return None
        return float(self.values(self.constants[name]).reshape(()))

    def _tokens(self, name: str) -> tuple[int, str] | None:
        """Length of the second axis of (B, S, H), as a number or by its name; None where it is not known."""
        if name not in self.shapes or len(self.shapes[name].type.tensor_type.shape.dim) != 3:
            return None
        axis = self.shapes[name].type.tensor_type.shape.dim[1]
        return (axis.dim_value, axis.dim_param) if axis.dim_value or axis.dim_param else None

    def _hides_tokens(self, name: str) -> bool:
        """Whether a tensor is (B, 1, 1, S)."""
        if name not in self.shapes:
            return False
        axes = [axis.dim_value for axis in self.shapes[name].type.tensor_type.shape.dim]
        return len(axes) == 4 and axes[1:3] == [1, 1] and axes[3] != 1

    def _maker(self, name: str, kind: str) -> Any:
        """The node that makes a tensor, if it is of a kind."""
        node = self.made.get(name)
        return node if node is not None and node.op_type == kind else None

    def _only_reader(self, node: Any, kind: str) -> Any:
        """The only node that reads a node's result, if it is of a kind."""
        readers = self.read.get(node.output[0], [])
        return readers[0] if len(readers) == 1 and readers[0].op_type == kind else None


def _order(transpose: Any) -> list[int]:
    return next(list(attribute.ints) for attribute in transpose.attribute if attribute.name == "perm")
