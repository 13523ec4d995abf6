"""Reshapes that only add or drop a leading 1 leave a .tflite file: every tensor keeps its batch axis.

The converter writes linear layers as products of matrices and attention's products without their batch axis.
Where an operator reads three axes and returns two, XNNPACK copies the tensor for it; the reshapes between are
copies too. With the batch axis throughout neither is needed, and every number stays the same, bit for bit.
"""

from collections import defaultdict
from typing import Any

import numpy as np

from quantize.tflite_graph import operator_kinds

# Operators that compute value by value, smaller operands repeated along leading axes.
_BY_VALUE = ("ADD", "SUB", "MUL", "RELU", "GELU", "TANH", "LOGISTIC")
_LINEAR, _PRODUCT, _RESHAPE = "FULLY_CONNECTED", "BATCH_MATMUL", "RESHAPE"


def keep_batch_axis(file: Any) -> None:
    """Give results of linear layers and of attention's products the batch axis that the converter dropped.

    Args:
        file: a parsed float .tflite file (`flatbuffer_utils`), changed in place. A tensor is left as it is
            where an operator reads it that counts axes, or where it is an output of its graph.
    """
    for number, subgraph in enumerate(file.subgraphs):
        graph = _Graph(file, subgraph)
        lifted: set[int] = set()
        for op in subgraph.operators:
            if graph.lost_its_batch_axis(op):
                lifted |= graph.must_follow(int(op.outputs[0]))
        for tensor in lifted:
            graph.lift(tensor)
        graph.remove_needless_reshapes()
        places = graph.remove_unused_tensors()
        for signature in file.signatureDefs:
            if signature.subgraphIndex == number:
                for entry in (*signature.inputs, *signature.outputs):
                    entry.tensorIndex = places[int(entry.tensorIndex)]


