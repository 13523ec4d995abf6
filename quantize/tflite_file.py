"""Write a .tflite file without duplicate constants: one graph per sequence length, with shared weights."""

from pathlib import Path
from typing import Any


def write_compact(model: Any, path: Path) -> None:
    """Write a parsed file (`flatbuffer_utils`); equal constants and equal quantisation parameters once.

    Args:
        model: the file's object form; its tensors' buffers are renumbered in place.
        path: file to write.
    """
    from ai_edge_litert.tools import flatbuffer_utils as fb

    first: dict[bytes, int] = {}
    parameters: dict[tuple[Any, ...], _Once] = {}
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            data = model.buffers[tensor.buffer].data
            if data is not None and len(data):
                tensor.buffer = first.setdefault(bytes(data), tensor.buffer)
            found = tensor.quantization
            if found is not None and found.scale is not None:
                key = (tuple(found.scale), tuple(found.zeroPoint), found.quantizedDimension)
                tensor.quantization = parameters.setdefault(key, _Once(found))
    used = {tensor.buffer for graph in model.subgraphs for tensor in graph.tensors}
    used |= {entry.buffer for entry in model.metadata or ()}
    for number, buffer in enumerate(model.buffers):
        if number not in used:
            buffer.data = None
    path.write_bytes(fb.convert_object_to_bytearray(model))


class _Once:
    """A part of a file that several others refer to; its bytes are written once."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self._offset: int | None = None

    def Pack(self, builder: Any) -> int:  # noqa: N802 (the serialiser's name for it)
        if self._offset is None:
            self._offset = self._part.Pack(builder)
        return self._offset
