"""The operator profiler inside LiteRT's library, reached through its C interface.

The Python package has no function for it, but its `libLiteRt.so` exports the profiler, which asks XNNPACK too
for the time of every operator inside its partitions. Names and structures are those of litert/c/*.h in
ai-edge-litert 2.3.0, the pinned version; another one may differ, so the profile runs in a process of its own
(android_bench/profiling/operator_profile.py).
"""

import ctypes
from collections.abc import Iterator, Mapping
from ctypes import Structure, byref, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from android_bench.measuring.rounds import MeasurementError

CPU = 1  # LiteRtHwAccelerators
WRITE = 1  # LiteRtTensorBufferLockMode
# LiteRtProfilerEventType: an operator that the interpreter ran; one that a delegate ran, timed by itself.
OPERATOR, DELEGATED_OPERATOR = 2, 8


class _TensorType(Structure):
    """LiteRtRankedTensorType; a dimension count of 8 is the header's limit."""

    _fields_ = (
        ("element", c_int),
        ("rank", c_uint32),
        ("shape", c_int32 * 8),
        ("strides", c_uint32 * 8),
    )


class _Event(Structure):
    """ProfiledEventData; times in µs."""

    _fields_ = (
        ("tag", c_char_p),
        ("kind", c_int),
        ("start", c_uint64),
        ("elapsed", c_uint64),
        ("memory", c_size_t * 6),
        ("metadata", c_uint64 * 2),
        ("source", c_int),
    )


class ProfiledModel:
    """A .tflite file opened by LiteRT with profiling on.

    Args:
        path: the file.
        seq_len: a file with several signatures is profiled on the one whose inputs are this long.
        threads: of XNNPACK and of the interpreter.

    Raises:
        MeasurementError: the library lacks a function or refuses the file.
    """

    def __init__(self, path: Path, seq_len: int, threads: int) -> None:
        self._library = _Library()
        call = self._library
        self._environment = call.create("LiteRtCreateEnvironment", 0, None)
        self._model = call.create("LiteRtCreateModelFromFile", self._environment, str(path).encode())
        options = call.create("LiteRtCreateOptions")
        call("LiteRtSetOptionsHardwareAccelerators", options, CPU)
        for identifier, text in (
            (b"runtime_options_string", "enable_profiling = true\n"),
            (b"xnnpack", f"num_threads = {threads}\n"),
        ):
            call("LiteRtAddOpaqueOptions", options, call.opaque(identifier, text))
        self._compiled = call.create("LiteRtCreateCompiledModel", self._environment, self._model, options)
        self._profiler = call.create("LiteRtCompiledModelGetProfiler", self._compiled)
        self._number, self._signature = self._find_signature(seq_len)
        self._inputs = dict(self._buffers("Input"))
        self._outputs = dict(self._buffers("Output"))

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> None:
        """One inference; arrays by the signature's input names, in its types."""
        call = self._library
        for name, (buffer, _) in self._inputs.items():
            memory = call.create_last("LiteRtLockTensorBuffer", buffer, last=WRITE)
            values = np.ascontiguousarray(inputs[name])
            ctypes.memmove(memory, values.ctypes.data, values.nbytes)
            call("LiteRtUnlockTensorBuffer", buffer)
        into, out = (
            (c_void_p * len(buffers))(*(buffer.value for buffer, _ in buffers.values()))
            for buffers in (self._inputs, self._outputs)
        )
        counts = c_size_t(len(into)), c_size_t(len(out))
        call("LiteRtRunCompiledModel", self._compiled, self._number, counts[0], into, counts[1], out)

    def profiled(self, inputs: Mapping[str, NDArray[Any]]) -> list[tuple[str, bool, float]]:
        """One inference, watched: (operator, whether XNNPACK ran it, ms) in the order they ran."""
        call = self._library
        call("LiteRtStartProfiler", self._profiler)
        self.run(inputs)
        call("LiteRtStopProfiler", self._profiler)
        count = c_int()
        call("LiteRtGetNumProfilerEvents", self._profiler, byref(count))
        events = (_Event * count.value)()
        call("LiteRtGetProfilerEvents", self._profiler, count, events)
        found = [
            (event.tag.decode(), event.kind == DELEGATED_OPERATOR, event.elapsed / 1e3)
            for event in events
            if event.kind in (OPERATOR, DELEGATED_OPERATOR)
        ]
        call("LiteRtResetProfiler", self._profiler)
        return found

    def _find_signature(self, seq_len: int) -> tuple[c_size_t, c_void_p]:
        call = self._library
        for number in range(call.count("LiteRtGetNumModelSignatures", self._model)):
            signature = call.create("LiteRtGetModelSignature", self._model, c_size_t(number))
            tensor = call.create("LiteRtGetSignatureInputTensorByIndex", signature, c_size_t(0))
            if seq_len in call.tensor_type(tensor).shape[:2]:
                return c_size_t(number), signature
        raise MeasurementError(f"no signature of the model has inputs of {seq_len} tokens")

    def _buffers(self, side: str) -> Iterator[tuple[str, tuple[c_void_p, c_void_p]]]:
        """A tensor's name → its buffer and its tensor, for "Input" or "Output"."""
        call = self._library
        for index in range(call.count(f"LiteRtGetNumSignature{side}s", self._signature)):
            place = c_size_t(index)
            name = c_char_p()
            call(f"LiteRtGetSignature{side}Name", self._signature, place, byref(name))
            tensor = call.create(f"LiteRtGetSignature{side}TensorByIndex", self._signature, place)
            needs = call.create(
                f"LiteRtGetCompiledModel{side}BufferRequirements", self._compiled, self._number, place
            )
            kind = byref(call.tensor_type(tensor))
            make = "LiteRtCreateManagedTensorBufferFromRequirements"
            yield (name.value or b"").decode(), (call.create(make, self._environment, kind, needs), tensor)


