"""int8 embedding tables with a scale per row, built from operators that every TFLite runtime has.

The quantiser offers a table that the runtime unpacks to float when it loads, once per sequence length, or one
whose rows old runtimes silently scale wrongly. Here the runtime looks up int8 rows with scale 1 and, in
a second table, their scales; the product of the two is the embedding.
"""

import copy
from typing import Any

import numpy as np

from mobilebert_quantize.tflite.parts import code_of, constant, made, operator

# The oldest version of EMBEDDING_LOOKUP that reads int8 rows into float ones: TFLite 1.14.
INT8_LOOKUP = 3


def scale_looked_up_rows(model: Any) -> None:
    """Replace every lookup in an unpacked table of a parsed file (`flatbuffer_utils`), in place."""
    from ai_edge_litert import schema_py_generated as schema

    lookup, unpack = schema.BuiltinOperator.EMBEDDING_LOOKUP, schema.BuiltinOperator.DEQUANTIZE
    scales_of: dict[int, int] = {}  # buffer of a table → buffer of its scales
    for graph in model.subgraphs:
        producer = {int(op.outputs[0]): op for op in graph.operators}
        operators = []
        for op in graph.operators:
            unpacked = producer.get(int(op.inputs[1])) if code_of(model, op) == lookup else None
            if unpacked is None or code_of(model, unpacked) != unpack:
                operators.append(op)
                continue
            table = graph.tensors[unpacked.inputs[0]]
            if table.buffer not in scales_of:
                scales = np.asarray(table.quantization.scale, np.float32)
                scales_of[table.buffer] = constant(model, scales)
            operators += _scaled_lookup(model, graph, op, unpacked, scales_of[table.buffer])
        used = {int(tensor) for op in operators for tensor in op.inputs}
        graph.operators = [
            op for op in operators if code_of(model, op) != unpack or used & set(map(int, op.outputs))
        ]


def _scaled_lookup(model: Any, graph: Any, op: Any, unpacked: Any, scales: int) -> list[Any]:
    """Look up the rows, look up their scales, multiply; the result is the old lookup's tensor."""
    from ai_edge_litert import schema_py_generated as schema

    table, result = graph.tensors[unpacked.inputs[0]], graph.tensors[op.outputs[0]]
    rows, row_scales, scale_table = (copy.copy(result) for _ in range(3))
    rows.name, row_scales.name = result.name + b";rows", result.name + b";scales"
    row_scales.shape = [*result.shape[:-1], 1]
    scale_table.name, scale_table.buffer = table.name + b";scales", scales
    scale_table.shape = [table.shape[0], 1]
    first = len(graph.tensors)
    graph.tensors += [rows, row_scales, scale_table]
    table.quantization = made(
        schema.QuantizationParametersT,
        scale=np.ones(1, np.float32),
        zeroPoint=np.zeros(1, np.int64),
        quantizedDimension=0,
    )
    ids, builtin = int(op.inputs[0]), schema.BuiltinOperator
    return [
        operator(model, builtin.EMBEDDING_LOOKUP, INT8_LOOKUP, [ids, int(unpacked.inputs[0])], first),
        operator(model, builtin.EMBEDDING_LOOKUP, 1, [ids, first + 2], first + 1),
        operator(
            model,
            builtin.MUL,
            1,
            [first, first + 1],
            int(op.outputs[0]),
            MulOptions=schema.MulOptionsT(),
        ),
    ]
