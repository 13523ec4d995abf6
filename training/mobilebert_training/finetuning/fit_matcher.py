"""Train any matcher: one table of settings, early stopping on development examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from scipy.special import log_softmax
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_matching.evaluation import metrics
from mobilebert_matching.length_bias.training_sets import Examples
from mobilebert_models import MatcherSettings
from mobilebert_runtime.tokenizer import Pair
from mobilebert_training.batches import Batch, LengthBuckets
from mobilebert_training.finetuning.encoded_pairs import swap_flags
from mobilebert_training.run_directory import values_hash
from mobilebert_training.trainer import supervised, train
from mobilebert_training.training_config import TrainingConfig


class TrainableMatcher(Protocol):
    """A network with what turns texts into its inputs."""

    @property
    def network(self) -> nn.Module:
        """What is trained."""

    def prepare(self, pairs: Sequence[Pair]) -> Any:
        """Turn N pairs into ids once for a whole run; the result has `lengths`, a cost of each pair."""

    def inputs(self, prepared: Any, index: np.ndarray, swap: np.ndarray) -> dict[str, Tensor]:
        """What the network reads for the pairs at `index`, those with `swap` set in swapped order."""

    def predict(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Logits (N, C) float32, in eval mode; the network is left in the mode it was in."""

    def begin(self, pairs: Sequence[Pair], labels: np.ndarray) -> None:
        """What comes before the first step on N pairs and their (N,) classes."""

    def save(self, directory: Path, settings: MatcherSettings | None = None) -> None:
        """Write a directory that can be loaded again; an existing one is replaced at the end."""


@dataclass(frozen=True)
class TrainingSettings:
    """How an architecture is trained; each row is data."""

    learning_rate: float
    batch_size: int
    epochs: float  # at most
    patience: int  # epochs without a better development figure; 0: train to the end
    weight_decay: float = 0.01
    max_tokens: int = 64  # encoders: word pieces of a pair
    swap: bool = False  # swap a and b in half of the examples: free augmentation for a symmetric task
    dtype: str = "float32"  # of activations, see `TrainingConfig`


# They know what texts mean already and read a pair alike in both orders; a pair's texts get 96 pieces.
_OPEN = TrainingSettings(3e-5, 32, epochs=4, patience=1, max_tokens=96)

TRAINING: dict[str, TrainingSettings] = {
    "bert-tiny": TrainingSettings(3e-4, 64, epochs=3, patience=2, max_tokens=80),
    "minilm": TrainingSettings(8e-5, 64, epochs=2, patience=0, swap=True),
    "matcher-open-m": _OPEN,
    "matcher-open-s": _OPEN,
}


def settings_of(arch: str) -> TrainingSettings:
    """The row of an architecture; a directory to start from is trained like `minilm`."""
    return TRAINING.get(arch, TRAINING["minilm"])


def loop_config(settings: TrainingSettings, examples: int, seed: int) -> TrainingConfig:
    """The trainer's view of the settings: with patience, a development figure after every epoch."""
    epoch = -(-examples // settings.batch_size)
    return TrainingConfig(
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        seed=seed,
        evaluate_every=epoch if settings.patience else 0,
        patience=settings.patience,
        dtype=settings.dtype,
    )


def fit(
    matcher: TrainableMatcher,
    examples: Examples,
    dev: Examples,
    config: TrainingConfig,
    out: Path,
    *,
    swap: bool = False,
    metadata: dict[str, Any] | None = None,
    keep: Callable[[], None] | None = None,
    watch: Callable[[], dict[str, float]] | None = None,
) -> dict[str, Any]:
    """Cross-entropy training in place; returns the record of `mobilebert_training.trainer.train`.

    With patience the weights of the best development figure stay: mean average precision of lists, else
    the log-likelihood.

    Args:
        matcher: to be trained.
        examples: N training pairs.
        dev: development pairs.
        config: the optimisation, as `loop_config` makes it.
        out: directory for the record (finetune.json) and the checkpoint of an interrupted run.
        swap: see `TrainingSettings`.
        metadata: what else the record shall say.
        keep: writes the trained matcher, see `mobilebert_training.trainer.train`.
        watch: further figures, taken and recorded with each development figure; they choose nothing.

    Raises:
        ResumeError: `out` holds a checkpoint of another configuration.
    """
    matcher.begin(examples.pairs, examples.labels)
    prepared = matcher.prepare(examples.pairs)
    targets = torch.from_numpy(examples.labels)

    def collate(batch: Batch) -> dict[str, Tensor]:
        swapped = swap_flags(batch) if swap else np.zeros(len(batch.index), bool)
        return matcher.inputs(prepared, batch.index, swapped) | {"labels": targets[batch.index]}

    return train(
        matcher.network,
        LengthBuckets(prepared.lengths, collate, values_hash(examples.pairs, examples.labels)),
        supervised(F.cross_entropy),
        config,
        out,
        name="finetune",
        evaluate=lambda: dev_figures(matcher, dev) | (watch() if watch else {}),
        select="dev_map" if dev.groups is not None else "dev_log_likelihood",
        metadata=metadata,
        keep=keep,
    )


def dev_figures(matcher: TrainableMatcher, dev: Examples) -> dict[str, float]:
    """Accuracy and mean log-likelihood of development examples, and of lists also MAP."""
    logits = matcher.predict(dev.pairs).astype(np.float64)
    rows = np.arange(len(dev))
    figures = {
        "dev_accuracy": float((logits.argmax(1) == dev.labels).mean()),
        "dev_log_likelihood": float(log_softmax(logits, axis=1)[rows, dev.labels].mean()),
    }
    if dev.groups is not None:
        figures["dev_map"] = metrics.ranking(dev.labels, logits[:, 1] - logits[:, 0], dev.groups).map
    return figures
