"""A .tflite file as a graph: which operator writes a tensor, and what precedes and follows it."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Operators that move values without changing them: a tensor's range is its source's range.
_MOVES = ("TRANSPOSE", "RESHAPE")


def operator_kinds() -> dict[int, str]:
    """Builtin operator code → its name."""
    from ai_edge_litert.tools import flatbuffer_utils as fb

    return {number: name for name, number in vars(fb.BuiltinOperator).items() if isinstance(number, int)}


class TfliteGraph:
    """Walks over the graph of one signature."""

    def __init__(self, model: Any, signature: Any) -> None:
        self._model = model
        self._kinds = operator_kinds()
        graph = model.subgraphs[signature.subgraphIndex]
        self._tensors = graph.tensors
        self.operators = list(graph.operators)
        self._producer = {int(t): op for op in self.operators for t in op.outputs}
        self._readers: defaultdict[int, list[Any]] = defaultdict(list)
        for op in self.operators:
            for tensor in op.inputs:
                self._readers[int(tensor)].append(op)
        self.signature: str = signature.signatureKey.decode()
        self.inputs = [int(tensor) for tensor in graph.inputs]
        self.outputs = [int(tensor) for tensor in graph.outputs]

    @classmethod
    def all_of(cls, model: Any) -> list["TfliteGraph"]:
        """The graphs of a parsed file (`flatbuffer_utils`), the first subgraph's first."""
        signatures = sorted(model.signatureDefs, key=lambda signature: signature.subgraphIndex)
        return [cls(model, signature) for signature in signatures]

    @classmethod
    def read(cls, path: Path) -> "TfliteGraph":
        """The first graph of a .tflite file: of an artefact, the one of its largest bucket."""
        from ai_edge_litert.tools import flatbuffer_utils as fb

        return cls.all_of(fb.read_model(str(path)))[0]

    def kind(self, op: Any) -> str:
        """Builtin operator name, e.g. FULLY_CONNECTED."""
        code = self._model.operatorCodes[op.opcodeIndex]
        # Codes above 126 are in builtinCode only, older ones in both fields.
        return self._kinds[max(code.builtinCode, code.deprecatedBuiltinCode)]

    def version(self, op: Any) -> int:
        """Operator version: with the kind it decides which runtimes can load the file."""
        return int(self._model.operatorCodes[op.opcodeIndex].version)

    def name(self, tensor: int) -> str:
        """Tensor name."""
        return self._tensors[tensor].name.decode()

    def shape(self, tensor: int) -> list[int]:
        """Tensor shape."""
        return [int(size) for size in self._tensors[tensor].shape]

    def constant(self, model: Any, tensor: int) -> NDArray[np.float32] | None:
        """The values of a float constant of a parsed file, flat; None for what is computed."""
        data = model.buffers[self._tensors[tensor].buffer].data
        return None if data is None or not len(data) else np.frombuffer(bytes(data), np.float32)

    def rename(self, tensor: int, name: str) -> None:
        """Give a tensor of the parsed file another name."""
        self._tensors[tensor].name = name.encode()

    def producer(self, tensor: int) -> Any | None:
        """The operator that writes a tensor; None for inputs and constants."""
        return self._producer.get(tensor)

    def origin(self, op: Any | None) -> Any | None:
        """The operator that computed the values which `op` passes on; `op` itself if it computes."""
        while op is not None and self.kind(op) in _MOVES:
            op = self.producer(int(op.inputs[0]))
        return op

    def readers(self, tensor: int) -> list[Any]:
        """The operators that read a tensor."""
        return self._readers[tensor]

    def users(self, tensor: int) -> Iterator[Any]:
        """The operators that compute with a tensor's values, wherever these are moved to."""
        for op in self.readers(tensor):
            if self.kind(op) in _MOVES:
                yield from self.users(int(op.outputs[0]))
            else:
                yield op

    def upstream(self, op: Any) -> list[Any]:
        """The operators that what `op` computes depends on, without itself."""
        found: dict[int, Any] = {}
        unread = [op]
        while unread:
            for tensor in unread.pop().inputs:
                before = self.producer(int(tensor))
                if before is not None and id(before) not in found:
                    found[id(before)] = before
                    unread.append(before)
        return list(found.values())
