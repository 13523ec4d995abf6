"""The packages that run a model file: LiteRT (or the older tflite-runtime) and ONNX Runtime, behind one call.

Inputs and outputs are found by name, never by position.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.card import (
    BATCH_AXIS,
    INPUT_NAMES,
    OUTPUT_NAME,
    PACKED_SIGNATURE,
    TOKENS_AXIS,
    ArtefactCard,
)
from mobilebert_runtime.engine import Engine
from mobilebert_runtime.errors import ArtefactError, ToolError
from mobilebert_runtime.packing import PackedShape

# Import name of each interpreter → package to install; the first that is installed is used.
TFLITE_RUNTIMES = {
    "ai_edge_litert.interpreter": "ai-edge-litert",
    "tflite_runtime.interpreter": "tflite-runtime",
}


# How an .onnx file names another that holds a tensor's values: a StringStringEntryProto, key "location".
_EXTERNAL = b"\n\x08location\x12"
LAST_TFLITE_RUNTIME = (2, 14)
# Inputs in one call of a file that takes several: more save no time, and hold more memory. Measured for the
# shipped int8 artefact, ms an input of 32 tokens: 1.61 alone, 1.25 of two, 1.14 of four, 1.11 of eight.
MOST_ROWS = 8


class Backend(Protocol):
    """A loaded model file.

    Attributes:
        name: of the package that runs it.
        most_rows: inputs that one call takes at most.
        packed: the graph that compares a query with several texts; None where the file has none.
    """

    name: str
    most_rows: int
    packed: PackedGraph | None

    def run(self, inputs: Mapping[str, NDArray[np.int32]]) -> Mapping[str, NDArray[np.float32]]:
        """Int32 (B, S) by input name, S a bucket, B ≤ `most_rows` → float32 (B, …) by output name."""


@dataclass(frozen=True)
class PackedGraph:
    """The graph of a .tflite file that reads a query and several texts at once."""

    shape: PackedShape
    # Int32 (1, S) by input name → float32 (1, texts, labels) by output name, as `Backend.run`.
    run: Callable[[Mapping[str, NDArray[np.int32]]], Mapping[str, NDArray[np.float32]]]


def open_backend(model: Path, content: bytes, card: ArtefactCard, threads: int) -> Backend:
    """Load a model and check that it has exactly the inputs and outputs io.json names.

    Args:
        model: the file, for messages.
        content: its bytes; what becomes of the file makes no difference.
        card: of the artefact.
        threads: of one inference.

    Raises:
        ArtefactError: the runtime refuses the file, or names, types or shapes differ from io.json.
        ToolError: no runtime for this target is installed.
    """
    opened = _open_tflite if card.target == "tflite" else _open_onnx
    backend, specs = opened(model, content, card, threads)
    for bucket, (inputs, outputs) in zip(card.buckets, specs):
        expected_inputs: TensorSpecs = dict.fromkeys(card.inputs, ("int32", (1, bucket.seq_len)))
        expected_outputs: TensorSpecs = {
            name: ("float32", shape) for name, shape in card.outputs(bucket.seq_len).items()
        }
        for found, expected, what in (
            (inputs, expected_inputs, "inputs"),
            (outputs, expected_outputs, "outputs"),
        ):
            if found != expected:
                raise ArtefactError(
                    f"{model}: its {what} are {_describe(found)} but io.json needs {_describe(expected)}; "
                    "export it again"
                )
    return backend


# A tensor's name → its type and shape.
TensorSpecs = dict[str, tuple[str, tuple[int, ...]]]
# Inputs and outputs of each bucket, in the card's order.
BucketSpecs = list[tuple[TensorSpecs, TensorSpecs]]


class _TfliteBackend:
    most_rows = 1  # the graphs have static shapes

    def __init__(self, name: str, engine: Engine, packed: PackedShape | None) -> None:
        self.name = name
        self.engine = engine  # opens the runners: by sequence length, and that of the packed graph
        self.packed: PackedGraph | None = None
        if packed is not None:
            # Not by a method of its own: a backend that held itself would outlive its last user.
            self.packed = PackedGraph(packed, partial(_call, name, engine, PACKED_SIGNATURE))

    def run(self, inputs: Mapping[str, NDArray[np.int32]]) -> Mapping[str, NDArray[np.float32]]:
        return _call(self.name, self.engine, inputs[INPUT_NAMES[0]].shape[1], inputs)


def _call(
    name: str, engine: Engine, graph: int | str, inputs: Mapping[str, NDArray[np.int32]]
) -> Mapping[str, NDArray[np.float32]]:
    """One inference; an interpreter has one set of tensors, which a second thread would overwrite."""
    try:
        with engine.alone() as runners:
            return runners[graph](**inputs)
    except (ValueError, RuntimeError) as error:
        if isinstance(error, ToolError):
            raise
        raise _failed(name, error) from None


def _open_tflite(
    model: Path, content: bytes, card: ArtefactCard, threads: int
) -> tuple[Backend, BucketSpecs]:
    minimum = card.minimum_runtime.get("tflite", "0")
    # The last tflite-runtime is 2.14; LiteRT counts its own versions and reads what any of them reads.
    names = list(TFLITE_RUNTIMES.values()) if _number(minimum) <= LAST_TFLITE_RUNTIME else ["ai-edge-litert"]
    module, package = _first_installed(TFLITE_RUNTIMES, model, names)
    if package == "tflite-runtime":
        _require_version(package, minimum, "ai-edge-litert")

    def open_runners() -> dict[int | str, Any]:
        interpreter = module.Interpreter(model_content=content, num_threads=threads)
        interpreter.allocate_tensors()
        runners: dict[int | str, Any] = {
            bucket.seq_len: interpreter.get_signature_runner(bucket.signature) for bucket in card.buckets
        }
        if PACKED_SIGNATURE in interpreter.get_signature_list():
            runners[PACKED_SIGNATURE] = interpreter.get_signature_runner(PACKED_SIGNATURE)
        return runners

    def specs(details: Mapping[str, Any]) -> TensorSpecs:
        return {name: (np.dtype(d["dtype"]).name, tuple(map(int, d["shape"]))) for name, d in details.items()}

    try:
        engine = Engine(open_runners)
        with engine.alone() as runners:
            found = {
                graph: (specs(run.get_input_details()), specs(run.get_output_details()))
                for graph, run in runners.items()
            }
    except Exception as error:  # a damaged file fails in as many ways as it has fields
        raise ArtefactError(
            f"{model}: {package} refuses it ({_first_line(error)}); export it again"
        ) from error
    packed = found.pop(PACKED_SIGNATURE, None)
    shape = None if packed is None else _packed_shape(model, card, *packed)
    return _TfliteBackend(package, engine, shape), list(found.values())


def _packed_shape(model: Path, card: ArtefactCard, inputs: TensorSpecs, outputs: TensorSpecs) -> PackedShape:
    """Tokens and texts of the packed graph; `ArtefactError` where it does not fit io.json."""
    texts = next((shape[1] for _, shape in outputs.values() if len(shape) > 1), 0)
    if (
        inputs != dict.fromkeys(card.inputs, ("int32", (1, card.seq_len)))
        or outputs != {OUTPUT_NAME: ("float32", (1, texts, len(card.labels)))}
        or not (card.embedding and texts)
    ):
        raise ArtefactError(
            f"{model}: its signature {PACKED_SIGNATURE} has inputs {_describe(inputs)} and outputs "
            f"{_describe(outputs)}, which do not fit io.json; export it again"
        )
    return PackedShape(card.seq_len, texts)


class _OnnxBackend:
    name = "onnxruntime"
    packed: PackedGraph | None = None  # inputs of like length run together instead

    def __init__(self, engine: Engine) -> None:
        self.engine = engine  # opens the session
        session = engine.get()
        # Files of one sequence length have static shapes.
        free = all(argument.shape[:1] == [BATCH_AXIS] for argument in session.get_inputs())
        self.most_rows = MOST_ROWS if free else 1
        self.outputs = [output.name for output in session.get_outputs()]

    def run(self, inputs: Mapping[str, NDArray[np.int32]]) -> Mapping[str, NDArray[np.float32]]:
        try:
            return dict(zip(self.outputs, self.engine.get().run(self.outputs, dict(inputs))))
        except Exception as error:  # its exceptions share no public base class
            raise _failed(self.name, error) from error


def _open_onnx(model: Path, content: bytes, card: ArtefactCard, threads: int) -> tuple[Backend, BucketSpecs]:
    if _EXTERNAL in content:
        raise ArtefactError(f"{model}: keeps weights in another file, which has no checksum; export it again")
    minimum = card.minimum_runtime.get("onnxruntime", "0")
    needed = "onnxruntime" if minimum == "0" else f"'onnxruntime>={minimum}'"
    onnxruntime, package = _first_installed({"onnxruntime": "onnxruntime"}, model, [needed])
    _require_version(package, minimum, package)
    options = onnx_options(onnxruntime, threads)
    try:
        engine = Engine(
            lambda: onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        )
    except Exception as error:  # its exceptions share no public base class
        raise ArtefactError(
            f"{model}: onnxruntime refuses it ({_first_line(error)}); export it again"
        ) from error

    def specs(arguments: Sequence[Any], tokens: int) -> TensorSpecs:
        types = {"tensor(float)": "float32", "tensor(int32)": "int32"}
        free = {TOKENS_AXIS: tokens, BATCH_AXIS: 1}
        return {
            arg.name: (
                types.get(arg.type, arg.type),
                tuple(free.get(axis, axis) for axis in arg.shape),
            )
            for arg in arguments
        }

    session = engine.get()
    return _OnnxBackend(engine), [
        (specs(session.get_inputs(), bucket.seq_len), specs(session.get_outputs(), bucket.seq_len))
        for bucket in card.buckets
    ]


def onnx_options(onnxruntime: Any, threads: int) -> Any:
    """Session options for one model and a number of threads, the same for running and measuring."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only; a refused file is reported by the caller
    # Spinning threads slow everything down as soon as there are more of them than cores.
    spin = "1" if threads <= (os.cpu_count() or 1) else "0"
    options.add_session_config_entry("session.intra_op.allow_spinning", spin)
    return options


