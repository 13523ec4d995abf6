"""SentLen probing (Conneau et al. 2018): how much of a text's length can be read off its representation.

A six-way classification of sentences by their number of words, solved by a small MLP with a sigmoid on frozen
representations (Jiang et al. 2022, Section 4.3, Table 3). The protocol is SentEval's: Adam, early stopping on
the development part, features as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mobilebert_matching.evaluation import metrics
from mobilebert_runtime.errors import DataError
from studies.length_bias.sentences import draw_sentences

# Words of each class: 5–8, 9–12, 13–16, 17–20, 21–25, 26–28 (SentEval's sentence_length task).
BINS = (range(5, 9), range(9, 13), range(13, 17), range(17, 21), range(21, 26), range(26, 29))
MAJORITY = 1 / len(BINS)  # accuracy of any constant answer on balanced classes


@dataclass(frozen=True)
class Sentences:
    """N sentences and the bin of each."""

    texts: list[str]
    labels: np.ndarray  # (N,) int64, 0 to 5


@dataclass(frozen=True)
class SentLen:
    """The task: three disjoint parts, each with the same number of sentences from every bin."""

    train: Sentences
    dev: Sentences
    test: Sentences

    @property
    def texts(self) -> list[str]:
        """All sentences, in the order train, dev, test."""
        return self.train.texts + self.dev.texts + self.test.texts


@dataclass(frozen=True)
class ProbeConfig:
    """The classifier: SentEval's values, the middle of its grid where it searches."""

    hidden: int = 100  # grid 50, 100, 200
    dropout: float = 0.1  # before the sigmoid; grid 0, 0.1, 0.2
    learning_rate: float = 1e-3
    batch_size: int = 64
    max_epochs: int = 200
    epochs_a_check: int = 4  # epochs between two looks at the development part
    patience: int = 5  # looks without a better one before it stops
    seeds: tuple[int, ...] = (0, 1, 2)


def sentlen(paths: Sequence[Path], per_bin: tuple[int, int, int], seed: int = 0) -> SentLen:
    """Draw the task from text files.

    Args:
        paths: text files, as `read_paragraphs` takes them.
        per_bin: sentences from each bin for training, development and test; no sentence is drawn twice.
        seed: of the draw.

    Raises:
        DataError: a file cannot be read, or there are too few sentences of some length.
    """
    drawn = draw_sentences(paths, BINS, sum(per_bin), seed)
    order = np.random.default_rng(seed)
    parts, start = [], 0
    for count in per_bin:
        texts = [text for sentences in drawn for text in sentences[start : start + count]]
        labels = np.repeat(np.arange(len(BINS)), count)
        shuffled = order.permutation(len(texts))
        parts.append(Sentences([texts[i] for i in shuffled], labels[shuffled]))
        start += count
    return SentLen(*parts)


def probe(features: Tensor, task: SentLen, config: ProbeConfig = ProbeConfig()) -> dict[str, Any]:
    """Train the classifier once per seed on frozen features; its accuracy on the test part.

    Args:
        features: (N, D) of `task.texts`.
        task: the sentences.
        config: the classifier.

    Returns:
        `accuracy`, the mean over seeds; `interval`, Wilson's 95% interval of it over test sentences; `seeds`,
        each seed's accuracy; `dev_accuracy`; `dimensions`.

    Raises:
        DataError: not one row a sentence, or values that are not finite.
    """
    sizes = [len(part.texts) for part in (task.train, task.dev, task.test)]
    if features.shape[0] != sum(sizes) or features.dim() != 2:
        raise DataError(f"features have shape {tuple(features.shape)}; expected ({sum(sizes)}, D)")
    if not torch.isfinite(features).all():
        raise DataError("features hold values that are not finite; the model is damaged")
    train, dev, test = features.float().split(sizes)
    heads = _fit((train, task.train.labels), (dev, task.dev.labels), config)
    dev_accuracy, accuracy = (
        (heads(part).argmax(-1).numpy() == labels).mean(1)
        for part, labels in ((dev, task.dev.labels), (test, task.test.labels))
    )
    mean = float(accuracy.mean())
    return {
        "accuracy": mean,
        "interval": metrics.wilson(round(mean * sizes[2]), sizes[2]),
        "seeds": accuracy.tolist(),
        "dev_accuracy": float(dev_accuracy.mean()),
        "dimensions": features.shape[1],
    }


