"""Training batches of a trunk: texts of similar length, similar texts together, a share of them misspelt."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import padded
from recipes.general_matchers.noise import Misspeller
from recipes.general_matchers.numerics import generator
from recipes.general_matchers.teachers import MAX_LENGTH
from recipes.general_matchers.trunk import held

WINDOW = 20  # batches whose texts are drawn together and sorted by length
LONG, LONG_SHARE = 24, 0.3  # texts of more tokens cost most and are rare in use: three in ten of them


class TrainingTexts:
    """Texts as one tokenizer reads them.

    Args:
        texts: N texts, the first `held` of them not trained on.
        tokenizer: of the student.
        misspell: for the noisy batches.
        noise: share of their texts that are misspelt.
        seed: of the noise.

    Attributes:
        held: how many of the texts are not trained on.
        encoded: token ids and types of every text.
        lengths: (N,) tokens of every text.
        usable: texts that may be trained on without a label.
    """

    def __init__(
        self, texts: Sequence[str], tokenizer: PairTokenizer, misspell: Misspeller, noise: float, seed: int
    ) -> None:
        self.texts, self.tokenizer, self.misspell, self.noise, self.seed = (
            texts,
            tokenizer,
            misspell,
            noise,
            seed,
        )
        self.encoded = tokenizer.ids(texts, MAX_LENGTH)
        self.lengths = np.array([len(ids) for ids, _ in self.encoded])
        kept = (self.lengths <= LONG) | (np.random.default_rng(0).random(len(texts)) < LONG_SHARE)
        self.usable = np.flatnonzero(kept)
        self.held = held(len(texts))
        self.usable = self.usable[self.usable >= self.held]

    def batch(self, index: np.ndarray) -> dict[str, Tensor]:
        """The texts at `index` as they are, (B, longest) tensors."""
        return padded(self.tokenizer, [self.encoded[i] for i in index])

    def noisy_batch(self, index: np.ndarray, step: int) -> dict[str, Tensor]:
        """The same with a share of them misspelt; depends on the seed, the step and the batch alone."""
        draw = generator(f"{self.seed} {step} {index[0]}")
        rows = [self.encoded[i] for i in index]
        noisy = [k for k in range(len(index)) if draw.random() < self.noise]
        wrong = [self.misspell.noisy(self.texts[index[k]], draw) for k in noisy]
        for k, row in zip(noisy, self.tokenizer.ids(wrong, MAX_LENGTH), strict=True):
            rows[k] = row
        return padded(self.tokenizer, rows)


def near_texts(cache: Path, draw: random.Random) -> np.ndarray | None:
    """The mined neighbours (N, K) for one window in two; none where there are none yet."""
    path = cache / "neighbours.npy"
    return np.load(path, mmap_mode="r") if path.is_file() and draw.random() < 0.5 else None


def window(
    rows: np.ndarray,
    lengths: np.ndarray,
    size: int,
    seed: tuple[int, ...],
    neighbours: np.ndarray | None = None,
) -> list[np.ndarray]:
    """`WINDOW` batches of texts of like length; with `neighbours`, half of a batch are near its other half.

    Args:
        rows: texts to draw from.
        lengths: (N,) tokens of every text.
        size: texts in a batch.
        seed: the batches depend on it and on the arguments alone.
        neighbours: (N, K) near texts of each text, -1 where there is none.
    """
    random = np.random.default_rng(seed)
    if neighbours is None:
        drawn = random.choice(rows, min(len(rows), WINDOW * size), replace=False)
        order = drawn[np.argsort(lengths[drawn] + random.random(len(drawn)))]
        batches = np.array_split(order, max(1, len(order) // size))
    else:
        group = 4
        seeds = random.choice(rows, min(len(rows), WINDOW * size // group), replace=False)
        columns = random.integers(0, neighbours.shape[1], (len(seeds), group - 1))
        near = np.take_along_axis(neighbours[seeds], columns, 1)
        groups = np.concatenate([seeds[:, None], np.where(near < 0, seeds[:, None], near)], 1)
        longest = lengths[groups].max(1)
        groups = groups[np.argsort(longest + random.random(len(groups)))]
        batches = [np.unique(part) for part in np.array_split(groups, WINDOW)]
    return [batches[i] for i in random.permutation(len(batches))]