class _Library:
    """Calls into libLiteRt.so; a status other than 0 is a `MeasurementError`."""

    def __init__(self) -> None:
        import ai_edge_litert

        self._functions = ctypes.CDLL(str(Path(ai_edge_litert.__file__).parent / "libLiteRt.so"))
        self._c = ctypes.CDLL(None)
        self._c.strdup.restype = c_void_p

    def __call__(self, name: str, *arguments: Any) -> None:
        try:
            function = getattr(self._functions, name)
        except AttributeError:
            raise MeasurementError(
                f"this ai-edge-litert has no {name}; profiling knows version 2.3.0"
            ) from None
        if status := function(*arguments):
            raise MeasurementError(f"{name} failed with status {status}")

    def create(self, name: str, *arguments: Any) -> c_void_p:
        """Call a function whose last argument is the handle it makes."""
        handle = c_void_p()
        self(name, *arguments, byref(handle))
        return handle

    def create_last(self, name: str, handle: c_void_p, *, last: int) -> c_void_p:
        """Call a function that makes a pointer in its second argument."""
        made = c_void_p()
        self(name, handle, byref(made), last)
        return made

    def count(self, name: str, handle: c_void_p) -> int:
        """Call a function that counts."""
        number = c_size_t()
        self(name, handle, byref(number))
        return number.value

    def tensor_type(self, tensor: c_void_p) -> _TensorType:
        """Type and shape of a tensor."""
        found = _TensorType()
        self("LiteRtGetRankedTensorType", tensor, byref(found))
        return found

    def opaque(self, identifier: bytes, text: str) -> c_void_p:
        """Options as text, which LiteRT parses; it frees its copy with C's `free`."""
        copy = c_void_p(self._c.strdup(c_char_p(text.encode())))
        free = ctypes.cast(self._c.free, c_void_p)
        return self.create("LiteRtCreateOpaqueOptions", identifier, copy, free)
