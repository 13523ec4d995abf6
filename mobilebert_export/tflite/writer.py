"""PyTorch → float TFLite through litert-torch, and how the runtime partitions the file.

Everything is static: batch 1, and a signature with a graph of its own per sequence length. The graphs differ
in shapes only; their weights are the same buffers of the file. Inputs and output keep their names in every
signature and, in the first and largest graph, as tensor names too, so that a program which knows no
signatures finds them. An embedding matcher has one graph more, which compares a text with several.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from mobilebert_export.tflite.conversion import Graph, convert
from mobilebert_export.tflite.fixed_weights import fixed_weights, unfold
from mobilebert_export.tflite.reshapes import flatten_linear_layers, keep_batch_axis
from mobilebert_models.networks.layers import input_names
from mobilebert_models.networks.packed_candidates import packed_candidates
from mobilebert_models.networks.relative_positions import constant_bias
from mobilebert_quantize.tflite.file import write_compact
from mobilebert_quantize.tflite.graph import TfliteGraph
from mobilebert_runtime.card import OUTPUT_NAME, PACKED_SIGNATURE, Bucket


def write_float_tflite(
    model: nn.Module,
    path: Path,
    buckets: Sequence[Bucket],
    outputs: Sequence[str] = (OUTPUT_NAME,),
    *,
    batch_axis: bool = True,
) -> None:
    """Convert a network in eval mode to a float32 .tflite file.

    Args:
        model: a head of `models`: forward of its `input_names`, each (1, S) → a tensor or several.
        path: file to write.
        buckets: the sequence lengths S and the names of their signatures.
        outputs: what the tensors are called.
        batch_axis: let every tensor keep it, which is faster; else linear layers write two axes, for TFLite
            2.14 answers wrongly where one writes 16-bit integers with three.
    """
    names = tuple(input_names(model))
    longest = max(bucket.seq_len for bucket in buckets)
    graphs = [
        Graph(bucket.signature, model, names, bucket.seq_len, tuple(outputs))
        for bucket in sorted(buckets, key=lambda bucket: -bucket.seq_len)
    ]
    if (packed := packed_candidates(model, longest)) is not None:
        graphs.append(Graph(PACKED_SIGNATURE, packed, names, longest, (OUTPUT_NAME,)))
    with constant_bias(model, longest):
        file = convert(graphs)
    _name_tensors(file, names)
    unfold(file, fixed_weights(model))
    if batch_axis:
        keep_batch_axis(file)
    else:
        flatten_linear_layers(file)
    write_compact(file, path)


def _name_tensors(file: Any, inputs: Sequence[str]) -> None:
    """Call tensors as the file's signatures call them, and put inputs in the order of io.json."""
    seen: Counter[str] = Counter()
    for graph in file.subgraphs:
        for tensor in graph.tensors:
            name = _short(tensor.name.decode())
            tensor.name = (f"{name};{seen[name]}" if name in seen else name).encode()
            seen[name] += 1
    for signature in file.signatureDefs:
        graph = file.subgraphs[signature.subgraphIndex]
        if signature.subgraphIndex == 0:
            for entry in (*signature.inputs, *signature.outputs):
                graph.tensors[entry.tensorIndex].name = entry.name
        index = {entry.name.decode(): entry.tensorIndex for entry in signature.inputs}
        graph.inputs = [index[name] for name in inputs]


def _short(name: str) -> str:
    """A converter's tensor name without its packages, the classes around the encoder, and its number.

    `pkg.PairClassifier_model/pkg.MobileBert_encoder/pkg.Layer_3/pkg.Attention_self;;…;7` becomes
    `Layer_3/Attention_self`.
    """
    parts = [part.rpartition(".")[2] for part in name.partition(";")[0].split("/")]
    inside = [part for part in parts if not part.endswith(("_Named", "_model", "_encoder"))]
    return "/".join(inside or parts)


@dataclass(frozen=True)
class Delegation:
    """The operators of a file that XNNPACK takes over."""

    partitions: int
    delegated_operators: int
    all_operators: int
    left_out: dict[str, int]  # by kind


class TfliteOperators(NamedTuple):
    """What a .tflite file computes with."""

    operators: dict[str, int]  # by kind, the most frequent first
    versions: dict[str, int]  # the highest of each kind: they decide the oldest runtime
    xnnpack: Delegation


def describe_tflite(path: Path) -> TfliteOperators:
    """Operators of a .tflite file and the part of them that XNNPACK takes over."""
    graph = TfliteGraph.read(path)
    operators = Counter(graph.kind(op) for op in graph.operators)
    versions: dict[str, int] = {}
    for op in graph.operators:
        versions[graph.kind(op)] = max(graph.version(op), versions.get(graph.kind(op), 0))
    return TfliteOperators(dict(operators.most_common()), dict(sorted(versions.items())), _delegated(path))


def _delegated(path: Path) -> Delegation:
    """Count what XNNPACK replaced.

    After delegation the runtime lists the original operators and one DELEGATE node per partition, but does
    not say which belong together. A partition's operators are those found walking back from its outputs to
    its inputs.
    """
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path), num_threads=1)
    interpreter.allocate_tensors()
    nodes = interpreter._get_ops_details()
    partitions = [node for node in nodes if node["op_name"] == "DELEGATE"]
    operators = [node for node in nodes if node["op_name"] != "DELEGATE"]
    producer = {int(tensor): number for number, node in enumerate(operators) for tensor in node["outputs"]}
    inside: set[int] = set()
    for partition in partitions:
        border = {int(tensor) for tensor in partition["inputs"]}
        frontier = [int(tensor) for tensor in partition["outputs"]]
        while frontier:
            tensor = frontier.pop()
            number = producer.get(tensor)
            if tensor in border or number is None or number in inside:
                continue
            inside.add(number)
            frontier.extend(int(t) for t in operators[number]["inputs"] if t >= 0)
    left = Counter(node["op_name"] for number, node in enumerate(operators) if number not in inside)
    return Delegation(len(partitions), len(inside), len(operators), dict(left.most_common()))