def _first_installed(packages: Mapping[str, str], model: Path, advised: Sequence[str]) -> tuple[Any, str]:
    for module, package in packages.items():
        if (found := _import(module, package)) is not None:
            return found, package
    names = " or ".join(f"`pip install {package}`" for package in advised)
    raise ToolError(f"{model.name} needs a runtime that is not installed: {names}")


def _import(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise ToolError(
                f"{package} is installed but lacks {error.name}; `pip install {error.name}`"
            ) from None
        return None
    except ImportError as error:  # such as a C library that is too old for it
        raise ToolError(
            f"{package} is installed but can't be loaded ({_first_line(error)}); install a version that fits "
            "this system"
        ) from None


def _require_version(package: str, minimum: str, instead: str) -> None:
    """Refuse a runtime that is too old: some load a newer file and return wrong numbers without a word."""
    installed = importlib.metadata.version(package)
    if _number(installed) < _number(minimum):
        raise ToolError(
            f"{package} {installed} can't run this artefact, which needs {minimum} or newer; "
            f"`pip install --upgrade {instead}`"
        )


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def _failed(package: str, error: Exception) -> ArtefactError:
    """Such as a token that the network's table does not have."""
    return ArtefactError(f"{package} can't run the network ({_first_line(error)}); export the artefact again")


def _describe(specs: Mapping[str, tuple[str, Sequence[int]]]) -> str:
    return ", ".join(f"{name} {kind}{list(shape)}" for name, (kind, shape) in sorted(specs.items()))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
