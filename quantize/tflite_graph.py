"""Reading a .tflite file as a graph: which operator makes a tensor, and what lies before and after it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

# Operators that move values without changing them: a tensor's range is its source's range.
_MOVES = ("TRANSPOSE", "RESHAPE")


class TfliteGraph:
    """Read-only walks over the one subgraph of a .tflite file."""

    def __init__(self, model: Any, kinds: Mapping[int, str]) -> None:
        self._model = model
        self._kinds = kinds
        self._tensors = model.subgraphs[0].tensors
        self.operators = list(model.subgraphs[0].operators)
        self._producer = {int(t): op for op in self.operators for t in op.outputs}
        self.signature: str = model.signatureDefs[0].signatureKey.decode()
        self.inputs = [int(tensor) for tensor in model.subgraphs[0].inputs]
        self.outputs = [int(tensor) for tensor in model.subgraphs[0].outputs]

    @classmethod
    def read(cls, path: Path) -> "TfliteGraph":
        """Open a .tflite file."""
        from ai_edge_litert.tools import flatbuffer_utils as fb

        kinds = {number: name for name, number in vars(fb.BuiltinOperator).items() if isinstance(number, int)}
        return cls(fb.read_model(str(path)), kinds)

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

    def producer(self, tensor: int) -> Any | None:
        """The operator that writes a tensor; None for inputs and constants."""
        return self._producer.get(tensor)

    def origin(self, op: Any | None) -> Any | None:
        """The operator that computed the values which `op` passes on; `op` itself if it computes."""
        while op is not None and self.kind(op) in _MOVES:
            op = self.producer(int(op.inputs[0]))
        return op

    def same_values(self, tensor: int) -> Iterator[str]:
        """A tensor and those it was moved from, up to the operator that computed the values."""
        while True:
            yield self.name(tensor)
            op = self._producer.get(tensor)
            if op is None or self.kind(op) not in _MOVES:
                return
            tensor = int(op.inputs[0])
