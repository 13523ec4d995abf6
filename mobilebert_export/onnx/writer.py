"""PyTorch → float ONNX through torch.onnx, loadable by every ONNX Runtime since 1.17.

One sequence length makes a file of batch 1 and static shapes; several make one graph whose batch and token
axes are free.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from mobilebert_models.networks.layers import input_names
from mobilebert_models.networks.relative_positions import constant_bias
from mobilebert_runtime.card import BATCH_AXIS, OUTPUT_NAME, TOKENS_AXIS, Bucket

# Version of the file format itself. ONNX Runtime refuses a newer one than it knows, whatever the operators
# are; 1.17 knows 9, and the newest opset we write (20) needs no more.
IR_VERSION = 9
MOST_INPUTS = 1 << 16  # of the batch axis; the exporter wants a bound, the file holds none
_TEMPORARY = "output."  # before an output's name, while the graph is made


def write_float_onnx(
    model: nn.Module,
    path: Path,
    buckets: Sequence[Bucket],
    opset: int,
    outputs: Sequence[str] = (OUTPUT_NAME,),
) -> None:
    """Convert a network in eval mode to one float32 .onnx file.

    Args:
        model: a head of `models`: forward of its `input_names`, each (B, S) → a tensor or several.
        path: file to write.
        buckets: the sequence lengths S.
        opset: ONNX operator set.
        outputs: what the tensors are called.
    """
    import onnx

    lengths = [bucket.seq_len for bucket in buckets]
    names = input_names(model)
    free: dict[int, Any] | None = None
    if len(lengths) > 1:
        tokens = torch.export.Dim(TOKENS_AXIS, min=min(lengths), max=max(lengths))
        free = {0: torch.export.Dim(BATCH_AXIS, min=1, max=MOST_INPUTS), 1: tokens}
    # A free axis must not be 1 in the example: the exporter takes 1 for a constant.
    example = tuple(torch.ones(2 if free else 1, max(lengths), dtype=torch.int32) for _ in names)
    with constant_bias(model, max(lengths)):
        program: Any = torch.onnx.export(
            model,
            example,
            input_names=list(names),
            output_names=[_TEMPORARY + name for name in outputs],
            dynamic_shapes=tuple(free for _ in names) if free is not None else None,
            opset_version=opset,
            dynamo=True,
            verbose=False,
        )
    proto = program.model_proto
    _name_outputs(proto.graph, outputs)
    proto.ir_version = IR_VERSION
    del proto.metadata_props[:]
    # Shapes of intermediate tensors: they can be inferred, and stale ones stop the quantiser.
    del proto.graph.value_info[:]
    for node in proto.graph.node:  # traces of the exporting machine: source paths and stack frames
        del node.metadata_props[:]
        node.doc_string = ""
    onnx.checker.check_model(proto, full_check=True)
    path.write_bytes(proto.SerializeToString())


def _name_outputs(graph: Any, outputs: Sequence[str]) -> None:
    """Give the outputs their names, which the exporter may have given to a value inside."""
    final = {name: f"{name}_inside" for name in outputs} | {_TEMPORARY + name: name for name in outputs}
    for node in graph.node:
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                names[i] = final.get(name, name)
    for value in (*graph.output, *graph.initializer):
        value.name = final.get(value.name, value.name)


class OnnxOperators(NamedTuple):
    """What an .onnx file computes with."""

    operators: dict[str, int]  # by kind, the most frequent first
    versions: dict[str, int]  # of the format and of operator sets: they decide which runtime can load it


def describe_onnx(path: Path) -> OnnxOperators:
    """Operators of an .onnx file by kind, and the versions that decide which runtime can load it."""
    import onnx

    proto = onnx.load(path)
    operators = Counter(node.op_type for node in proto.graph.node)
    sets = {entry.domain or "onnx": entry.version for entry in proto.opset_import}
    return OnnxOperators(dict(operators.most_common()), {"ir": proto.ir_version} | sets)
