"""The card of an artefact folder (io.json): what the files are, how the model is fed, how its answer is read.

Standard library only.

    DIR/model.tflite | model.onnx   the network, one or several sequence lengths (buckets)
        tokenizer.json, vocab.txt   the tokenizer; vocab.txt of a WordPiece alone
        spelling.txt                words by which texts are corrected first, where the card says so
        io.json                     named inputs and outputs, task, labels, decision (`ArtefactCard`)
        recipe.json                 how it was quantised
        report.json, report.md      what was verified and measured
        SHA256SUMS                  of every other file (`sha256sum -c` reads it)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mobilebert_runtime.card_parts import (
    BERT_TOKENIZER,
    FLOAT32,
    TOKENS,
    TRUNCATION_SIDES,
    Bucket,
    CardError,
    Embedding,
    TokenizerCard,
    read_buckets,
    read_embedding,
    read_shift,
    read_tokenizer,
    read_versions,
)
from mobilebert_runtime.checked import Fields, as_json, read_json, there
from mobilebert_runtime.checksums import LONGEST_NAME, Checksums
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.find import CARD_FILE, find_folder
from mobilebert_runtime.length_shift import LengthShift

# A reader of another format would give other scores, so a card of another format is refused.
FORMAT = 1
MODEL_FILES = {"tflite": "model.tflite", "onnx": "model.onnx"}
INPUT_NAMES = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT_NAME = "logits"
EMBEDDING_NAME = "embedding"
# Of a .tflite file whose matcher is `symmetric`, beside those of the buckets: one query with several texts
# (`mobilebert_runtime.packing`). The card does not mention it.
PACKED_SIGNATURE = "packed"
# The input axes of an .onnx file that take every bucket's length, and several inputs at once.
TOKENS_AXIS, BATCH_AXIS = "tokens", "batch"
MOST_LABELS = 1000
TEMPERATURES = (1e-3, 1e3)  # `mobilebert calibrate` looks no further
MATCHING, EMBEDDING = "text-matching", "sentence-embedding"
CLASSIFICATION, TOKEN_CLASSIFICATION = "text-classification", "token-classification"
QUESTION_ANSWERING = "question-answering"


@dataclass(frozen=True)
class Task:
    """What the cards of one task may say."""

    texts: tuple[int, ...]
    activations: tuple[str | None, ...]  # None: no labels
    truncation: str = "longest_first"


SPANS = (TOKEN_CLASSIFICATION, QUESTION_ANSWERING)
ACTIVATIONS = ("softmax", "sigmoid", "identity")
TASKS = {
    MATCHING: Task((2,), ACTIVATIONS),
    CLASSIFICATION: Task((1, 2), ACTIVATIONS),
    TOKEN_CLASSIFICATION: Task((1,), ("softmax",)),
    QUESTION_ANSWERING: Task((2,), (None,), "only_second"),
    EMBEDDING: Task((1,), (None,)),
}


@dataclass(frozen=True)
class ArtefactCard:
    """io.json: all an application needs to feed the model and read its answer.

    Raises:
        ArtefactError: fields contradict each other, such as a softmax over one logit, which is always 1.
    """

    target: str  # "tflite" or "onnx"
    quant: str  # name of the recipe's quantisation: none, dynamic, int8
    model_file: str
    buckets: tuple[Bucket, ...]  # by ascending length; an input runs in the smallest that holds it
    labels: tuple[str, ...]  # of the logits, in this order; none for question answering and sentence vectors
    attention_mask_value: float  # added by the model to the scores of padding; told for the record
    minimum_runtime: dict[str, str]
    task: str = MATCHING
    texts: int = 2  # that one input has
    inputs: tuple[str, ...] = INPUT_NAMES  # that the network reads
    activation: str | None = "softmax"  # of the logits; None without labels
    tokenizer: TokenizerCard = BERT_TOKENIZER
    embedding: Embedding | None = None  # beside the logits of a matcher: the vector of the first text
    stride: int | None = None  # of question answering: tokens by which windows of a long context overlap
    # Of matching alone:
    positive: int = 0  # index of the label whose probability `score` returns
    threshold: float = 0.5  # score of `positive` at and above which the pair is called that label
    temperature: float = 1.0  # logits are divided by it before the activation
    # Added to the log-odds of `positive` after the temperature, by the pair's length divergence.
    length_shift: LengthShift | None = None

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise CardError(f"task {self.task!r:.60} is none of {', '.join(TASKS)}")
        task = TASKS[self.task]
        if self.texts not in task.texts:
            raise CardError(f"texts is {self.texts}, which {self.task} does not take")
        if self.texts == 2 and self.tokenizer.template.pair is None:
            raise CardError("template pair is missing, and an input has two texts")
        if self.inputs not in (INPUT_NAMES, INPUT_NAMES[:2]):
            raise CardError(f"inputs are not {', '.join(INPUT_NAMES)}, the last where the network has types")
        if self.tokenizer.spelling and self.task in SPANS:
            raise CardError(f"tokenizer spelling does not fit {self.task}, whose answers are characters")
        if self.tokenizer.truncation_side != TRUNCATION_SIDES[0] and (
            self.task in SPANS or (self.task == MATCHING and self.embedding is not None)
        ):
            raise CardError(
                f"tokenizer truncation_side {self.tokenizer.truncation_side} does not fit {self.task}"
                f"{' by vectors' if self.task == MATCHING else ', whose answers are parts of a text'}"
            )
        if self.tokenizer.sort_texts and (self.task != MATCHING or self.embedding is not None):
            raise CardError(
                f"tokenizer sort_texts does not fit {self.task}"
                f"{' by vectors, which reads each text by itself' if self.task == MATCHING else ''}"
            )
        if (self.stride is None) is (self.task == QUESTION_ANSWERING):
            raise CardError(f"context stride is {self.stride!r}, which does not fit {self.task}")
        if self.stride is not None and not 0 <= self.stride < self.seq_len:
            raise CardError(f"context stride {self.stride} is not from 0 to {self.seq_len - 1}")
        self._check_labels(task)
        self._check_embedding()
        if self.task == MATCHING:
            self._check_decision()

    def _check_labels(self, task: Task) -> None:
        count, activation = len(self.labels), self.activation
        if activation not in task.activations:
            raise CardError(f"activation {activation!r:.60} is none of {task.activations} of {self.task}")
        least = 0 if activation is None else 2 if activation == "softmax" else 1
        if not least <= count <= (MOST_LABELS if activation else 0):
            raise CardError(f"{count} labels do not fit activation {activation!r}")
        if self.task == MATCHING and count > 1 and activation != "softmax":
            raise CardError(f"activation {activation!r} of a matcher needs one label, not {count}")

    def _check_embedding(self) -> None:
        if self.task == EMBEDDING and self.embedding is None:
            raise CardError("embedding is missing")
        if self.task not in (MATCHING, EMBEDDING) and self.embedding is not None:
            raise CardError(f"embedding does not fit {self.task}")

    def _check_decision(self) -> None:
        if not 0 <= self.positive < len(self.labels):
            raise CardError(f"positive {self.positive} is not from 0 to {len(self.labels) - 1}")
        plain = self.activation == "identity"
        low, high = (-FLOAT32, FLOAT32) if plain else (0.0, 1.0)
        if not low <= self.threshold <= high:
            raise CardError(f"threshold {self.threshold:g} is not from {low:g} to {high:g}")
        if plain and (self.temperature != 1 or self.length_shift):
            raise CardError("temperature and length_shift do not fit activation 'identity'")

    @property
    def seq_len(self) -> int:
        """Tokens of the largest bucket; longer inputs are truncated to it."""
        return self.buckets[-1].seq_len

    @property
    def symmetric(self) -> bool:
        """Does the order of a pair's texts make no difference to a matcher's logits?

        A matcher that returns the vector of its first text reads each text by itself and compares the two: an
        embedding matcher, whose head is symmetric. All other matchers are cross-encoders, which read both
        texts in the given order unless their tokenizer sorts them.
        """
        return self.task == MATCHING and (self.embedding is not None or self.tokenizer.sort_texts)

    @property
    def files(self) -> set[str]:
        """Names of the files that the artefact needs besides its checksums."""
        return {CARD_FILE, self.model_file, *self.tokenizer.files}

    def bucket(self, tokens: int) -> Bucket:
        """The smallest bucket that holds this many tokens, else the largest."""
        return next((one for one in self.buckets if one.seq_len >= tokens), self.buckets[-1])

    def outputs(self, seq_len: int) -> dict[str, tuple[int, ...]]:
        """Shape of each float32 output by name, for inputs of this many tokens."""
        shapes: dict[str, tuple[int, ...]] = {}
        if self.task == TOKEN_CLASSIFICATION:
            shapes[OUTPUT_NAME] = (1, seq_len, len(self.labels))
        elif self.task == QUESTION_ANSWERING:
            shapes[OUTPUT_NAME] = (1, seq_len, 2)  # where the answer starts and ends
        elif self.task != EMBEDDING:
            shapes[OUTPUT_NAME] = (1, len(self.labels))
        if self.embedding:
            shapes[EMBEDDING_NAME] = (1, self.embedding.size)
        return shapes

    def shift(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """What each pair's lengths add to the log-odds of `positive`; zeros without a length shift."""
        return self.length_shift.of(pairs) if self.length_shift else [0.0] * len(pairs)

    def to_json(self) -> dict[str, Any]:
        """The io.json object."""
        return {
            "format": FORMAT,
            "task": self.task,
            "target": self.target,
            "quant": self.quant,
            "model_file": self.model_file,
            "texts": self.texts,
            "seq_len": self.seq_len,
            "buckets": [asdict(bucket) for bucket in self.buckets],
            "inputs": self._inputs_json(),
            "outputs": self._outputs_json(),
            "labels": list(self.labels),
            "activation": self.activation,
            **(self._decision_json() if self.task == MATCHING else {}),
            "embedding": self.embedding and self.embedding.to_json(),
            "attention_mask_value": self.attention_mask_value,
            "tokenizer": self.tokenizer.to_json(TASKS[self.task].truncation),
            **({} if self.stride is None else {"context": {"stride": self.stride}}),
            "minimum_runtime": self.minimum_runtime,
        }

    def _inputs_json(self) -> list[dict[str, Any]]:
        return [{"name": name, "dtype": "int32", "shape": [1, self.seq_len]} for name in self.inputs]

    def _outputs_json(self) -> list[dict[str, Any]]:
        shapes = self.outputs(self.seq_len)
        return [{"name": name, "dtype": "float32", "shape": list(shape)} for name, shape in shapes.items()]

    def _decision_json(self) -> dict[str, Any]:
        return {
            "positive": self.positive,
            "threshold": self.threshold,
            "temperature": self.temperature,
            "length_shift": self.length_shift and self.length_shift.to_json(),
        }

    @classmethod
    def from_json(cls, data: Any, where: Path) -> ArtefactCard:
        """Read an io.json object; raises `ArtefactError` naming the first field that is wrong."""
        fields = Fields(data, str(where))
        if fields.take("format", int) != FORMAT:
            raise fields.fault(f"format is {data['format']!r:.60}, this version reads format {FORMAT}")
        try:
            card = _read(fields)
        except CardError as error:
            raise fields.fault(str(error)) from None
        for name, expected in (("inputs", card._inputs_json()), ("outputs", card._outputs_json())):
            if fields.take(name, list) != expected:
                raise fields.fault(f"{name} are not {expected!r}")
        fields.only(*_MEMBERS)
        return card


