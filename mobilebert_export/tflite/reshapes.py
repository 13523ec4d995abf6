"""How many axes the tensors of a .tflite file have: each with its batch axis, or linear layers without it.

The converter writes linear layers as products of matrices and attention's products without their batch axis.
Where an operator reads three axes and returns two, XNNPACK copies the tensor for it; the reshapes between are
copies too. With the batch axis throughout neither is needed, and every number stays the same, bit for bit.
A product of two computed matrices comes as a linear layer, which XNNPACK leaves to a slower kernel of TFLite;
with its batch axis it is one of XNNPACK's products, whose float sums differ from that kernel's in the last
bit.
Linear layers of 16-bit integers are none of XNNPACK's, and TFLite 2.14 reads them right with two axes alone.
"""

from typing import Any

import numpy as np

from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_quantize.tflite.parts import constant, made, opcode

# Operators that compute value by value, smaller operands repeated along leading axes.
_BY_VALUE = ("ADD", "SUB", "MUL", "RELU", "GELU", "TANH", "LOGISTIC")
_LINEAR, _PRODUCT, _RESHAPE = "FULLY_CONNECTED", "BATCH_MATMUL", "RESHAPE"


def keep_batch_axis(file: Any) -> None:
    """Give results of linear layers and of attention's products the batch axis that the converter dropped.

    Args:
        file: a parsed float .tflite file (`flatbuffer_utils`), changed in place. A tensor is left as it is
            where an operator reads it that counts axes, or where it is an output of its graph.
    """
    for signature in sorted(file.signatureDefs, key=lambda signature: signature.subgraphIndex):
        graph, subgraph = TfliteGraph(file, signature), file.subgraphs[signature.subgraphIndex]
        for op in graph.operators:
            if (matrix := _computed_matrix(graph, op)) is not None:
                _make_product(file, op, matrix)
        graph = TfliteGraph(file, signature)
        expanded: set[int] = set()
        for op in graph.operators:
            if _lost_batch_axis(graph, op):
                expanded |= _expanded_together(graph, int(op.outputs[0]))
        for tensor in expanded:
            _expand(file, subgraph, graph, tensor)
        subgraph.operators = _without_needless_reshapes(graph)
        places = _remove_unused_tensors(subgraph)
        for entry in (*signature.inputs, *signature.outputs):
            entry.tensorIndex = places[int(entry.tensorIndex)]


def flatten_linear_layers(file: Any) -> None:
    """Let every linear layer write two axes, which a reshape turns into those that it wrote before.

    Args:
        file: a parsed float .tflite file (`flatbuffer_utils`), changed in place.
    """
    from ai_edge_litert import schema_py_generated as schema

    for signature in file.signatureDefs:
        graph, subgraph = TfliteGraph(file, signature), file.subgraphs[signature.subgraphIndex]
        operators = []
        for op in graph.operators:
            operators.append(op)
            result = int(op.outputs[0])
            shape = graph.shape(result)
            if graph.kind(op) != _LINEAR or len(shape) == 2:
                continue
            before = subgraph.tensors[result]
            flat = [int(np.prod(shape[:-1])), shape[-1]]
            subgraph.tensors.append(
                made(
                    schema.TensorT,
                    name=before.name + b";rows",
                    type=before.type,
                    shape=np.array(flat, np.int32),
                    buffer=before.buffer,
                )
            )
            op.outputs, op.builtinOptions.keepNumDims = [len(subgraph.tensors) - 1], False
            back = made(
                schema.OperatorT,
                opcodeIndex=opcode(file, schema.BuiltinOperator.RESHAPE, 1),
                outputs=[result],
                builtinOptionsType=schema.BuiltinOptions.ReshapeOptions,
                builtinOptions=made(schema.ReshapeOptionsT, newShape=np.array(shape, np.int32)),
            )
            back.inputs = [int(op.outputs[0]), _own_shape_tensor(file, subgraph, back, shape)]
            operators.append(back)
        subgraph.operators = operators


def _computed_matrix(graph: TfliteGraph, op: Any) -> int | None:
    """Of x·yᵀ written as a linear layer, x (1, S, W): y (1, T, W), whose batch axis a reshape dropped."""
    if graph.kind(op) != _LINEAR or any(int(bias) >= 0 for bias in op.inputs[2:]):
        return None
    reshape = graph.producer(int(op.inputs[1]))
    if reshape is None or graph.kind(reshape) != _RESHAPE or op.builtinOptions.fusedActivationFunction:
        return None
    source, left = int(reshape.inputs[0]), graph.shape(op.inputs[0])
    (count, width), result = graph.shape(op.inputs[1]), graph.shape(op.outputs[0])
    fits = graph.shape(source) == [1, count, width] and result == [1, *left[1:-1], count]
    return source if fits and len(left) == 3 else None


def _make_product(file: Any, op: Any, matrix: int) -> None:
    """Turn a linear layer into the product of its input (1, S, W) and a matrix (1, T, W): (1, S, T)."""
    from ai_edge_litert import schema_py_generated as schema

    op.opcodeIndex = opcode(file, schema.BuiltinOperator.BATCH_MATMUL, 1)
    op.inputs = [int(op.inputs[0]), matrix]
    op.builtinOptionsType = schema.BuiltinOptions.BatchMatMulOptions
    op.builtinOptions = made(schema.BatchMatMulOptionsT, adjX=False, adjY=True)


