"""int8 embedding tables with a scale per row, built from operators that every TFLite runtime has.

The quantiser offers a table that the runtime unpacks to float when it loads, once per sequence length, or one
whose rows old runtimes silently scale wrongly. Here the runtime looks up int8 rows with scale 1 and, in
a second table, their scales; the product of the two is the embedding.
"""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    ids, builtin = op.inputs[0], schema.BuiltinOperator
    product = schema.MulOptionsT()
    return [
        made(
            schema.OperatorT,
            opcodeIndex=opcode(model, builtin.EMBEDDING_LOOKUP, INT8_LOOKUP),
            inputs=np.array([ids, unpacked.inputs[0]], np.int32),
            outputs=np.array([first], np.int32),
        ),
        made(
            schema.OperatorT,
            opcodeIndex=opcode(model, builtin.EMBEDDING_LOOKUP, 1),
            inputs=np.array([ids, first + 2], np.int32),
            outputs=np.array([first + 1], np.int32),
        ),
        made(
            schema.OperatorT,
            opcodeIndex=opcode(model, builtin.MUL, 1),
            inputs=np.array([first, first + 1], np.int32),
            outputs=np.array(op.outputs, np.int32),
            builtinOptionsType=schema.BuiltinOptions.MulOptions,
            builtinOptions=product,
        ),
    ]


def code_of(model: Any, op: Any) -> int:
    """Builtin operator code of an operator."""
    code = model.operatorCodes[op.opcodeIndex]
    return int(max(code.builtinCode, code.deprecatedBuiltinCode))


def opcode(model: Any, kind: int, version: int) -> int:
    """Number of an operator code of the file, added where it is missing."""
    from ai_edge_litert import schema_py_generated as schema

    for number, code in enumerate(model.operatorCodes):
        if max(code.builtinCode, code.deprecatedBuiltinCode) == kind and code.version == version:
            return number
    model.operatorCodes.append(
        made(schema.OperatorCodeT, builtinCode=kind, deprecatedBuiltinCode=kind, version=version)
    )
    return len(model.operatorCodes) - 1


def constant(model: Any, values: NDArray[Any]) -> int:
    """A new buffer of the file that holds an array."""
    from ai_edge_litert import schema_py_generated as schema

    model.buffers.append(made(schema.BufferT, data=np.frombuffer(values.tobytes(), np.uint8)))
    return len(model.buffers) - 1


def made(kind: Any, **fields: Any) -> Any:
    """An object of the schema with some fields set."""
    made = kind()
    for name, value in fields.items():
        setattr(made, name, value)
    return made