_MEMBERS = (
    *("format", "task", "target", "quant", "model_file", "texts", "seq_len", "buckets", "inputs", "outputs"),
    *("labels", "activation", "positive", "threshold", "temperature", "length_shift", "embedding"),
    *("attention_mask_value", "tokenizer", "context", "minimum_runtime"),
)


def _read(fields: Fields) -> ArtefactCard:
    target, model_file = fields.text("target"), fields.text("model_file")
    if MODEL_FILES.get(target) != model_file:
        known = ", ".join(f"{target}: {file}" for target, file in MODEL_FILES.items())
        raise fields.fault(f"target {target!r} with model file {model_file!r} is none of {known}")
    task = fields.text("task")
    if task not in TASKS:
        raise fields.fault(f"task {task!r} is none of {', '.join(TASKS)}")
    return ArtefactCard(
        target=target,
        quant=fields.text("quant"),
        model_file=model_file,
        buckets=read_buckets(fields),
        labels=tuple(fields.texts("labels", 0, MOST_LABELS)),
        attention_mask_value=fields.number("attention_mask_value", -FLOAT32, 0.0),
        minimum_runtime=dict(read_versions(fields.object("minimum_runtime"))),
        task=task,
        texts=fields.integer("texts", 1, 2),
        inputs=_read_inputs(fields),
        activation=fields.take("activation", str, type(None)),
        tokenizer=read_tokenizer(fields, TASKS[task].truncation),
        embedding=read_embedding(fields),
        stride=fields.object("context").integer("stride", 0, TOKENS[1])
        if task == QUESTION_ANSWERING
        else None,
        **(_read_decision(fields) if task == MATCHING else {}),
    )


