"""Linear layers with ranges found at run time, from an operator that TFLite 2.14 multiplies right.

It has a range for each input of a 1×1 convolution and a scale for each of its output channels; of a linear
layer it knows one scale of the whole matrix. With every token an input of its own the numbers are the same,
and XNNPACK of today takes such a convolution for the linear layer that it is.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from mobilebert_models.weights.four_bit import LARGEST
from mobilebert_quantize.tflite.four_bit import INT8_END, four_bit_codes
from mobilebert_quantize.tflite.parts import code_of, constant, made, operator

# The version of CONV_2D whose int8 matrix has a scale per channel beside a float input.
PER_CHANNEL = 5


def multiply_by_convolutions(model: Any) -> None:
    """Replace the linear layers of a parsed file that have int8 matrices and float inputs, in place.

    Args:
        model: of `flatbuffer_utils`. A matrix on a grid of four bits stays exactly what it is.
    """
    stored: dict[int, tuple[int, Any]] = {}  # a matrix's buffer → the filter's, and its quantisation
    for graph in model.subgraphs:
        operators = []
        for op in graph.operators:
            if not _dynamic(model, graph, op):
                operators.append(op)
                continue
            matrix = graph.tensors[op.inputs[1]]
            if matrix.buffer not in stored:
                stored[matrix.buffer] = _filter(model, matrix)
            operators += _convolution(model, graph, op, *stored[matrix.buffer])
        graph.operators = operators
        used = {int(tensor) for op in operators for tensor in op.inputs}
        for number, tensor in enumerate(graph.tensors):
            tensor.buffer = tensor.buffer if number in used else 0  # the matrices lie elsewhere now


def _dynamic(model: Any, graph: Any, op: Any) -> bool:
    """Is it a linear layer with an int8 matrix and float inputs?"""
    from ai_edge_litert import schema_py_generated as schema

    types = schema.TensorType
    return code_of(model, op) == schema.BuiltinOperator.FULLY_CONNECTED and [
        graph.tensors[tensor].type for tensor in op.inputs[:2]
    ] == [types.FLOAT32, types.INT8]


def _filter(model: Any, matrix: Any) -> tuple[int, Any]:
    """Buffer and quantisation of a matrix (out, in) as a filter (out, 1, 1, in)."""
    from ai_edge_litert import schema_py_generated as schema

    values = np.frombuffer(bytes(model.buffers[matrix.buffer].data), np.int8).reshape(matrix.shape)
    scales = np.asarray(matrix.quantization.scale, np.float64)
    codes = four_bit_codes(values)
    quantization = made(
        schema.QuantizationParametersT,
        scale=(scales if codes is None else scales * INT8_END / LARGEST).astype(np.float32),
        zeroPoint=np.zeros(len(scales), np.int64),
        quantizedDimension=0,
    )
    return (matrix.buffer if codes is None else constant(model, codes)), quantization


def _convolution(model: Any, graph: Any, op: Any, buffer: int, quantization: Any) -> list[Any]:
    """(…, in) → (N, 1, 1, in) → the convolution → (N, 1, 1, out) → (…, out), which is the old result."""
    from ai_edge_litert import schema_py_generated as schema

    builtin = schema.BuiltinOperator
    source, result = (graph.tensors[tensor] for tensor in (op.inputs[0], op.outputs[0]))
    matrix = graph.tensors[op.inputs[1]]
    rows = int(np.prod(source.shape[:-1]))
    wide, narrow = ([rows, 1, 1, int(tensor.shape[-1])] for tensor in (source, result))

    def tensor(like: Any, part: str, shape: list[int], **fields: Any) -> int:
        new = copy.copy(like)
        new.name, new.shape = like.name + f";{part}".encode(), np.array(shape, np.int32)
        for name, value in fields.items():
            setattr(new, name, value)
        graph.tensors.append(new)
        return len(graph.tensors) - 1

    def reshape(before: int, after: int, shape: list[int]) -> Any:
        to = tensor(
            result,
            "shape",
            [len(shape)],
            type=schema.TensorType.INT32,
            buffer=constant(model, np.array(shape, np.int32)),
        )
        return operator(model, builtin.RESHAPE, 1, [before, to], after)

    bias = int(op.inputs[2]) if len(op.inputs) > 2 else -1
    if bias < 0:
        zeros = constant(model, np.zeros(narrow[-1], np.float32))
        bias = tensor(result, "bias", narrow[-1:], buffer=zeros)
    read, written = tensor(source, "tokens", wide), tensor(result, "tokens", narrow)
    weights = tensor(matrix, "filter", [narrow[-1], 1, 1, wide[-1]], buffer=buffer, quantization=quantization)
    return [
        reshape(int(op.inputs[0]), read, wide),
        operator(
            model,
            builtin.CONV_2D,
            PER_CHANNEL,
            [read, weights, bias],
            written,
            Conv2DOptions=made(
                schema.Conv2DOptionsT,
                padding=schema.Padding.VALID,
                strideW=1,
                strideH=1,
                fusedActivationFunction=op.builtinOptions.fusedActivationFunction,
            ),
        ),
        reshape(written, int(op.outputs[0]), [int(size) for size in result.shape]),
    ]
