"""One interface for every matcher that is trained here: word-level networks and BERT-like encoders."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import mobilebert_models
from mobilebert_matching.evaluation.score_calibration import fit_settings, fit_slope_and_offset
from mobilebert_matching.word_level.word_vectors import WordVectors
from mobilebert_matching.word_level.words import pad, words
from mobilebert_models import EmbeddingMatcher, MatcherSettings, PairClassifier
from mobilebert_models.word_level.bimpm import BiMPM, BiMPMConfig
from mobilebert_models.word_level.esim import ESIM, ESIMConfig
from mobilebert_models.word_level.matcher_network import RecurrentMatcherNetwork, WordMatcherNetwork
from mobilebert_models.word_level.matchpyramid import MatchPyramid, MatchPyramidConfig
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import replacing_folder
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import TRAIN_LENGTH, EncodedPairs, predict_logits
from mobilebert_training.inference import predict

MAX_WORDS = (
    40  # of each text; 98% of the QQP and tweet texts are shorter, three quarters of the TrecQA sentences
)
WORD_NETWORKS: dict[str, tuple[Any, Any]] = {
    "matchpyramid": (MatchPyramid, MatchPyramidConfig),
    "bimpm": (BiMPM, BiMPMConfig),
    "esim": (ESIM, ESIMConfig),
}
ENCODERS = ("bert-tiny", "minilm")
ARCHITECTURES = (*WORD_NETWORKS, *ENCODERS)
_CONFIG_FILE = "word_matcher.json"
_PREDICTED = 256  # texts at once


class Matcher(ABC):
    """A network with what turns texts into its inputs."""

    arch: str
    network: nn.Module

    @abstractmethod
    def prepare(self, pairs: Sequence[Pair]) -> Any:
        """Turn N pairs into ids once for a whole run; the result has `lengths`, a cost of each pair."""

    @abstractmethod
    def inputs(self, prepared: Any, index: np.ndarray, swap: np.ndarray) -> dict[str, Tensor]:
        """What the network reads for the pairs at `index`, those with `swap` set in swapped order."""

    def predict(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Logits (N, C) float32, in eval mode; the network is left in the mode it was in."""
        prepared = self.prepare(pairs)

        def collate(index: np.ndarray) -> dict[str, Tensor]:
            return self.inputs(prepared, index, np.zeros(len(index), bool))

        return predict(self.network, prepared.lengths, collate, batch_size=_PREDICTED).numpy()

    @abstractmethod
    def save(self, directory: Path, settings: MatcherSettings | None = None) -> None:
        """Write a directory that `load_matcher` reads; an existing one is replaced at the end."""

    def begin(self, pairs: Sequence[Pair], labels: np.ndarray) -> None:  # noqa: B027 (most need nothing)
        """What comes before the first step on N pairs and their (N,) classes: nothing in most matchers."""

    def fit_settings(self, pairs: Sequence[Pair], labels: np.ndarray) -> MatcherSettings:
        """Decision settings, fitted on N pairs and their (N,) classes."""
        return fit_settings(self.predict(pairs), labels)

    @property
    def trainable_parameters(self) -> int:
        """Numbers that training changes."""
        return sum(p.numel() for p in self.network.parameters() if p.requires_grad)


@dataclass(frozen=True)
class PreparedWords:
    """Word ids of N pairs."""

    a: list[list[int]]
    b: list[list[int]]

    @property
    def lengths(self) -> list[int]:
        """Words of both texts together."""
        return [len(a) + len(b) for a, b in zip(self.a, self.b, strict=True)]


