"""The card of an artefact folder (io.json): what the files are, how the model is fed, how its answer is read.

Standard library only.

    DIR/model.tflite | model.onnx   the network, batch 1, one or several sequence lengths (buckets)
        vocab.txt, tokenizer.json   WordPiece
        io.json                     named inputs and outputs, labels, threshold (`ArtefactCard`)
        recipe.json                 how it was quantised
        report.json, report.md      what was verified and measured
        SHA256SUMS                  of every other file (`sha256sum -c` reads it)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.files import file_sha256
from mobilebert_runtime.length_shift import LengthShift

# Format 1 knew one sequence length; it is still read, as a single bucket without a signature name. Format 2
# had no length shift: its readers would give other scores, so they must not take format 3 for their own.
FORMAT = 3
READABLE_FORMATS = (1, 2, 3)
CARD_FILE = "io.json"
CHECKSUM_FILE = "SHA256SUMS"
MODEL_FILES = {"tflite": "model.tflite", "onnx": "model.onnx"}
INPUT_NAMES = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT_NAME = "logits"
# The input axis of an .onnx file that takes every bucket's length.
TOKENS_AXIS = "tokens"


@dataclass(frozen=True)
class Bucket:
    """A sequence length that the model file can be run at."""

    seq_len: int  # tokens; every input is int32 (1, seq_len)
    # Name of the .tflite signature; None where the file has only one, or takes any length (.onnx).
    signature: str | None = None


@dataclass(frozen=True)
class ArtefactCard:
    """io.json: all an application needs to feed the model and read its answer."""

    target: str  # "tflite" or "onnx"
    quant: str  # name of the recipe's quantisation: none, dynamic, int8
    model_file: str
    buckets: tuple[Bucket, ...]  # by ascending length; a pair runs in the smallest that holds it
    labels: tuple[str, ...]  # logits are float32 (1, len(labels)), in this order
    positive: int  # index of the label whose probability `score` returns
    threshold: float  # probability of `positive` at and above which the pair is called that label
    temperature: float  # logits are divided by it before the softmax
    attention_mask_value: float  # added by the model to the scores of padding; told for the record
    lowercase: bool
    minimum_runtime: dict[str, str]
    # Added to the log-odds of `positive` after the temperature, by the pair's length divergence.
    length_shift: LengthShift | None = None

    @property
    def seq_len(self) -> int:
        """Tokens of the largest bucket; longer pairs are truncated to it."""
        return self.buckets[-1].seq_len

    def bucket(self, tokens: int) -> Bucket:
        """The smallest bucket that holds so many tokens, the largest where none does."""
        return next((one for one in self.buckets if one.seq_len >= tokens), self.buckets[-1])

    def shift(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """What each pair's lengths add to the log-odds of `positive`; zeros without a length shift."""
        return self.length_shift.of(pairs) if self.length_shift else [0.0] * len(pairs)

    def to_json(self) -> dict[str, Any]:
        """The io.json object."""
        inputs = [{"name": name, "dtype": "int32", "shape": [1, self.seq_len]} for name in INPUT_NAMES]
        return {
            "format": FORMAT,
            "target": self.target,
            "quant": self.quant,
            "model_file": self.model_file,
            "seq_len": self.seq_len,
            "buckets": [asdict(bucket) for bucket in self.buckets],
            "inputs": inputs,
            "outputs": [{"name": OUTPUT_NAME, "dtype": "float32", "shape": [1, len(self.labels)]}],
            "labels": list(self.labels),
            "positive": self.positive,
            "threshold": self.threshold,
            "temperature": self.temperature,
            "length_shift": self.length_shift and self.length_shift.to_json(),
            "attention_mask_value": self.attention_mask_value,
            "tokenizer": {
                "vocab": "vocab.txt",
                "file": "tokenizer.json",
                "lowercase": self.lowercase,
                "truncation": "longest_first",
            },
            "minimum_runtime": self.minimum_runtime,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], where: Path) -> ArtefactCard:
        """Read an io.json object; raises `ArtefactError` naming the first field that is wrong."""

        def fault(text: str) -> ArtefactError:
            return ArtefactError(f"{where}: {text}; export the artefact again")

        if not isinstance(data, dict) or data.get("format") not in READABLE_FORMATS:
            found = data.get("format") if isinstance(data, dict) else type(data).__name__
            known = ", ".join(map(str, READABLE_FORMATS))
            raise fault(f"format is {found!r}, this version reads formats {known}")
        try:
            card = cls(
                target=str(data["target"]),
                quant=str(data["quant"]),
                model_file=str(data["model_file"]),
                buckets=_read_buckets(data),
                labels=tuple(str(label) for label in data["labels"]),
                positive=int(data["positive"]),
                threshold=float(data["threshold"]),
                temperature=float(data["temperature"]),
                attention_mask_value=float(data["attention_mask_value"]),
                lowercase=bool(data["tokenizer"]["lowercase"]),
                minimum_runtime=dict(data["minimum_runtime"]),
                length_shift=LengthShift.from_json(data["length_shift"] if data["format"] > 2 else None),
            )
        except KeyError as error:
            raise fault(f"field {error.args[0]!r} is missing") from None
        except (TypeError, ValueError) as error:
            raise fault(f"a field has the wrong type ({error})") from None
        if card.target not in MODEL_FILES or card.model_file != MODEL_FILES[card.target]:
            known = ", ".join(f"{target}: {file}" for target, file in MODEL_FILES.items())
            raise fault(f"target {card.target!r} with model file {card.model_file!r} is none of {known}")
        lengths = [bucket.seq_len for bucket in card.buckets]
        longest = data.get("seq_len")
        if not lengths or lengths != sorted(set(lengths)) or lengths[0] < 3 or lengths[-1] != longest:
            raise fault(
                f"buckets of {lengths} tokens with seq_len {longest!r} can't be; "
                "expected ascending lengths that end in seq_len"
            )
        if len(card.labels) < 2 or not 0 <= card.positive < len(card.labels):
            raise fault(f"labels {list(card.labels)}, positive {card.positive} can't be")
        if not card.temperature > 0:
            raise fault(f"temperature {card.temperature} is not above 0")
        if [spec.get("name") for spec in data.get("inputs", [])] != list(INPUT_NAMES):
            raise fault(f"inputs are not {', '.join(INPUT_NAMES)} in this order")
        return card