class _Heads:
    """K two-layer classifiers side by side: one batched product instead of K small ones."""

    def __init__(self, inputs: int, config: ProbeConfig) -> None:
        self._dropout = config.dropout
        shapes = {"w1": (inputs, config.hidden), "b1": (1, config.hidden)}
        shapes |= {"w2": (config.hidden, len(BINS)), "b2": (1, len(BINS))}
        fan_in = {"w1": inputs, "b1": inputs, "w2": config.hidden, "b2": config.hidden}
        drawn: dict[str, list[Tensor]] = {name: [] for name in shapes}
        for seed in config.seeds:
            generator = torch.Generator().manual_seed(seed)
            for name, shape in shapes.items():  # torch.nn.Linear's initial range, 1/√(inputs)
                bound = fan_in[name] ** -0.5
                drawn[name].append(torch.empty(shape).uniform_(-bound, bound, generator=generator))
        self.weights = {name: torch.stack(parts).requires_grad_() for name, parts in drawn.items()}

    def logits(self, x: Tensor, *, training: bool) -> Tensor:
        """(K, B, D) → (K, B, 6)."""
        w = self.weights
        hidden = F.dropout(torch.baddbmm(w["b1"], x, w["w1"]), self._dropout, training)
        return torch.baddbmm(w["b2"], hidden.sigmoid(), w["w2"])

    def __call__(self, x: Tensor) -> Tensor:
        """(N, D) → (K, N, 6), every head on the same rows."""
        with torch.inference_mode():
            return self.logits(x.expand(len(self.weights["w1"]), *x.shape), training=False)


def _fit(train: tuple[Tensor, np.ndarray], dev: tuple[Tensor, np.ndarray], config: ProbeConfig) -> _Heads:
    """Train all heads until none of them has improved on dev for a while; each keeps its own best weights."""
    heads, count = _Heads(train[0].shape[1], config), len(config.seeds)
    labels = torch.from_numpy(train[1])
    optimiser = torch.optim.Adam(list(heads.weights.values()), lr=config.learning_rate)
    orders = [np.random.default_rng(seed) for seed in config.seeds]
    best, waited = np.full(count, -1.0), np.zeros(count, int)
    kept = {name: weight.detach().clone() for name, weight in heads.weights.items()}
    torch.manual_seed(config.seeds[0])  # dropout
    for epoch in range(1, config.max_epochs + 1):
        order = torch.from_numpy(np.stack([rng.permutation(len(labels)) for rng in orders]))  # (K, N)
        for start in range(0, len(labels), config.batch_size):
            index = order[:, start : start + config.batch_size]
            logits = heads.logits(train[0][index], training=True)  # (K, B, D) → (K, B, 6)
            # The sum over heads: each gets the gradient of its own mean loss, as if it were alone.
            loss = F.cross_entropy(logits.flatten(0, 1), labels[index].flatten()) * count
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        if epoch % config.epochs_a_check:
            continue
        accuracy = (heads(dev[0]).argmax(-1).numpy() == dev[1]).mean(1)
        # A head that has waited out its patience is finished, whatever it would still learn.
        better = (accuracy > best) & (waited < config.patience)
        waited = np.where(better, 0, waited + 1)
        best = np.where(better, accuracy, best)
        for name, weight in heads.weights.items():
            kept[name][torch.from_numpy(better)] = weight.detach()[torch.from_numpy(better)]
        if (waited >= config.patience).all():
            break
    heads.weights = kept
    return heads
