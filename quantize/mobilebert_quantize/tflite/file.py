"""Write a .tflite file without duplicates: one graph per sequence length, with shared weights."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

_IDENTIFIER = b"TFL3"


def write_compact(model: Any, path: Path) -> None:
    """Write a parsed file (`flatbuffer_utils`); whatever is equal is written once.

    That is constants, and of the graphs, which differ in their sequence length alone, quantisation
    parameters, the operators' options, names and vectors of numbers such as shapes.

    Args:
        model: the file's object form; its tensors' buffers are renumbered in place.
        path: file to write.
    """
    first: dict[bytes, int] = {}
    parts: dict[tuple[Any, ...], _Once] = {}
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            data = model.buffers[tensor.buffer].data
            if data is not None and len(data):
                tensor.buffer = first.setdefault(bytes(data), tensor.buffer)
            tensor.shape = _array(tensor.shape, np.int32)
            found = tensor.quantization
            if found is not None and found.scale is None and found.min is None and found.details is None:
                tensor.quantization = None  # it says nothing
            elif found is not None and found.scale is not None:
                key = (_values(found.scale), _values(found.zeroPoint), found.quantizedDimension)
                found.scale = _array(found.scale, np.float32)
                found.zeroPoint = _array(found.zeroPoint, np.int64)
                tensor.quantization = parts.setdefault(key, _Once(found))
        for op in graph.operators:
            op.inputs, op.outputs = _array(op.inputs, np.int32), _array(op.outputs, np.int32)
            if op.builtinOptions is not None:
                options = sorted((name, _values(value)) for name, value in vars(op.builtinOptions).items())
                named = (type(op.builtinOptions).__name__, *options)
                op.builtinOptions = parts.setdefault(named, _Once(op.builtinOptions))
    holders = [tensor for graph in model.subgraphs for tensor in graph.tensors] + list(model.metadata or ())
    used = sorted({0, *(holder.buffer for holder in holders)})  # 0 is what has no data
    places = {old: new for new, old in enumerate(used)}
    for holder in holders:
        holder.buffer = places[holder.buffer]
    model.buffers = [model.buffers[number] for number in used]
    builder = _builder()(1024)
    builder.Finish(model.Pack(builder), file_identifier=_IDENTIFIER)
    path.write_bytes(builder.Output())


def _values(value: Any) -> Any:
    """A field of a file's object as part of a dictionary's key."""
    return tuple(value) if isinstance(value, (list, np.ndarray)) else value


def _array(values: Any, kind: Any) -> Any:
    """A vector as the builder shares it; None stays None."""
    return None if values is None else np.asarray(values, kind)


@lru_cache(maxsize=1)
def _builder() -> Any:
    """The class of a flatbuffers builder that writes equal vectors and strings once."""
    import flatbuffers

    class SharingBuilder(flatbuffers.Builder):
        def __init__(self, size: int) -> None:
            super().__init__(size)
            self._known: dict[tuple[str, bytes], int] = {}

        def CreateNumpyVector(self, x: Any) -> int:  # noqa: N802 (the serialiser's name for it)
            key = (x.dtype.str, x.tobytes())
            if key not in self._known:
                self._known[key] = super().CreateNumpyVector(x)
            return self._known[key]

        def CreateString(self, s: Any, *options: Any) -> int:  # noqa: N802 (the same)
            key = ("string", s if isinstance(s, bytes) else s.encode())
            if key not in self._known:
                self._known[key] = super().CreateString(s, *options)
            return self._known[key]

    return SharingBuilder


class _Once:
    """A part of a file that several others refer to; its bytes are written once."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self._offset: int | None = None

    def Pack(self, builder: Any) -> int:  # noqa: N802 (the serialiser's name for it)
        if self._offset is None:
            self._offset = self._part.Pack(builder)
        return self._offset