class _Graph:
    """One graph of a file: who writes and reads a tensor, and what becomes of it with one axis more."""

    def __init__(self, file: Any, graph: Any) -> None:
        self._file, self._graph = file, graph
        self._kinds = operator_kinds()
        self._outputs = {int(tensor) for tensor in graph.outputs}
        self._connect()

    def _connect(self) -> None:
        self._producer = {int(tensor): op for op in self._graph.operators for tensor in op.outputs}
        self._readers: defaultdict[int, list[Any]] = defaultdict(list)
        for op in self._graph.operators:
            for tensor in op.inputs:
                self._readers[int(tensor)].append(op)

    def _kind(self, op: Any) -> str:
        code = self._file.operatorCodes[op.opcodeIndex]
        return self._kinds[max(code.builtinCode, code.deprecatedBuiltinCode)]

    def _shape(self, tensor: int) -> list[int]:
        return [int(size) for size in self._graph.tensors[tensor].shape]

    def lost_its_batch_axis(self, op: Any) -> bool:
        """Whether an operator's result has one axis less than what it was computed from, a leading 1."""
        result = self._shape(int(op.outputs[0]))
        if self._kind(op) == _LINEAR:
            read = self._shape(int(op.inputs[0]))
            return len(result) == 2 and read[:-1] == [1, *result[:-1]]
        return self._kind(op) == _PRODUCT and len(result) == 3 and self._with_batch_axis(op) is not None

    def _with_batch_axis(self, op: Any) -> list[int] | None:
        """What the operands of a product were reshaped from, where that only dropped a leading 1."""
        found = []
        for tensor in (int(tensor) for tensor in op.inputs):
            reshape = self._producer.get(tensor)
            if reshape is None or self._kind(reshape) != _RESHAPE:
                return None
            source = int(reshape.inputs[0])
            if self._shape(source) != [1, *self._shape(tensor)]:
                return None
            found.append(source)
        return found

    def must_follow(self, start: int) -> set[int]:
        """The tensors that get a leading 1 together with one; none where an operator does not allow it."""
        found: set[int] = set()
        unread = [start]
        while unread:
            tensor = unread.pop()
            if tensor in found:
                continue
            following = None if tensor in self._outputs else self._neighbours(tensor)
            if following is None:
                return set()
            found.add(tensor)
            unread += following
        return found

    def _neighbours(self, tensor: int) -> list[int] | None:
        """Tensors that need the axis because this one has it; None where it can't have it."""
        if (writer := self._producer.get(tensor)) is None:
            return None
        found = []
        kind, axes = self._kind(writer), len(self._shape(tensor))
        if kind in _BY_VALUE:
            same = [int(read) for read in writer.inputs if self._shape(int(read)) == self._shape(tensor)]
            found += [read for read in same if read in self._producer]
        elif kind == _LINEAR:
            found += [int(writer.inputs[0])] if len(self._shape(int(writer.inputs[0]))) == axes else []
        elif kind != _RESHAPE and not (kind == _PRODUCT and self.lost_its_batch_axis(writer)):
            return None
        for reader in self._readers[tensor]:
            kind, result = self._kind(reader), int(reader.outputs[0])
            if kind in _BY_VALUE or (kind == _LINEAR and int(reader.inputs[0]) == tensor):
                found += [result] if len(self._shape(result)) == axes else []
            elif kind != _RESHAPE:
                return None
        return found

    def lift(self, tensor: int) -> None:
        """Give a tensor a leading 1, and let its writer write it so."""
        writer = self._producer[tensor]
        kind = self._kind(writer)
        if kind == _PRODUCT:
            writer.inputs = np.array(self._with_batch_axis(writer), np.int32)
        shape = np.array([1, *self._shape(tensor)], np.int32)
        described = self._graph.tensors[tensor]
        described.shape, described.shapeSignature = shape, None
        if kind == _LINEAR:
            writer.builtinOptions.keepNumDims = True
        elif kind == _RESHAPE:
            if writer.builtinOptions is not None:
                writer.builtinOptions.newShape = shape
            writer.inputs = np.array([int(writer.inputs[0]), self._shape_of(writer, shape)], np.int32)

    def _shape_of(self, reshape: Any, shape: Any) -> int:
        """A shape tensor of a reshape's own: several may share one."""
        old, result = (self._graph.tensors[int(t)] for t in (reshape.inputs[1], reshape.outputs[0]))
        new, buffer = type(old)(), type(self._file.buffers[0])()
        buffer.data = np.frombuffer(shape.tobytes(), np.uint8)
        self._file.buffers.append(buffer)
        new.type, new.name, new.isVariable = old.type, result.name + b";shape", False
        new.shape, new.buffer = np.array(shape.shape, np.int32), len(self._file.buffers) - 1
        self._graph.tensors.append(new)
        return len(self._graph.tensors) - 1

    def remove_needless_reshapes(self) -> None:
        """Drop reshapes that nothing reads, or that change nothing."""
        while True:
            self._connect()
            kept = [op for op in self._graph.operators if not self._is_needless(op)]
            if len(kept) == len(self._graph.operators):
                return
            self._graph.operators = kept

    def _is_needless(self, op: Any) -> bool:
        """Whether an operator is a reshape to be dropped; its readers are told to read what it reads."""
        if self._kind(op) != _RESHAPE or int(op.outputs[0]) in self._outputs:
            return False
        source, result = int(op.inputs[0]), int(op.outputs[0])
        if source not in self._producer or self._shape(source) != self._shape(result):
            return not self._readers[result]
        for reader in self._readers[result]:
            reader.inputs = np.array(
                [source if int(t) == result else int(t) for t in reader.inputs], np.int32
            )
        return True

    def remove_unused_tensors(self) -> dict[int, int]:
        """Drop tensors that no operator reads or writes; new places by the old ones."""
        graph = self._graph
        used = {int(tensor) for op in graph.operators for tensor in (*op.inputs, *op.outputs)}
        used = (used | {int(tensor) for tensor in (*graph.inputs, *graph.outputs)}) - {-1}
        places = {old: new for new, old in enumerate(sorted(used))}
        graph.tensors = [graph.tensors[old] for old in sorted(used)]

        def moved(tensors: Any) -> list[int]:
            return [places.get(int(tensor), -1) for tensor in tensors]

        for op in graph.operators:
            op.inputs, op.outputs = moved(op.inputs), moved(op.outputs)
        graph.inputs, graph.outputs = moved(graph.inputs), moved(graph.outputs)
        return places
