"""What a model file costs by construction: bytes, operators, multiply–accumulates; no noise in these."""

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from android_bench.measuring.external_model import describe
from mobilebert_runtime.card import BATCH_AXIS, TOKENS_AXIS, ArtefactCard

Shape = Sequence[int]

MATRIX_PRODUCTS = {
    "FULLY_CONNECTED",
    "BATCH_MATMUL",
    "MatMul",
    "MatMulInteger",
    "MatMulIntegerToFloat",
    "QLinearMatMul",
    "Gemm",
}
ATTENTION = "MultiHeadAttention"  # ONNX Runtime's own
CONVOLUTIONS = {"CONV_2D", "Conv", "ConvInteger", "QLinearConv"}


def model_facts(folder: Path) -> dict[str, Any]:
    """Facts of an artefact folder or a bare model.

    Returns:
        `bytes` of the model file and `folder_bytes`; `operators` by kind, `operator_count` and `macs`
        (multiply–accumulates of one inference at the artefact's sequence length), all three None where the
        reader of the format is not installed; `xnnpack`, what the export's report says of delegation, or
        None.
    """
    card = describe(folder)
    model = folder / card.model_file
    try:
        operators, macs = _READERS[card.target](model, card.seq_len)
    except ModuleNotFoundError:
        operators, macs = None, None
    return {
        "target": card.target,
        "quant": card.quant,
        "seq_len": card.seq_len,
        "buckets": [one.seq_len for one in card.buckets]
        if isinstance(card, ArtefactCard)
        else [card.seq_len],
        "bytes": model.stat().st_size,
        "folder_bytes": sum(file.stat().st_size for file in folder.iterdir() if file.is_file()),
        "operators": operators and dict(operators.most_common()),
        "operator_count": operators and operators.total(),
        "macs": macs,
        "xnnpack": _reported(folder).get("xnnpack"),
    }


def multiplications(kind: str, inputs: Sequence[Shape], output: Shape) -> int:
    """Multiply–accumulates of one operator from its shapes; 0 for kinds that do none.

    Every output element is one dot product. Its length is the last dimension of the first operand of a matrix
    product, and all of a filter but its first dimension in a convolution (TFLite: out, height, width, in;
    ONNX: out, in, width). Attention of queries (B, Q, A·D) to keys (B, S, A·D) takes 2·B·Q·S·A·D.
    """
    if kind in MATRIX_PRODUCTS:
        return math.prod(output) * inputs[0][-1]
    if kind in CONVOLUTIONS:
        return math.prod(output) * math.prod(inputs[1][1:])
    if kind == ATTENTION:
        return 2 * math.prod(output) * inputs[1][1]
    return 0


def _read_tflite(model: Path, seq_len: int) -> tuple[Counter[str], int]:  # noqa: ARG001 (its first graph's)
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(str(model), experimental_op_resolver_type=plain)
    shapes = {tensor["index"]: tensor["shape"].tolist() for tensor in interpreter.get_tensor_details()}
    nodes = interpreter._get_ops_details()
    macs = sum(
        multiplications(
            node["op_name"],
            [shapes.get(index, ()) for index in node["inputs"]],
            shapes.get(node["outputs"][0], ()),
        )
        for node in nodes
    )
    return Counter(node["op_name"] for node in nodes), macs


def _read_onnx(model: Path, seq_len: int) -> tuple[Counter[str], int | None]:
    import onnx

    proto = onnx.load(model)
    for value in (*proto.graph.input, *proto.graph.value_info):
        for axis in value.type.tensor_type.shape.dim:
            if axis.dim_param in (TOKENS_AXIS, BATCH_AXIS):
                axis.dim_value = seq_len if axis.dim_param == TOKENS_AXIS else 1
    graph = onnx.shape_inference.infer_shapes(proto).graph
    shapes = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        shapes[value.name] = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    operators = Counter(node.op_type for node in graph.node)
    macs = 0
    for node in graph.node:
        if node.op_type not in MATRIX_PRODUCTS | CONVOLUTIONS | {ATTENTION}:
            continue
        # QLinear kinds carry scales and zero points between their operands: x, x_scale, x_zero, w, …
        second = 3 if node.op_type.startswith("QLinear") else 1
        tensors = (node.input[0], node.input[second], node.output[0])
        if any(0 in shapes.get(name, [0]) for name in tensors):
            return operators, None  # a shape is unknown: no figure is better than a wrong one
        first, other, output = (shapes[name] for name in tensors)
        macs += multiplications(node.op_type, [first, other], output)
    return operators, macs


_READERS: dict[str, Callable[[Path, int], tuple[Counter[str], int | None]]] = {
    "tflite": _read_tflite,
    "onnx": _read_onnx,
}


def _reported(folder: Path) -> dict[str, Any]:
    """The graph section of the export's report.json, if there is one."""
    try:
        return json.loads((folder / "report.json").read_text(encoding="utf-8"))["graph"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
