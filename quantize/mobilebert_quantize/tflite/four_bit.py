"""Four-bit weights in a .tflite file: two to a byte, multiplied with int8 activations.

The runtime has products for them where ranges are found at run time; with static ranges they stay in int8.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilebert_models.weights.four_bit import LARGEST, SMALLEST_ROW
from mobilebert_quantize.tflite.parts import code_of

INT8_END = 127


def store_four_bits(model: Any) -> None:
    """Write matrices of linear layers that lie on a grid of four bits in four bits, in place.

    Their numbers stay what they are: the grid's 15 points are 15 of int8's 255.

    Args:
        model: a parsed file (`flatbuffer_utils`) whose linear layers have int8 matrices.
    """
    from ai_edge_litert import schema_py_generated as schema

    halves: dict[int, int | None] = {}  # a matrix's buffer → the one of its halves
    for graph in model.subgraphs:
        for op in graph.operators:
            if code_of(model, op) != schema.BuiltinOperator.FULLY_CONNECTED:
                continue
            matrix = graph.tensors[op.inputs[1]]
            if matrix.type != schema.TensorType.INT8:
                continue
            if matrix.buffer not in halves:
                values = np.frombuffer(bytes(model.buffers[matrix.buffer].data), np.int8)
                codes = four_bit_codes(values.reshape(matrix.shape))
                halves[matrix.buffer] = None
                if codes is not None:
                    stored = copy.copy(model.buffers[matrix.buffer])
                    stored.data = _packed(codes)
                    model.buffers.append(stored)
                    halves[matrix.buffer] = len(model.buffers) - 1
            place = halves[matrix.buffer]
            if place is not None:
                matrix.type, matrix.buffer = schema.TensorType.INT4, place
                matrix.quantization = copy.copy(matrix.quantization)
                scales = np.asarray(matrix.quantization.scale, np.float64)
                matrix.quantization.scale = (scales * INT8_END / LARGEST).astype(np.float32)


def four_bit_codes(values: NDArray[np.int8]) -> NDArray[np.int8] | None:
    """Codes from −7 to 7 of an int8 matrix (out, in) whose rows end at ±127; None where it has others."""
    if values.ndim != 2 or values.shape[1] < SMALLEST_ROW or values.shape[1] % 2:
        return None
    codes = np.round(values.astype(np.float64) * LARGEST / INT8_END)
    same = np.array_equal(np.round(codes * INT8_END / LARGEST), values)
    return codes.astype(np.int8) if same else None


def _packed(codes: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Two codes a byte, the first in the low half."""
    halves = codes.astype(np.uint8).reshape(-1) & 15
    return np.bitwise_or(halves[0::2], np.left_shift(halves[1::2], 4), dtype=np.uint8)
