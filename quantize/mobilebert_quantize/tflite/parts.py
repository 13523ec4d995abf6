"""Parts of a parsed .tflite file (`flatbuffer_utils`): operators, their codes, constants."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


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


def operator(model: Any, kind: int, version: int, inputs: list[int], output: int, **options: Any) -> Any:
    """An operator with one result; its code is added to the file where it is missing.

    Args:
        model: the file.
        kind: builtin operator code.
        version: of the operator.
        inputs: numbers of tensors.
        output: number of a tensor.
        options: the operator's, by the name of their kind, such as `MulOptions`; one at most.
    """
    from ai_edge_litert import schema_py_generated as schema

    new = made(
        schema.OperatorT,
        opcodeIndex=opcode(model, kind, version),
        inputs=np.array(inputs, np.int32),
        outputs=np.array([output], np.int32),
    )
    for name, values in options.items():
        new.builtinOptionsType, new.builtinOptions = getattr(schema.BuiltinOptions, name), values
    return new
