"""Word embeddings as product codes in a .tflite file, from operators that every TFLite runtime has.

The runtime looks up a row's codes, adds to each where the codebook of its group begins, and looks the sums up
in all codebooks, which lie one below the other in int8 with one scale.
"""

from __future__ import annotations

import copy
from typing import Any, cast

import numpy as np
import torch

from mobilebert_models.weights.word_codes import (
    ENTRIES,
    WordCodes,
    can_be_coded,
    find_codes,
    group_size,
    product_codes,
)
from mobilebert_quantize.tflite.embedding import INT8_LOOKUP
from mobilebert_quantize.tflite.parts import code_of, constant, made, operator

CODED = "coded:"  # the results of lookups in coded tables begin with this while the quantiser works


def mark_coded_lookups(model: Any, bits: int) -> None:
    """Mark the lookups in tables that are product codes, or that `bits` asks to become some, in place.

    Args:
        model: a parsed float file (`flatbuffer_utils`).
        bits: of a number of a word embedding table; 8: only tables that are codes already.
    """
    coded: dict[int, bool] = {}  # by the table's buffer
    for graph, op in _lookups(model):
        table, result = graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        if table.buffer not in coded:
            coded[table.buffer] = _code(model, table, bits)
        if coded[table.buffer]:
            result.name = CODED.encode() + result.name


def look_up_codes(model: Any) -> None:
    """Replace every marked lookup of a parsed file by one in codes and one in codebooks, in place."""
    found: dict[int, tuple[WordCodes, list[int]]] = {}  # table's buffer → codes; buffers of its constants
    marked = [
        (graph, op, graph.tensors[op.inputs[1]].buffer)
        for graph, op in _lookups(model)
        if graph.tensors[op.outputs[0]].name.startswith(CODED.encode())
    ]
    for graph, op, buffer in marked:
        result, table = graph.tensors[op.outputs[0]], graph.tensors[op.inputs[1]]
        result.name = result.name.removeprefix(CODED.encode())
        if buffer not in found:
            words = cast(WordCodes, find_codes(torch.from_numpy(_values(model, table))))  # it was marked
            begins = np.arange(words.codes.shape[1], dtype=np.int32) * ENTRIES
            constants = (words.codes.numpy(), begins, words.codebook.numpy())
            found[buffer] = words, [constant(model, values) for values in constants]
        at = next(number for number, other in enumerate(graph.operators) if other is op)
        graph.operators[at : at + 1] = _coded_lookup(model, graph, op, *found[buffer])


def _coded_lookup(model: Any, graph: Any, op: Any, words: WordCodes, buffers: list[int]) -> list[Any]:
    """Ids (N,) → codes (N, G) → their places in all codebooks (N·G,) → (N·G, E/G) → the old result."""
    from ai_edge_litert import schema_py_generated as schema

    kind, builtin = schema.TensorType, schema.BuiltinOperator
    table, result = graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
    count, (entries, groups), size = int(result.shape[0]), words.codes.shape, words.codebook.shape[2]

    def tensor(part: str, form: Any, shape: list[int], buffer: int = 0, scale: float | None = None) -> int:
        new = copy.copy(result)
        new.name = (table if buffer else result).name + f";{part}".encode()
        new.type, new.shape, new.buffer, new.quantization = form, np.array(shape, np.int32), buffer, None
        if scale is not None:
            new.quantization = made(
                schema.QuantizationParametersT,
                scale=np.array([scale], np.float32),
                zeroPoint=np.zeros(1, np.int64),
                quantizedDimension=0,
            )
        graph.tensors.append(new)
        return len(graph.tensors) - 1

    codes = int(op.inputs[1])
    table.type, table.buffer, table.quantization = kind.UINT8, buffers[0], None
    table.shape = np.array([entries, groups], np.int32)
    begins = tensor("begins", kind.INT32, [groups], buffers[1])
    codebook = tensor("codebook", kind.INT8, [groups * ENTRIES, size], buffers[2], words.scale)
    flat = constant(model, np.array([count * groups], np.int32))
    own = tensor("own", kind.UINT8, [count, groups])
    whole = tensor("whole", kind.INT32, [count, groups])
    places = tensor("places", kind.INT32, [count, groups])
    row = tensor("row", kind.INT32, [count * groups])
    parts = tensor("parts", kind.FLOAT32, [count * groups, size])
    long = tensor("flat", kind.INT32, [1], flat)
    back = tensor("shape", kind.INT32, [2], constant(model, np.array([count, groups * size], np.int32)))
    cast = made(schema.CastOptionsT, inDataType=kind.UINT8, outDataType=kind.INT32)
    return [
        operator(
            model,
            builtin.GATHER,
            1,
            [codes, int(op.inputs[0])],
            own,
            GatherOptions=made(schema.GatherOptionsT, axis=0),
        ),
        operator(model, builtin.CAST, 1, [own], whole, CastOptions=cast),
        operator(model, builtin.ADD, 1, [whole, begins], places, AddOptions=schema.AddOptionsT()),
        operator(model, builtin.RESHAPE, 1, [places, long], row),
        operator(model, builtin.EMBEDDING_LOOKUP, INT8_LOOKUP, [row, codebook], parts),
        operator(model, builtin.RESHAPE, 1, [parts, back], int(op.outputs[0])),
    ]


def _lookups(model: Any) -> Any:
    """(graph, operator) of each lookup in a float table."""
    from ai_edge_litert import schema_py_generated as schema

    for graph in model.subgraphs:
        for op in graph.operators:
            if code_of(model, op) != schema.BuiltinOperator.EMBEDDING_LOOKUP:
                continue
            table = graph.tensors[op.inputs[1]]
            data = model.buffers[table.buffer].data
            if table.type == schema.TensorType.FLOAT32 and data is not None and len(data):
                yield graph, op


def _values(model: Any, table: Any) -> np.ndarray:
    data = model.buffers[table.buffer].data
    return np.frombuffer(bytes(data), np.float32).reshape(table.shape).copy()


def _code(model: Any, table: Any, bits: int) -> bool:
    """Whether a table holds codes; with fewer bits than 8, a table that can be coded is, in its buffer."""
    values = torch.from_numpy(_values(model, table))
    if find_codes(values) is not None:
        return True
    if bits == 8 or not can_be_coded(values, bits):
        return False
    words = product_codes(values, torch.ones(len(values)), group_size(bits))
    model.buffers[table.buffer].data = np.frombuffer(words.table().numpy().tobytes(), np.uint8)
    return True
