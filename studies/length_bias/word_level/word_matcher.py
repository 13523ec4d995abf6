"""Word-level matchers that train, save and load like the encoders of `mobilebert_training.finetuning`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from mobilebert_matching.evaluation.score_calibration import fit_settings
from mobilebert_models import MatcherSettings
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import replacing_folder
from mobilebert_runtime.tokenizer import Pair
from mobilebert_training.finetuning.fit_matcher import TRAINING as ENCODER_TRAINING
from mobilebert_training.finetuning.fit_matcher import TrainableMatcher, TrainingSettings
from mobilebert_training.finetuning.matchers import build_matcher as build_encoder
from mobilebert_training.finetuning.matchers import load_matcher as load_encoder
from mobilebert_training.inference import predict
from studies.length_bias.word_level.bimpm import BiMPM, BiMPMConfig
from studies.length_bias.word_level.esim import ESIM, ESIMConfig
from studies.length_bias.word_level.matcher_network import RecurrentMatcherNetwork, WordMatcherNetwork
from studies.length_bias.word_level.matchpyramid import MatchPyramid, MatchPyramidConfig
from studies.length_bias.word_level.word_vectors import WordVectors
from studies.length_bias.word_level.words import pad, words

MAX_WORDS = (
    40  # of each text; 98% of the QQP and tweet texts are shorter, three quarters of the TrecQA sentences
)
NETWORKS: dict[str, tuple[Any, Any]] = {
    "matchpyramid": (MatchPyramid, MatchPyramidConfig),
    "bimpm": (BiMPM, BiMPMConfig),
    "esim": (ESIM, ESIMConfig),
}
# The paper trains with Adam at 1e-4, batches of 64, for an unstated number of epochs on all pairs. On one
# core that is days; a higher peak rate with linear decay gets there in few epochs.
TRAINING: dict[str, TrainingSettings] = {
    "matchpyramid": TrainingSettings(1e-3, 64, epochs=6, patience=2, weight_decay=0.0),
    "bimpm": TrainingSettings(1e-3, 64, epochs=3, patience=2, weight_decay=0.0),
    "esim": TrainingSettings(1e-3, 64, epochs=3, patience=2, weight_decay=0.0),
    "bert-tiny": ENCODER_TRAINING["bert-tiny"],
}
CONFIG_FILE = "word_matcher.json"
_PREDICTED = 256  # texts at once


@dataclass(frozen=True)
class PreparedWords:
    """Word ids of N pairs."""

    a: list[list[int]]
    b: list[list[int]]

    @property
    def lengths(self) -> list[int]:
        """Words of both texts together."""
        return [len(a) + len(b) for a, b in zip(self.a, self.b, strict=True)]


class WordMatcher:
    """A network over fixed word vectors; a `TrainableMatcher`."""

    def __init__(self, network: WordMatcherNetwork, vectors: WordVectors, max_words: int = MAX_WORDS) -> None:
        self.arch, self.vectors, self.max_words = network.arch, vectors, max_words
        self.network: WordMatcherNetwork = network

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Rows of the word vectors, at most `max_words` a text."""
        row = self.vectors.row
        return [[row(word) for word in words(text)[: self.max_words]] for text in texts]

    def prepare(self, pairs: Sequence[Pair]) -> PreparedWords:
        """See `TrainableMatcher.prepare`."""
        return PreparedWords(self.ids([a for a, _ in pairs]), self.ids([b for _, b in pairs]))

    def inputs(self, prepared: PreparedWords, index: np.ndarray, swap: np.ndarray) -> dict[str, Tensor]:
        """See `TrainableMatcher.inputs`."""
        rows = [
            (prepared.b[i], prepared.a[i]) if s else (prepared.a[i], prepared.b[i])
            for i, s in zip(index, swap, strict=True)
        ]
        a, b = (torch.from_numpy(pad(side)) for side in zip(*rows, strict=True))
        return {"a_ids": a, "b_ids": b}

    def predict(self, pairs: Sequence[Pair]) -> np.ndarray:
        """See `TrainableMatcher.predict`."""
        prepared = self.prepare(pairs)

        def collate(index: np.ndarray) -> dict[str, Tensor]:
            return self.inputs(prepared, index, np.zeros(len(index), bool))

        return predict(self.network, prepared.lengths, collate, batch_size=_PREDICTED).numpy()

    def begin(self, pairs: Sequence[Pair], labels: np.ndarray) -> None:
        """See `TrainableMatcher.begin`: nothing to do."""

    def fit_settings(self, pairs: Sequence[Pair], labels: np.ndarray) -> MatcherSettings:
        """Decision settings, fitted on N pairs and their (N,) classes."""
        return fit_settings(self.predict(pairs), labels)

    def represent(self, texts: Sequence[str]) -> np.ndarray:
        """Representation (N, D) of each text alone: BiLSTM outputs, max-pooled over its words.

        Raises:
            ModelError: MatchPyramid, which reads no text alone.
        """
        if not isinstance(self.network, RecurrentMatcherNetwork):
            raise ModelError(f"{self.arch} gives no representation of a single text; use bimpm or esim")
        ids = self.ids(texts)

        def collate(index: np.ndarray) -> dict[str, Tensor]:
            return {"ids": torch.from_numpy(pad([ids[i] for i in index]))}

        network = self.network

        def represent(inputs: dict[str, Tensor]) -> Tensor:
            return network.represent(inputs["ids"])

        lengths = [len(row) for row in ids]
        return predict(network, lengths, collate, forward=represent, batch_size=_PREDICTED).numpy()

    def save(self, directory: Path, settings: MatcherSettings | None = None) -> None:
        """Write a directory that `load_matcher` reads; the word vectors stay in their package."""
        values = {
            "arch": self.arch,
            "config": asdict(self.network.config),
            "max_words": self.max_words,
            "vectors": self.vectors.source | {"rows": len(self.vectors.table)},
        }
        with replacing_folder(directory) as partial:
            save_file(self.network.state_dict(), partial / "model.safetensors")
            (partial / CONFIG_FILE).write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
            (settings or MatcherSettings()).save(partial)