def _read_buckets(data: dict[str, Any]) -> tuple[Bucket, ...]:
    if data["format"] == 1:
        return (Bucket(int(data["seq_len"])),)
    return tuple(
        Bucket(int(entry["seq_len"]), entry["signature"] and str(entry["signature"]))
        for entry in data["buckets"]
    )


def read_card(directory: str | Path) -> ArtefactCard:
    """io.json of an artefact folder; raises `ArtefactError`."""
    folder = Path(directory)
    if not folder.is_dir():
        raise ArtefactError(
            f"{folder}: no such artefact folder; make one with `mobilebert export --out {folder}`"
        )
    if not (folder / CARD_FILE).is_file():
        raise ArtefactError(f"{folder}: no {CARD_FILE} in it, so it is not an artefact folder")
    return ArtefactCard.from_json(_read_json(folder / CARD_FILE), folder / CARD_FILE)


def read_recipe(directory: str | Path) -> dict[str, Any]:
    """recipe.json of an artefact folder; raises `ArtefactError`."""
    path = Path(directory) / "recipe.json"
    data = _read_json(path)
    if not (isinstance(data, dict) and {"recipe", "model"} <= data.keys()):
        raise ArtefactError(f"{path}: lacks the recipe or the model; export the artefact again")
    return data


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ArtefactError(f"{path}: can't be read as JSON ({error}); export the artefact again") from None


def check_checksums(directory: str | Path) -> None:
    """Compare every file with SHA256SUMS.

    Raises:
        ArtefactError: a file is missing, was changed or cut short, or SHA256SUMS itself is missing or
            does not cover the model.
    """
    folder = Path(directory)
    try:
        lines = (folder / CHECKSUM_FILE).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        raise ArtefactError(f"{folder}: no readable {CHECKSUM_FILE}; export the artefact again") from None
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    needed = {CARD_FILE, read_card(folder).model_file, "vocab.txt", "tokenizer.json"}
    if missing := sorted(needed - listed.keys()):
        raise ArtefactError(
            f"{folder / CHECKSUM_FILE}: does not list {missing[0]}; export the artefact again"
        )
    for name, expected in listed.items():
        path = folder / name
        if not path.is_file():
            raise ArtefactError(f"{path}: missing from the artefact folder; export it again")
        if file_sha256(path) != expected:
            raise ArtefactError(
                f"{path}: damaged (its SHA-256 is not the one in {CHECKSUM_FILE}); export it again"
            )
