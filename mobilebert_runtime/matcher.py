"""Run an artefact folder: numpy, tokenizers and one runtime, nothing else.

    matcher = Matcher.load("artefacts/matcher-int8", threads=2)
    matcher.score([("How old is the Moon?", "What is the age of the Moon?")])   # → array([0.98], float32)

A .tflite file runs in `ai-edge-litert` or, on older systems, in `tflite-runtime`; a .onnx file in
`onnxruntime`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.backends import Backend, open_backend
from mobilebert_runtime.card import INPUT_NAMES, MATCHING, ArtefactCard, check_checksums, read_card
from mobilebert_runtime.checked import read_text
from mobilebert_runtime.errors import ArtefactError, ModelError
from mobilebert_runtime.tokenizer import PairTokenizer

MOST_THREADS = 1024


class Matcher:
    """A pair classifier in a runtime: text pairs in, probabilities out.

    One object may be called from many threads at once. A .tflite file then runs one inference at a time, as
    its interpreter has one set of tensors; with one object per thread, inferences run side by side and each
    object holds the weights. Measured for the shipped int8 artefact, 8 threads on two busy cores: 76 scores a
    second on one object, 121 with one object each (one thread: 68). ONNX Runtime needs no lock.
    """

    def __init__(self, card: ArtefactCard, tokenizer: PairTokenizer, backend: Backend) -> None:
        self.card = card
        self.tokenizer = tokenizer
        self.backend = backend

    @classmethod
    def load(
        cls, directory: str | Path, threads: int = 1, *, public_key: str | Path | None = None
    ) -> Matcher:
        """Open an artefact folder, checking every file against its checksum first.

        Args:
            directory: the folder `mobilebert export` wrote.
            threads: CPU threads of one inference, 1 to 1024.
            public_key: minisign's, as a file or a line; the artefact must then be signed with it.

        Raises:
            ArtefactError: the folder is missing, damaged or not signed, or a file is not what io.json says.
            ToolError: the runtime the model needs is not installed.
        """
        if not 1 <= threads <= MOST_THREADS:
            raise ArtefactError(f"threads is {threads}; give 1 to {MOST_THREADS}")
        folder = Path(directory)
        if public_key is not None:
            from mobilebert_runtime.signature import verify_signature

            verify_signature(folder, public_key)
        card = read_card(folder)
        if card.task != MATCHING or card.tokenizer.kind != "wordpiece" or card.inputs != INPUT_NAMES:
            raise ArtefactError(f"{folder}: is not for matching by a BERT's WordPiece; Matcher can't run it")
        check_checksums(folder)
        tokenizer = _read_tokenizer(folder, card)
        return cls(card, tokenizer, open_backend(folder / card.model_file, card, threads))

    def score(self, pairs: Sequence[tuple[str, str]], *, symmetric: bool = False) -> NDArray[np.float32]:
        """Probability of the positive label of each pair, float32 (N,), in [0, 1].

        A cross-encoder reads a before b, so that (a, b) and (b, a) score a little differently. With
        `symmetric` the result is the mean over both orders: the same bits for both, at twice the time.
        """
        shift = self.card.shift(pairs)  # the same for both orders
        forward = positive_probability(self.logits(pairs), self.card, shift)
        if not symmetric:
            return forward
        backward = positive_probability(self.logits([(b, a) for a, b in pairs]), self.card, shift)
        return np.float32(0.5) * (forward + backward)

    def label(self, score: float) -> str:
        """The positive label at and above the threshold; below it the other of two labels, else "not …"."""
        positive = self.card.labels[self.card.positive]
        if score >= self.card.threshold:
            return positive
        return self.card.labels[1 - self.card.positive] if len(self.card.labels) == 2 else f"not {positive}"

    def logits(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Raw logits, float32 (N, labels), columns in the order of `card.labels`.

        Each pair runs in the smallest bucket that holds it.
        """
        if not pairs:
            return self._empty()
        rows = self.tokenizer.ids(pairs, self.card.seq_len)
        encoded = [self.tokenizer.pad([row], self.card.bucket(len(row[0])).seq_len) for row in rows]
        return np.concatenate([self._run(inputs) for inputs in encoded])

    def logits_of(self, encoded: Mapping[str, NDArray[np.int32]]) -> NDArray[np.float32]:
        """Logits of encoded pairs: int32 (N, S) by input name, S a bucket → float32 (N, labels)."""
        count = len(encoded[INPUT_NAMES[0]])
        rows = [self._run({name: encoded[name][i : i + 1] for name in INPUT_NAMES}) for i in range(count)]
        return np.concatenate(rows) if rows else self._empty()

    def _run(self, inputs: Mapping[str, NDArray[np.int32]]) -> NDArray[np.float32]:
        logits = self.backend.run(inputs)
        # A damaged file may announce one shape and return another.
        if logits.shape != (1, len(self.card.labels)) or not np.isfinite(logits).all():
            raise ArtefactError(
                "the network's answer is not a row of finite logits; export the artefact again"
            )
        return logits

    def _empty(self) -> NDArray[np.float32]:
        return np.zeros((0, len(self.card.labels)), np.float32)


def _read_tokenizer(folder: Path, card: ArtefactCard) -> PairTokenizer:
    """The artefact's tokenizer: a BERT's WordPiece over exactly the entries of vocab.txt."""
    path = folder / "tokenizer.json"
    try:
        tokenizer = PairTokenizer.load(folder)
    except ModelError as error:
        raise ArtefactError(str(error)) from None
    if not tokenizer.reads_as_bert(lowercase=bool(card.tokenizer.lowercase)):
        case = "lowercase" if card.tokenizer.lowercase else "cased"
        raise ArtefactError(f"{path}: is not a {case} BERT's WordPiece; export the artefact again")
    entries = read_text(folder / "vocab.txt").split("\n")
    if tokenizer.vocabulary() != {
        token: i for i, token in enumerate(entries[:-1] if not entries[-1] else entries)
    }:
        raise ArtefactError(f"{path}: its entries are not those of vocab.txt; export the artefact again")
    return tokenizer


def positive_probability(
    logits: NDArray[np.float32], card: ArtefactCard, shift: Sequence[float]
) -> NDArray[np.float32]:
    """Score of the positive label: by the card's activation of logits / temperature + `card.shift`.

    A softmax gives the probability of the positive label among all, a sigmoid that of the only label, and
    identity the logit itself.

    Args:
        logits: (N, labels).
        card: of the artefact.
        shift: (N,).
    """
    scaled = logits.astype(np.float64) / card.temperature
    scaled[:, card.positive] += shift
    if card.activation == "identity":
        return scaled[:, 0].astype(np.float32)
    if card.activation == "sigmoid":  # a softmax with a second logit of 0
        scaled = np.concatenate([scaled, np.zeros_like(scaled)], axis=1)
    exponents = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return (exponents[:, card.positive] / exponents.sum(axis=1)).astype(np.float32)