def _lost_batch_axis(graph: TfliteGraph, op: Any) -> bool:
    """Whether an operator's result has one axis less than what it was computed from, a leading 1."""
    result = graph.shape(op.outputs[0])
    if graph.kind(op) == _LINEAR:
        return len(result) == 2 and graph.shape(op.inputs[0])[:-1] == [1, *result[:-1]]
    return graph.kind(op) == _PRODUCT and len(result) == 3 and _with_batch_axis(graph, op) is not None


def _with_batch_axis(graph: TfliteGraph, op: Any) -> list[int] | None:
    """What the operands of a product were reshaped from, where that only dropped a leading 1."""
    found = []
    for tensor in op.inputs:
        reshape = graph.producer(int(tensor))
        if reshape is None or graph.kind(reshape) != _RESHAPE:
            return None
        source = int(reshape.inputs[0])
        if graph.shape(source) != [1, *graph.shape(tensor)]:
            return None
        found.append(source)
    return found


def _expanded_together(graph: TfliteGraph, start: int) -> set[int]:
    """The tensors that get a leading 1 together with one; none where an operator does not allow it."""
    found: set[int] = set()
    unread = [start]
    while unread:
        tensor = unread.pop()
        if tensor in found:
            continue
        following = None if tensor in graph.outputs else _neighbours(graph, tensor)
        if following is None:
            return set()
        found.add(tensor)
        unread += following
    return found


def _neighbours(graph: TfliteGraph, tensor: int) -> list[int] | None:
    """Tensors that need the axis because this one has it; None where it can't have it."""
    writer, shape = graph.producer(tensor), graph.shape(tensor)
    if writer is None:
        return None
    found = []
    kind = graph.kind(writer)
    if kind in _BY_VALUE:
        same = [int(read) for read in writer.inputs if graph.shape(read) == shape]
        found += [read for read in same if graph.producer(read) is not None]
    elif kind == _LINEAR:
        found += [int(writer.inputs[0])] if len(graph.shape(writer.inputs[0])) == len(shape) else []
    elif kind != _RESHAPE and not (kind == _PRODUCT and _lost_batch_axis(graph, writer)):
        return None
    for reader in graph.readers(tensor):
        kind, result = graph.kind(reader), int(reader.outputs[0])
        if kind in _BY_VALUE or (kind == _LINEAR and int(reader.inputs[0]) == tensor):
            found += [result] if len(graph.shape(result)) == len(shape) else []
        elif kind != _RESHAPE:
            return None
    return found


def _expand(file: Any, subgraph: Any, graph: TfliteGraph, tensor: int) -> None:
    """Give a tensor a leading 1, and let its writer write it so."""
    writer: Any = graph.producer(tensor)
    kind, shape = graph.kind(writer), [1, *graph.shape(tensor)]
    if kind == _PRODUCT:
        writer.inputs = _with_batch_axis(graph, writer)
    elif kind == _LINEAR:
        writer.builtinOptions.keepNumDims = True
    elif kind == _RESHAPE:
        if writer.builtinOptions is not None:
            writer.builtinOptions.newShape = np.array(shape, np.int32)
        writer.inputs = [int(writer.inputs[0]), _own_shape_tensor(file, subgraph, writer, shape)]
    described = subgraph.tensors[tensor]
    described.shape, described.shapeSignature = np.array(shape, np.int32), None


def _own_shape_tensor(file: Any, subgraph: Any, reshape: Any, shape: list[int]) -> int:
    """A shape tensor for one reshape: several may share the one they have."""
    from ai_edge_litert import schema_py_generated as schema

    subgraph.tensors.append(
        made(
            schema.TensorT,
            name=subgraph.tensors[reshape.outputs[0]].name + b";shape",
            type=schema.TensorType.INT32,
            shape=np.array([len(shape)], np.int32),
            buffer=constant(file, np.array(shape, np.int32)),
        )
    )
    return len(subgraph.tensors) - 1


def _without_needless_reshapes(graph: TfliteGraph) -> list[Any]:
    """The operators but for reshapes that change nothing or that nothing reads."""
    same: dict[int, int] = {}  # the result of a reshape that changes nothing → what it reads
    changing = []
    for op in graph.operators:
        op.inputs = [same.get(int(tensor), int(tensor)) for tensor in op.inputs]
        source, result = op.inputs[0], int(op.outputs[0])
        if (
            graph.kind(op) == _RESHAPE
            and graph.shape(source) == graph.shape(result)
            and graph.producer(source) is not None
            and result not in graph.outputs
        ):
            same[result] = source
        else:
            changing.append(op)
    read, needed = set(graph.outputs), []
    for op in reversed(changing):
        if graph.kind(op) != _RESHAPE or int(op.outputs[0]) in read:
            needed.append(op)
            read.update(op.inputs)
    return needed[::-1]


def _remove_unused_tensors(subgraph: Any) -> dict[int, int]:
    """Drop tensors that no operator reads or writes; new places by the old ones."""
    used = {int(tensor) for op in subgraph.operators for tensor in (*op.inputs, *op.outputs)}
    used = (used | {int(tensor) for tensor in (*subgraph.inputs, *subgraph.outputs)}) - {-1}
    places = {old: new for new, old in enumerate(sorted(used))}
    subgraph.tensors = [subgraph.tensors[old] for old in sorted(used)]

    def moved(tensors: Any) -> list[int]:
        return [places.get(int(tensor), -1) for tensor in tensors]

    for op in subgraph.operators:
        op.inputs, op.outputs = moved(op.inputs), moved(op.outputs)
    subgraph.inputs, subgraph.outputs = moved(subgraph.inputs), moved(subgraph.outputs)
    return places