class WordMatcher(Matcher):
    """A network over fixed word vectors."""

    network: WordMatcherNetwork

    def __init__(self, network: WordMatcherNetwork, vectors: WordVectors, max_words: int = MAX_WORDS) -> None:
        self.arch, self.network, self.vectors, self.max_words = network.arch, network, vectors, max_words

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Rows of the word vectors, at most `max_words` a text."""
        row = self.vectors.row
        return [[row(word) for word in words(text)[: self.max_words]] for text in texts]

    def prepare(self, pairs: Sequence[Pair]) -> PreparedWords:
        """See `Matcher.prepare`."""
        return PreparedWords(self.ids([a for a, _ in pairs]), self.ids([b for _, b in pairs]))

    def inputs(self, prepared: PreparedWords, index: np.ndarray, swap: np.ndarray) -> dict[str, Tensor]:
        """See `Matcher.inputs`."""
        rows = [
            (prepared.b[i], prepared.a[i]) if s else (prepared.a[i], prepared.b[i])
            for i, s in zip(index, swap, strict=True)
        ]
        a, b = (torch.from_numpy(pad(side)) for side in zip(*rows, strict=True))
        return {"a_ids": a, "b_ids": b}

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
        """See `Matcher.save`; the word vectors stay in their package."""
        values = {
            "arch": self.arch,
            "config": asdict(self.network.config),
            "max_words": self.max_words,
            "vectors": self.vectors.source | {"rows": len(self.vectors.table)},
        }
        with replacing_folder(directory) as partial:
            save_file(self.network.state_dict(), partial / "model.safetensors")
            (partial / _CONFIG_FILE).write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
            (settings or MatcherSettings()).save(partial)


class EncoderMatcher(Matcher):
    """A BERT-like cross-encoder over word pieces, or an embedding matcher."""

    network: PairClassifier | EmbeddingMatcher

    def __init__(
        self,
        network: PairClassifier | EmbeddingMatcher,
        source: Path,
        *,
        arch: str,
        max_tokens: int = TRAIN_LENGTH,
    ) -> None:
        self.arch, self.network, self.max_tokens = arch, network, max_tokens
        self.source = source  # whose tokenizer goes into saved directories
        self.tokenizer = PairTokenizer.load(source)

    def prepare(self, pairs: Sequence[Pair]) -> EncodedPairs:
        """See `Matcher.prepare`."""
        return EncodedPairs.encode(self.tokenizer, pairs, self.max_tokens)

    def inputs(self, prepared: EncodedPairs, index: np.ndarray, swap: np.ndarray) -> dict[str, Tensor]:
        """See `Matcher.inputs`."""
        return prepared.batch(self.tokenizer, index, swap)

    def predict(self, pairs: Sequence[Pair]) -> np.ndarray:
        """See `Matcher.predict`; pairs are read up to 128 word pieces."""
        return predict_logits(self.network, self.tokenizer, pairs)

    def begin(self, pairs: Sequence[Pair], labels: np.ndarray) -> None:
        """See `Matcher.begin`: an embedding matcher starts from a logistic regression on its own logit.

        Its scale and threshold are single numbers, which training's small steps would hardly move: the
        vectors would have to move instead.
        """
        if isinstance(self.network, EmbeddingMatcher):
            self.network.head.rescale(*fit_slope_and_offset(self.predict(pairs), labels))

    def fit_settings(self, pairs: Sequence[Pair], labels: np.ndarray) -> MatcherSettings:
        """See `Matcher.fit_settings`; an embedding matcher's with an offset."""
        offset = isinstance(self.network, EmbeddingMatcher)
        return fit_settings(self.predict(pairs), labels, offset=offset)

    def save(self, directory: Path, settings: MatcherSettings | None = None) -> None:
        """See `Matcher.save`: a model directory in Hugging Face's layout."""
        mobilebert_models.save_pretrained(
            self.network, directory, tokenizer_from=self.source, settings=settings
        )


def build_matcher(
    arch: str,
    *,
    num_labels: int = 2,
    seed: int = 0,
    init: Path | None = None,
    max_tokens: int = TRAIN_LENGTH,
    vectors: WordVectors | None = None,
) -> Matcher:
    """An untrained matcher, or one to go on with.

    Args:
        arch: one of `ARCHITECTURES`, the name of a shipped matcher, or a directory of a trained matcher or
            encoder.
        num_labels: classes.
        seed: of random weights.
        init: model directory that a BERT-like architecture starts from; without it bert-tiny is random.
        max_tokens: word pieces of a pair in training (encoders).
        vectors: of a word-level matcher; without them those of the installed package.

    Raises:
        ModelError: an unknown name, files or packages that are missing, or an `init` of another shape.
    """
    if arch in WORD_NETWORKS:
        if init is not None:
            raise ModelError(f"--init {init}: {arch} starts from random weights; leave it out")
        network, config = WORD_NETWORKS[arch]
        vectors = vectors or WordVectors.installed()
        torch.manual_seed(seed)
        made = network(config(num_labels=num_labels), torch.from_numpy(vectors.table))
        return WordMatcher(made.eval(), vectors)
    if arch == "bert-tiny":
        if init is None:
            tokenizer = mobilebert_models.packaged_directory("minilm")
            fresh = cast(
                PairClassifier,
                mobilebert_models.build(mobilebert_models.preset(arch), num_labels=num_labels, seed=seed),
            )
            return EncoderMatcher(fresh, tokenizer, arch=arch, max_tokens=max_tokens)
        if (found := mobilebert_models.read_config(init)) != mobilebert_models.preset(arch):
            raise ModelError(f"{init}: is not a {arch} ({found}); expected {mobilebert_models.preset(arch)}")
    if arch in ENCODERS:
        source = init or mobilebert_models.packaged_directory(arch)
    elif arch in ("shipped", *mobilebert_models.SHIPPED_MATCHERS):
        source = mobilebert_models.find_directory(arch)
    elif Path(arch).is_dir():
        if (Path(arch) / _CONFIG_FILE).is_file():
            return load_matcher(Path(arch), vectors=vectors)
        source = Path(arch)
    else:
        names = ", ".join((*ARCHITECTURES, *mobilebert_models.SHIPPED_MATCHERS))
        raise ModelError(f"architecture {arch!r} is unknown; expected one of {names}, or a directory")
    made = mobilebert_models.load_pair_network(source, num_labels=num_labels, seed=seed)
    return EncoderMatcher(made, source, arch=arch if arch in ENCODERS else source.name, max_tokens=max_tokens)


def load_matcher(directory: Path, *, vectors: WordVectors | None = None) -> Matcher:
    """A trained matcher that `Matcher.save` wrote.

    Raises:
        ModelError: the directory holds no matcher, or a damaged one, or its word vectors are not these.
    """
    directory = Path(directory)
    path = directory / _CONFIG_FILE
    if not path.is_file():
        return EncoderMatcher(mobilebert_models.load_pair_network(directory), directory, arch=directory.name)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        network, config = WORD_NETWORKS[values["arch"]]
        sizes = config(**{k: tuple(v) if isinstance(v, list) else v for k, v in values["config"].items()})
        rows, max_words, source = values["vectors"]["rows"], values["max_words"], values["vectors"]
    except (ValueError, KeyError, TypeError) as error:
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