def _read_inputs(fields: Fields) -> tuple[str, ...]:
    """Names of the inputs; whether the rest of them is right is checked against the whole card."""
    return tuple(entry.text("name") for entry in fields.objects("inputs", len(INPUT_NAMES)))


def _read_decision(fields: Fields) -> dict[str, Any]:
    return {
        "positive": fields.integer("positive", 0, MOST_LABELS),
        "threshold": fields.number("threshold", -FLOAT32, FLOAT32),
        "temperature": fields.number("temperature", *TEMPERATURES),
        "length_shift": read_shift(fields),
    }


def read_card(directory: str | Path) -> ArtefactCard:
    """io.json of an artefact folder, or of a name that `find_folder` knows; raises `ArtefactError`."""
    path = require_folder(find_folder(directory)) / CARD_FILE
    return ArtefactCard.from_json(read_json(path), path)


def require_folder(directory: str | Path) -> Path:
    """The folder, if there is one that holds a card; raises `ArtefactError`."""
    folder = Path(directory)
    if not (there(folder) and folder.is_dir()):
        name = str(folder) if len(str(folder)) <= LONGEST_NAME else f"{str(folder)[:LONGEST_NAME]}…"
        raise ArtefactError(
            f"{name}: no such artefact folder; make one with `mobilebert export --out {name}`"
        )
    if not there(folder / CARD_FILE):
        raise ArtefactError(f"{folder}: no {CARD_FILE} in it, so it is not an artefact folder")
    return folder


def read_recipe(directory: str | Path) -> dict[str, Any]:
    """recipe.json of an artefact folder; raises `ArtefactError`."""
    path = Path(directory) / "recipe.json"
    data = read_json(path)
    parts = [data.get(name) if isinstance(data, dict) else None for name in ("recipe", "model")]
    if not all(isinstance(part, dict) for part in parts):
        raise ArtefactError(f"{path}: lacks the recipe or the model; export the artefact again")
    if missing := {"name", "sha256"} - data["model"].keys():
        raise ArtefactError(f"{path}: lacks the model's {min(missing)}; export the artefact again")
    return data


def check_checksums(directory: str | Path) -> None:
    """Compare every file of an artefact folder with SHA256SUMS.

    Raises:
        ArtefactError: a file is missing, was changed or cut short, or SHA256SUMS itself is missing or
            does not cover the artefact's own files.
    """
    folder = require_folder(directory)
    sums = Checksums(folder)
    card = as_json(sums.read(CARD_FILE), folder / CARD_FILE)
    sums.require(ArtefactCard.from_json(card, folder / CARD_FILE).files)
    for name in sums.digests.keys() - {CARD_FILE}:
        sums.check(name)