def build_word_matcher(arch: str, *, seed: int = 0, vectors: WordVectors | None = None) -> WordMatcher:
    """An untrained word-level matcher.

    Args:
        arch: one of `NETWORKS`.
        seed: of random weights.
        vectors: without them those of the installed package.
    """
    network, config = NETWORKS[arch]
    vectors = vectors or WordVectors.installed()
    torch.manual_seed(seed)
    return WordMatcher(network(config(), torch.from_numpy(vectors.table)).eval(), vectors)


def build_matcher(
    arch: str, *, seed: int = 0, init: Path | None = None, max_tokens: int = TRAINING["bert-tiny"].max_tokens
) -> TrainableMatcher:
    """A matcher of Table 2: a word-level one, or an encoder that starts from `init`."""
    if arch in NETWORKS:
        return build_word_matcher(arch, seed=seed)
    return build_encoder(arch, seed=seed, init=init, max_tokens=max_tokens)


def load_matcher(directory: Path) -> TrainableMatcher:
    """A trained matcher, word-level or encoder."""
    return load_word_matcher(directory) if is_word_matcher(directory) else load_encoder(directory)


def is_word_matcher(directory: Path) -> bool:
    """The directory is one that `WordMatcher.save` wrote."""
    return (directory / CONFIG_FILE).is_file()


def load_word_matcher(directory: Path, *, vectors: WordVectors | None = None) -> WordMatcher:
    """A matcher that `WordMatcher.save` wrote.

    Raises:
        ModelError: the directory holds a damaged one, or its word vectors are not these.
    """
    path = directory / CONFIG_FILE
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        network, config = NETWORKS[values["arch"]]
        sizes = config(**{k: tuple(v) if isinstance(v, list) else v for k, v in values["config"].items()})
        rows, max_words, source = values["vectors"]["rows"], values["max_words"], values["vectors"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path}: not a word matcher ({error!r}); train or restore it") from error
    vectors = vectors or WordVectors.installed()
    if source != vectors.source | {"rows": len(vectors.table)}:
        raise ModelError(f"{path}: was trained on {source} ({rows} rows), not on {vectors.source}")
    made = network(sizes, torch.from_numpy(vectors.table))
    try:
        made.load_state_dict(load_file(directory / "model.safetensors"))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise ModelError(f"{directory}: damaged weights ({error}); train it again") from error
    return WordMatcher(made.eval(), vectors, max_words)
