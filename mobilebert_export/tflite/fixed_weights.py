"""Weights that layers share stay one constant in a .tflite file, and weights in four bits stay on their grid.

The converter folds a norm's γ and β into some linear maps that read it, although the residual needs the
norm's own output all the same. Layers of an ALBERT that share a map but read different norms, or none, then
get a copy each, and columns of four-bit weights get steps of their own. This undoes the fold for those maps;
the numbers agree to rounding and the operators are the same. Other maps keep it: what the norm has before γ
has narrower ranges.
"""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from mobilebert_models.weights.four_bit import find_four_bits

Weights = NDArray[np.float32]


def fixed_weights(model: nn.Module) -> list[Weights]:
    """Weights (O, I) of the linear maps that several layers hold, or that lie on a grid of four bits."""
    held = Counter(
        module for _, module in model.named_modules(remove_duplicate=False) if isinstance(module, nn.Linear)
    )
    return [
        module.weight.detach().numpy()
        for module, count in held.items()
        if count > 1 or find_four_bits(module.weight) is not None
    ]


def unfold(file: Any, fixed: list[Weights]) -> None:
    """Let every folded copy of some maps read the norm's output with their own weights again.

    Args:
        file: a parsed .tflite file (`flatbuffer_utils`), changed in place.
        fixed: of `fixed_weights`.
    """
    if not fixed:
        return
    from ai_edge_litert.tools import flatbuffer_utils as fb

    codes = [max(code.builtinCode, code.deprecatedBuiltinCode) for code in file.operatorCodes]
    builtin = fb.BuiltinOperator
    for graph in file.subgraphs:
        values = _Constants(file, graph)
        affine: dict[int, tuple[int, Weights, Weights]] = {}  # n → output, γ, β of γ ∘ n + β
        scaled: dict[int, tuple[int, Weights]] = {}  # γ ∘ n → n, γ
        plain: dict[int, Weights] = {}  # constant → its value before the fold; several operators may read it
        for op in graph.operators:  # in the order they run: the norm comes before the maps that read it
            kind = codes[op.opcodeIndex]
            if kind == builtin.MUL and (gamma := values.vector(op.inputs[1])) is not None:
                scaled[int(op.outputs[0])] = (int(op.inputs[0]), gamma)
                affine[int(op.inputs[0])] = (int(op.outputs[0]), gamma, np.zeros_like(gamma))  # β may be 0
            elif kind == builtin.ADD and int(op.inputs[0]) in scaled:
                source, gamma = scaled[int(op.inputs[0])]
                if (beta := values.vector(op.inputs[1])) is not None:
                    affine[source] = (int(op.outputs[0]), gamma, beta)
            elif kind == builtin.FULLY_CONNECTED and int(op.inputs[0]) in affine:
                output, gamma, beta = affine[int(op.inputs[0])]
                folded = values.read(op.inputs[1])
                bias = values.vector(op.inputs[2]) if len(op.inputs) > 2 and op.inputs[2] >= 0 else None
                for weight in fixed:
                    if weight.shape == folded.shape and np.array_equal(weight * gamma, folded):
                        plain[int(op.inputs[1])] = weight
                        if bias is not None:
                            shifted = bias - weight.astype(np.float64) @ beta
                            plain[int(op.inputs[2])] = shifted.astype(np.float32)
                        op.inputs[0] = output
                        break
        for tensor, value in plain.items():
            values.write(tensor, value)


class _Constants:
    """Float constants of one graph, read and replaced."""

    def __init__(self, file: Any, graph: Any) -> None:
        self._file, self._tensors = file, graph.tensors

    def read(self, tensor: int) -> Weights:
        data = self._file.buffers[self._tensors[tensor].buffer].data
        return np.frombuffer(bytes(data), np.float32).reshape(self._tensors[tensor].shape)

    def vector(self, tensor: int) -> Weights | None:
        """A constant (C,); None for anything else."""
        data = self._file.buffers[self._tensors[tensor].buffer].data
        is_vector = data is not None and len(data) and len(self._tensors[tensor].shape) == 1
        return self.read(tensor) if is_vector else None

    def write(self, tensor: int, value: Weights) -> None:
        """Give the tensor a buffer of its own; equal ones become one when the file is written."""
        buffer = type(self._file.buffers[0])()
        buffer.data = np.frombuffer(value.astype(np.float32).tobytes(), np.uint8)
        self._file.buffers.append(buffer)
        self._tensors[tensor].buffer = len(self._file.buffers) - 1
