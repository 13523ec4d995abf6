"""PyTorch → float ONNX through torch.onnx, static shapes, loadable by every ONNX Runtime since 1.17."""

from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mobilebert_export.artefact import INPUT_NAMES, OUTPUT_NAME

# Version of the file format itself. ONNX Runtime refuses a newer one than it knows, whatever the operators
# are; 1.17 knows 9, and the newest opset we write (20) needs no more.
IR_VERSION = 9


def write_float_onnx(model: nn.Module, path: Path, seq_len: int, opset: int) -> None:
    """Convert a pair classifier in eval mode to one float32 .onnx file.

    Args:
        model: forward(input_ids, attention_mask, token_type_ids), each (1, seq_len) → logits (1, labels).
        path: file to write.
        seq_len: tokens.
        opset: ONNX operator set.
    """
    import onnx

    example = tuple(torch.ones(1, seq_len, dtype=torch.int32) for _ in INPUT_NAMES)
    program: Any = torch.onnx.export(
        model,
        example,
        input_names=list(INPUT_NAMES),
        output_names=[OUTPUT_NAME],
        opset_version=opset,
        dynamo=True,
        verbose=False,
    )
    proto = program.model_proto
    proto.ir_version = IR_VERSION
    del proto.metadata_props[:]
    # Shapes of intermediate tensors: they can be inferred, and stale ones stop the quantiser.
    del proto.graph.value_info[:]
    for node in proto.graph.node:  # traces of the exporting machine: source paths and stack frames
        del node.metadata_props[:]
        node.doc_string = ""
    onnx.checker.check_model(proto, full_check=True)
    path.write_bytes(proto.SerializeToString())


def describe_onnx(path: Path) -> dict[str, Any]:
    """Operators of an .onnx file by kind, and the versions that decide which runtime can load it."""
    import onnx

    proto = onnx.load(path)
    return {
        "operators": dict(Counter(node.op_type for node in proto.graph.node).most_common()),
        "versions": {"ir": proto.ir_version}
        | {entry.domain or "onnx": entry.version for entry in proto.opset_import},
    }
