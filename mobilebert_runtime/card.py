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

import re
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mobilebert_runtime.checked import Fields, check_file, read_json, read_text
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
# What a card may say; everything beyond is a damaged or a made-up one.
TOKENS = (3, 1 << 16)
MOST_BUCKETS = 64
MOST_LABELS = 1000
TEMPERATURES = (1e-3, 1e3)  # `mobilebert calibrate` looks no further
MOST_ADDED = 100.0  # to the log-odds
FLOAT32 = 3.4e38
LONGEST_NAME = 255


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
    def from_json(cls, data: Any, where: Path) -> ArtefactCard:
        """Read an io.json object; raises `ArtefactError` naming the first field that is wrong."""
        fields = Fields(data, str(where))
        version = fields.take("format", int)
        if version not in READABLE_FORMATS:
            known = ", ".join(map(str, READABLE_FORMATS))
            raise fields.fault(f"format is {version!r}, this version reads formats {known}")
        target, model_file = fields.text("target"), fields.text("model_file")
        if MODEL_FILES.get(target) != model_file:
            known = ", ".join(f"{target}: {file}" for target, file in MODEL_FILES.items())
            raise fields.fault(f"target {target!r} with model file {model_file!r} is none of {known}")
        labels = fields.texts("labels", 2, MOST_LABELS)
        positive = fields.integer("positive", 0, len(labels) - 1)
        tokenizer = fields.object("tokenizer")
        card = cls(
            target=target,
            quant=fields.text("quant"),
            model_file=model_file,
            buckets=_read_buckets(fields, version),
            labels=tuple(labels),
            positive=positive,
            threshold=fields.number("threshold", 0.0, 1.0),
            temperature=fields.number("temperature", *TEMPERATURES),
            attention_mask_value=fields.number("attention_mask_value", -FLOAT32, 0.0),
            lowercase=tokenizer.take("lowercase", bool),
            minimum_runtime=_read_versions(fields.object("minimum_runtime")),
            length_shift=_read_shift(fields) if version > 2 else None,
        )
        if data["tokenizer"] != (expected := card.to_json()["tokenizer"]):
            raise fields.fault(f"tokenizer is {data['tokenizer']!r:.120}, not {expected!r}")
        shapes = card.to_json()
        for name in ("inputs", "outputs"):
            if fields.take(name, list) != shapes[name]:
                raise fields.fault(f"{name} are not {shapes[name]!r}")
        return card


def _read_buckets(fields: Fields, version: int) -> tuple[Bucket, ...]:
    longest = fields.integer("seq_len", *TOKENS)
    if version == 1:
        return (Bucket(longest),)
    entries = fields.objects("buckets", MOST_BUCKETS)
    buckets = tuple(
        Bucket(
            entry.integer("seq_len", *TOKENS),
            entry.text("signature") if entry.take("signature", str, type(None)) is not None else None,
        )
        for entry in entries
    )
    lengths = [bucket.seq_len for bucket in buckets]
    if not lengths or lengths != sorted(set(lengths)) or lengths[-1] != longest:
        raise fields.fault(
            f"buckets of {lengths} tokens with seq_len {longest!r} can't be; "
            "expected ascending lengths that end in seq_len"
        )
    return buckets


def _read_versions(fields: Fields) -> dict[str, str]:
    versions = {name: fields.text(name) for name in fields.data}
    for name, version in versions.items():
        if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6}){0,3}", version):
            raise fields.fault(f"minimum_runtime of {name!r:.60} is {version!r}, not a version such as 2.14")
    return versions


def _read_shift(fields: Fields) -> LengthShift | None:
    if fields.take("length_shift", dict, type(None)) is None:
        return None
    shift = fields.object("length_shift")
    quartiles, added = (
        shift.numbers("quartiles", 0.0, FLOAT32),
        shift.numbers("added", -MOST_ADDED, MOST_ADDED),
    )
    try:
        return LengthShift(quartiles, added)
    except ValueError as error:
        raise fields.fault(f"length_shift: {error}") from None


def read_card(directory: str | Path) -> ArtefactCard:
    """io.json of an artefact folder; raises `ArtefactError`."""
    folder = Path(directory)
    try:
        found = stat.S_ISDIR(folder.stat().st_mode)
    except (OSError, ValueError):  # among others a name that is too long
        found = False
    if not found:
        name = str(folder) if len(str(folder)) <= LONGEST_NAME else f"{str(folder)[:LONGEST_NAME]}…"
        raise ArtefactError(
            f"{name}: no such artefact folder; make one with `mobilebert export --out {name}`"
        )
    if not (folder / CARD_FILE).exists():
        raise ArtefactError(f"{folder}: no {CARD_FILE} in it, so it is not an artefact folder")
    return ArtefactCard.from_json(read_json(folder / CARD_FILE), folder / CARD_FILE)


def read_recipe(directory: str | Path) -> dict[str, Any]:
    """recipe.json of an artefact folder; raises `ArtefactError`."""
    path = Path(directory) / "recipe.json"
    data = read_json(path)
    if not (isinstance(data, dict) and {"recipe", "model"} <= data.keys()):
        raise ArtefactError(f"{path}: lacks the recipe or the model; export the artefact again")
    return data


def check_checksums(directory: str | Path) -> None:
    """Compare every file with SHA256SUMS.

    Raises:
        ArtefactError: a file is missing, was changed or cut short, or SHA256SUMS itself is missing or
            does not cover the model.
    """
    folder = Path(directory)
    needed = {CARD_FILE, read_card(folder).model_file, "vocab.txt", "tokenizer.json"}
    sums = folder / CHECKSUM_FILE
    listed = {
        name: digest for digest, _, name in (line.partition("  ") for line in read_text(sums).split("\n"))
    }
    listed.pop("", None)
    if missing := sorted(needed - listed.keys()):
        raise ArtefactError(f"{sums}: does not list {missing[0]}; export the artefact again")
    for name, expected in listed.items():
        if len(name) > LONGEST_NAME or name != Path(name).name or not name.isprintable():
            raise ArtefactError(f"{sums}: {name!r:.60} is not a file name; export the artefact again")
        path = folder / name
        check_file(path)
        if file_sha256(path) != expected:
            raise ArtefactError(
                f"{path}: damaged (its SHA-256 is not the one in {CHECKSUM_FILE}); export it again"
            )
