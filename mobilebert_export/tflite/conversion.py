"""A network's graphs, one per sequence length, through litert-torch: in two processes where that is shorter.

litert-torch traces every graph several times over, in Python: ten seconds for each length of the shipped
matcher, on one core. So a second process converts the last graphs while this one converts the first, and
the two files become one. `python -m mobilebert_export.tflite.conversion JOB OUT` is that second process.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from android_bench.measuring.machine import usable_cores

# A process that converts starts in about eight seconds, which is what a graph of 80 modules takes.
_MODULES_WORTH_A_PROCESS = 160


@dataclass(frozen=True)
class Graph:
    """One signature of a file.

    Attributes:
        signature: its name; None is the converter's default.
        network: in eval mode; forward of `names`, each (1, S) → a tensor or several.
        names: of the inputs.
        seq_len: S.
        outputs: what the tensors that come out are called.
    """

    signature: str | None
    network: nn.Module
    names: tuple[str, ...]
    seq_len: int
    outputs: tuple[str, ...]


def convert(graphs: Sequence[Graph]) -> Any:
    """The float32 file of some graphs, in the object form of `flatbuffer_utils`.

    Graphs lie in the file in the order given, and so do their signatures.

    Raises:
        RuntimeError: the second process failed; what it said is on stderr.
    """
    from ai_edge_litert.tools import flatbuffer_utils

    own, others = graphs, graphs[:0]
    if _second_process_pays(graphs):
        middle = (len(graphs) + 1) // 2
        own, others = graphs[:middle], graphs[middle:]
    with tempfile.TemporaryDirectory() as scratch:
        job, made = Path(scratch) / "graphs.pt", Path(scratch) / "graphs.tflite"
        second = None
        if others:
            torch.save(list(others), job)
            second = _start(job, made)
        try:
            file = flatbuffer_utils.read_model_from_bytearray(bytearray(_convert_here(own)))
            if second is not None:
                if second.wait():
                    raise RuntimeError(f"the second process of the conversion ended with {second.returncode}")
                append_graphs(file, flatbuffer_utils.read_model(str(made)))
        finally:
            if second is not None:
                second.kill()
                second.wait()
    return file


def _second_process_pays(graphs: Sequence[Graph]) -> bool:
    """Whether converting the later half takes longer than a process to start, and a process can read it."""
    sent = [module for graph in graphs[(len(graphs) + 1) // 2 :] for module in graph.network.modules()]
    # Another process finds no class of the user's script, and none that is made inside a function.
    classes = {type(module) for module in sent}
    known = all(one.__module__ != "__main__" and "<locals>" not in one.__qualname__ for one in classes)
    return usable_cores() > 1 and known and len(sent) >= _MODULES_WORTH_A_PROCESS


def _start(job: Path, made: Path) -> subprocess.Popen[bytes]:
    """The second process; it imports what this one can."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "mobilebert_export.tflite.conversion", str(job), str(made)]
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)


def _convert_here(graphs: Sequence[Graph]) -> Any:
    """The content of a file with the graphs, by this process."""
    import litert_torch
    from litert_torch.fx_infra import decomp

    decomp.add_pre_convert_decomp(torch.ops.aten.tril, _tril)
    converter: Any = None
    for graph in graphs:
        example = {name: torch.ones(1, graph.seq_len, dtype=torch.int32) for name in graph.names}
        start = litert_torch.signature if converter is None else converter.signature
        converter = start(graph.signature, _Named(graph).eval(), sample_kwargs=example)
    return converter.convert().model_content()


def _tril(matrix: Tensor, diagonal: int = 0) -> Tensor:
    """`torch.tril` in terms of simpler operators, for the converter.

    PyTorch's own counts in 64 bits. litert-torch makes 32 of them and then traces the whole graph once
    more, a fifth of a conversion's time.
    """
    rows, columns = (torch.arange(count, dtype=torch.int32) for count in matrix.shape[-2:])
    below = columns.unsqueeze(-2) - rows.unsqueeze(-1) <= diagonal
    return torch.where(below, matrix, 0).contiguous()


class _Named(nn.Module):
    """Gives outputs their names: the converter takes signature names from keyword arguments and dict keys."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.model = graph.network
        self.inputs = graph.names
        self.outputs = graph.outputs

    def forward(self, **given: Tensor) -> dict[str, Tensor]:
        found = self.model(*(given[name] for name in self.inputs))
        return dict(zip(self.outputs, found if isinstance(found, tuple) else (found,), strict=True))


def append_graphs(file: Any, other: Any) -> None:
    """Add the graphs and signatures of another file of the same converter; equal constants stay two.

    Args:
        file: in the object form of `flatbuffer_utils`; changed in place.
        other: the same; its parts become `file`'s.
    """
    kinds = {_kind(code): number for number, code in enumerate(file.operatorCodes)}
    for code in other.operatorCodes:
        if _kind(code) not in kinds:
            kinds[_kind(code)] = len(file.operatorCodes)
            file.operatorCodes.append(code)
    buffers, graphs = len(file.buffers), len(file.subgraphs)
    file.buffers.extend(other.buffers)
    for graph in other.subgraphs:
        for tensor in graph.tensors:
            # Buffer 0 is that of all tensors without a constant.
            tensor.buffer = int(tensor.buffer) + buffers if tensor.buffer else 0
        for operator in graph.operators:
            operator.opcodeIndex = kinds[_kind(other.operatorCodes[operator.opcodeIndex])]
        file.subgraphs.append(graph)
    for signature in other.signatureDefs:
        signature.subgraphIndex += graphs
        file.signatureDefs.append(signature)


def _kind(code: Any) -> tuple[int, int, bytes | None]:
    """What tells operators apart: kind, version, and the name of one that is none of TFLite's."""
    return max(code.builtinCode, code.deprecatedBuiltinCode), code.version, code.customCode


def main(job: str, made: str) -> None:
    """Convert the graphs that `convert` saved and write their file."""
    Path(made).write_bytes(_convert_here(torch.load(job, weights_only=False)))


if __name__ == "__main__":
    main(*sys.argv[1:])
