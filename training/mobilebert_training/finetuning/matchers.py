"""Encoders to be trained as text matchers: cross-encoders over word pieces, embedding matchers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from torch import Tensor

import mobilebert_models
from mobilebert_matching.evaluation.score_calibration import fit_settings, fit_slope_and_offset
from mobilebert_models import EmbeddingMatcher, MatcherSettings, PairClassifier
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import Pair
from mobilebert_training.finetuning.encoded_pairs import (
    TRAIN_LENGTH,
    EncodedPairs,
    predict_logits,
    readable_tokens,
)

ENCODERS = ("minilm", "bert-tiny")


class EncoderMatcher:
    """A BERT-like cross-encoder over word pieces, or an embedding matcher; a `TrainableMatcher`."""

    def __init__(
        self,
        network: PairClassifier | EmbeddingMatcher,
        source: Path,
        *,
        arch: str,
        max_tokens: int = TRAIN_LENGTH,
    ) -> None:
        self.arch, self.max_tokens = arch, readable_tokens(max_tokens, network.config)
        self.network: PairClassifier | EmbeddingMatcher = network
        self.source = source  # whose tokenizer goes into saved directories
        self.tokenizer = mobilebert_models.load_tokenizer(source)

    def prepare(self, pairs: Sequence[Pair]) -> EncodedPairs:
        """See `TrainableMatcher.prepare`."""
        return EncodedPairs.encode(self.tokenizer, pairs, self.max_tokens)

    def inputs(self, prepared: EncodedPairs, index: np.ndarray, swap: np.ndarray) -> dict[str, Tensor]:
        """See `TrainableMatcher.inputs`."""
        return prepared.batch(self.tokenizer, index, swap)

    def predict(self, pairs: Sequence[Pair]) -> np.ndarray:
        """See `TrainableMatcher.predict`; pairs are read up to 128 word pieces."""
        return predict_logits(self.network, self.tokenizer, pairs)

    def begin(self, pairs: Sequence[Pair], labels: np.ndarray) -> None:
        """See `TrainableMatcher.begin`: an embedding matcher starts from a logistic regression on its logit.

        Its scale and threshold are single numbers, which training's small steps would hardly move: the
        vectors would have to move instead.
        """
        if isinstance(self.network, EmbeddingMatcher):
            self.network.head.rescale(*fit_slope_and_offset(self.predict(pairs), labels))

    def fit_settings(self, pairs: Sequence[Pair], labels: np.ndarray) -> MatcherSettings:
        """Decision settings, fitted on N pairs and their (N,) classes; embedding matchers get an offset."""
        offset = isinstance(self.network, EmbeddingMatcher)
        return fit_settings(self.predict(pairs), labels, offset=offset)

    def save(self, directory: Path, settings: MatcherSettings | None = None) -> None:
        """Write a model directory in Hugging Face's layout; an existing one is replaced at the end."""
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
) -> EncoderMatcher:
    """An untrained matcher, or one to go on with.

    Args:
        arch: one of `ENCODERS`, a shipped matcher's name, or a directory of a trained matcher or encoder.
        num_labels: classes.
        seed: of random weights.
        init: model directory that one of `ENCODERS` starts from; without it bert-tiny is random.
        max_tokens: word pieces of a pair in training.

    Raises:
        ModelError: an unknown name, files or packages that are missing, or an `init` of another shape.
    """
    source = source_directory(arch, init)
    if arch == "bert-tiny":
        if init is None:
            fresh = cast(
                PairClassifier,
                mobilebert_models.build(mobilebert_models.preset(arch), num_labels=num_labels, seed=seed),
            )
            return EncoderMatcher(fresh, source, arch=arch, max_tokens=max_tokens)
        if (found := mobilebert_models.read_config(init)) != mobilebert_models.preset(arch):
            raise ModelError(f"{init}: is not a {arch} ({found}); expected {mobilebert_models.preset(arch)}")
    made = mobilebert_models.load_pair_network(source, num_labels=num_labels, seed=seed)
    return EncoderMatcher(made, source, arch=arch if arch in ENCODERS else source.name, max_tokens=max_tokens)


def source_directory(arch: str, init: Path | None = None) -> Path:
    """The model directory whose tokenizer is read, and its weights but for those of a random bert-tiny.

    Raises:
        ModelError: an unknown name, or a package that is not installed.
    """
    if arch in ENCODERS:
        return init or mobilebert_models.packaged_directory("minilm")
    if arch in ("shipped", *mobilebert_models.SHIPPED_MATCHERS):
        return mobilebert_models.find_directory(arch)
    if Path(arch).is_dir():
        return Path(arch)
    names = ", ".join((*ENCODERS, *mobilebert_models.SHIPPED_MATCHERS))
    raise ModelError(f"architecture {arch!r} is unknown; expected one of {names}, or a directory")


def load_matcher(directory: Path) -> EncoderMatcher:
    """A trained matcher that `EncoderMatcher.save` wrote.

    Raises:
        ModelError: the directory holds no matcher, or a damaged one.
    """
    return EncoderMatcher(mobilebert_models.load_pair_network(directory), directory, arch=directory.name)
