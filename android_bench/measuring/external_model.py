"""Model files that `mobilebert export` did not write, in a folder that says how to feed them.

    FOLDER/bare.json                  `ExternalModel`
           model.tflite | model.onnx
           vocab.txt, tokenizer.json  the text that is measured with is encoded by these

Other converters name, order and type a network's inputs in their own ways. Whatever is measured goes through
`describe` and `open_model`, which know both kinds of folder.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.backends import Backend, PackedGraph, onnx_options, open_backend
from mobilebert_runtime.card import INPUT_NAMES, MODEL_FILES, ArtefactCard, read_card
from mobilebert_runtime.checked import read_bytes
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.files import parse_json

EXTERNAL_MODEL_FILE = "bare.json"


@dataclass(frozen=True)
class ExternalModel:
    """bare.json: what has to be known of a model file to run it."""

    target: str  # "tflite" or "onnx"
    quant: str  # for the report: none, dynamic, int8
    model_file: str
    seq_len: int  # tokens; every input is (1, seq_len)
    # input_ids, attention_mask, token_type_ids → the file's name and numpy type of that input. A network that
    # does without one of them leaves it out.
    inputs: Mapping[str, tuple[str, str]]

    def feed(self, encoded: Mapping[str, NDArray[np.int32]]) -> dict[str, NDArray[Any]]:
        """Encoded pairs (N, seq_len) by our names → by the file's names, in its types."""
        return {name: encoded[ours].astype(kind) for ours, (name, kind) in self.inputs.items()}

    def write(self, folder: Path) -> None:
        """Write bare.json into the folder that holds the model file."""
        (folder / EXTERNAL_MODEL_FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "ExternalModel":
        """Read bare.json; raises `ArtefactError` naming what is wrong."""
        path = folder / EXTERNAL_MODEL_FILE
        try:
            data = parse_json(path.read_text(encoding="utf-8"))
            inputs = {ours: (str(name), np.dtype(kind).name) for ours, (name, kind) in data["inputs"].items()}
            found = cls(**{**data, "inputs": inputs})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ArtefactError(f"{path}: does not describe a model file ({error})") from None
        if found.target not in MODEL_FILES or not found.inputs.keys() <= set(INPUT_NAMES):
            raise ArtefactError(
                f"{path}: target {found.target!r} with inputs {', '.join(found.inputs)}; expected "
                f"{' or '.join(MODEL_FILES)} with inputs of {', '.join(INPUT_NAMES)}"
            )
        if not (folder / found.model_file).is_file():
            raise ArtefactError(
                f"{folder / found.model_file}: no such file, but {EXTERNAL_MODEL_FILE} names it"
            )
        return found


def describe(folder: Path) -> ArtefactCard | ExternalModel:
    """The card of an artefact folder or the description of a bare model; raises `ArtefactError`."""
    return ExternalModel.read(folder) if (folder / EXTERNAL_MODEL_FILE).is_file() else read_card(folder)


def open_model(folder: Path, threads: int) -> Backend:
    """Load the model of either kind of folder.

    A bare model's inputs are checked against its description; `run` returns its first output, in float where
    the file has it in integers.

    Raises:
        ArtefactError: the runtime refuses the file, or its inputs are not those that bare.json names.
        ToolError: no runtime for this target is installed.
    """
    found = describe(folder)
    model = folder / found.model_file
    if isinstance(found, ArtefactCard):
        return open_backend(model, read_bytes(model), found, threads)
    backend = (_BareTflite if found.target == "tflite" else _BareOnnx)(model, threads)
    needed = {name: (kind, (1, found.seq_len)) for name, kind in found.inputs.values()}
    if backend.inputs != needed:
        raise ArtefactError(f"{model}: takes {backend.inputs}, but {EXTERNAL_MODEL_FILE} says {needed}")
    return backend


class _BareTflite:
    name = "ai-edge-litert"
    most_rows = 1
    packed: PackedGraph | None = None

    def __init__(self, model: Path, threads: int) -> None:
        from ai_edge_litert.interpreter import Interpreter

        try:
            interpreter = Interpreter(str(model), num_threads=threads)
            interpreter.allocate_tensors()
            self.runner = interpreter.get_signature_runner()
        except (ValueError, RuntimeError) as error:
            raise ArtefactError(f"{model}: {self.name} refuses it ({error})") from None
        self.inputs = {
            name: (np.dtype(detail["dtype"]).name, tuple(map(int, detail["shape"])))
            for name, detail in self.runner.get_input_details().items()
        }

        self.output, detail = next(iter(self.runner.get_output_details().items()))
        self.scale, self.zero = detail["quantization"]  # (0.0, 0) of a float output

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[np.float32]]:
        found = self.runner(**inputs)[self.output]
        if self.scale:
            found = (found.astype(np.float32) - self.zero) * np.float32(self.scale)
        return {self.output: found}


class _BareOnnx:
    name = "onnxruntime"
    most_rows = 1
    packed: PackedGraph | None = None

    def __init__(self, model: Path, threads: int) -> None:
        import onnxruntime

        options = onnx_options(onnxruntime, threads)
        try:
            self.session = onnxruntime.InferenceSession(
                str(model), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its exceptions share no public base class
            raise ArtefactError(f"{model}: {self.name} refuses it ({error})") from error
        types = {"tensor(int32)": "int32", "tensor(int64)": "int64"}
        self.inputs = {
            one.name: (types.get(one.type, one.type), tuple(one.shape)) for one in self.session.get_inputs()
        }

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        output = self.session.get_outputs()[0].name
        return {output: self.session.run([output], dict(inputs))[0]}
