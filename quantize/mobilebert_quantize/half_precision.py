"""Float weights stored as float16: half the bytes, float32 arithmetic, in every runtime.

The runtime widens each matrix once when it loads the model (XNNPACK packs it straight from float16), so a
file is half as large and as fast as float32.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilebert_quantize.tflite.file import write_compact
from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_runtime.errors import ModelError

# Biases, norms and other small constants stay as they are.
SMALLEST = 1024
# The operators of .tflite whose constants become float16. XNNPACK of TFLite 2.14 to 2.18 forgets where it put
# other widened constants when a graph is allocated twice, as interpreters do: positions that were added to
# words turned logits by more than 10, without a word.
_READERS = frozenset({"FULLY_CONNECTED", "BATCH_MATMUL", "EMBEDDING_LOOKUP", "GATHER"})
_LARGEST = float(np.finfo(np.float16).max)


def halve(source: Path, target: Path) -> None:
    """Write a float .tflite or .onnx file with its matrices and tables in float16.

    Raises:
        ModelError: a weight is beyond float16's largest number.
    """
    (_halve_tflite if source.suffix == ".tflite" else _halve_onnx)(source, target)


def _half(values: NDArray[np.float32], path: Path) -> NDArray[np.float16]:
    largest = float(np.abs(values).max())
    if not largest <= _LARGEST:
        raise ModelError(
            f"{path.name}: a weight of {largest:.3g} does not fit float16; export with --quant none or int8"
        )
    return values.astype(np.float16)


def _halve_tflite(source: Path, target: Path) -> None:
    """Matrices and tables become float16; a DEQUANTIZE before the first operator that reads one widens it.

    Before everything else, they would be a partition of their own, and the next would find matrices that are
    no constants: XNNPACK would widen and pack them in every inference.
    """
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.tools import flatbuffer_utils as fb

    model = fb.read_model(str(source))
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.DEQUANTIZE
    code.version = 3  # the first that reads float16
    model.operatorCodes.append(code)
    halves: dict[int, int] = {}  # buffer of float32 → buffer of float16
    for signature in model.signatureDefs:
        walk, graph = TfliteGraph(model, signature), model.subgraphs[signature.subgraphIndex]
        widened: dict[int, Any] = {}
        for number, tensor in enumerate(list(graph.tensors)):
            data = model.buffers[tensor.buffer].data
            if tensor.type != schema.TensorType.FLOAT32 or data is None or len(data) < 4 * SMALLEST:
                continue
            if not {walk.kind(op) for op in walk.readers(number)} <= _READERS:
                continue
            if tensor.buffer not in halves:
                buffer = schema.BufferT()
                buffer.data = _half(np.frombuffer(bytes(data), np.float32), source).view(np.uint8)
                halves[tensor.buffer] = len(model.buffers)
                model.buffers.append(buffer)
            widened[number] = _widen(schema, model, graph, number, halves[tensor.buffer])
        operators = []
        for op in graph.operators:
            operators += [widened.pop(read) for read in map(int, op.inputs) if read in widened]
            operators.append(op)
        graph.operators = operators
    write_compact(model, target)


def _widen(schema: Any, model: Any, graph: Any, number: int, buffer: int) -> Any:
    """A float16 constant beside a float32 one, which becomes the result of the operator returned."""
    tensor = graph.tensors[number]
    half = schema.TensorT()
    half.name, half.shape = tensor.name + b";float16", tensor.shape
    half.type, half.buffer = schema.TensorType.FLOAT16, buffer
    tensor.buffer = 0  # by the format's rule the empty one
    graph.tensors.append(half)
    operator = schema.OperatorT()
    operator.opcodeIndex = len(model.operatorCodes) - 1
    operator.inputs = np.array([len(graph.tensors) - 1], np.int32)
    operator.outputs = np.array([number], np.int32)
    return operator


def _halve_onnx(source: Path, target: Path) -> None:
    """Each initialiser becomes float16, and a Cast before everything else makes it float32."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    proto = onnx.load(source)
    casts = []
    for tensor in proto.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT or int(np.prod(tensor.dims)) < SMALLEST:
            continue
        name = tensor.name
        half = _half(numpy_helper.to_array(tensor), source)
        tensor.CopyFrom(numpy_helper.from_array(half, f"{name}.float16"))
        casts.append(helper.make_node("Cast", [tensor.name], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *proto.graph.node]
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    target.write_bytes(proto.SerializeToString())
