"""Pretraining examples drawn from token shards: sentence pairs, masks, batches.

An example follows from (seed, epoch, chunk) and from nothing else. So a masked token is another one in every
epoch, as RoBERTa and ALBERT do it, any number of workers and processes draws the same examples, and a resumed
run needs no more than its step number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mobilebert_runtime.errors import DataError
from mobilebert_training.pretraining.masking import mask
from mobilebert_training.pretraining.shards import Corpus

PAIRS = ("nsp", "sop")
MASKING = ("token", "ngram")
DEVELOPMENT = 50  # one document in so many is held out


@dataclass(frozen=True)
class ExampleRecipe:
    """What is drawn from a chunk.

    Raises:
        DataError: a name is unknown.
    """

    # nsp: does B follow A, or is it from another document (BERT)? sop: is A before B, or are they swapped
    # (ALBERT section 3.1)? Label 0 is the pair as it stands in the text, 1 the other.
    pairs: str = "nsp"
    masking: str = "token"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the names once."""
        for name, value, known in (("pairs", self.pairs, PAIRS), ("masking", self.masking, MASKING)):
            if value not in known:
                raise DataError(f"examples: {name} is {value!r}; expected one of {', '.join(known)}")


@dataclass(frozen=True)
class Example:
    """One training example, unpadded.

    Attributes:
        ids: (S,) [CLS] A [SEP] B [SEP] with masked tokens.
        types: (S,) 0 up to the first [SEP], then 1.
        positions: (M,) places of the masked tokens.
        labels: (M,) what stood there.
        pair: 0 or 1, see `ExampleRecipe.pairs`.
    """

    ids: np.ndarray
    types: np.ndarray
    positions: np.ndarray
    labels: np.ndarray
    pair: int


class Examples(torch.utils.data.Dataset[Example]):
    """Examples of some chunks of a corpus; an item is asked for by (epoch, chunk).

    Args:
        corpus: the shards.
        chunks: (N,) indices that may be drawn; the other document of a random pair is among them too.
        recipe: pairs and masking.

    Raises:
        DataError: there are no chunks, or only one document to draw random pairs from.
    """

    def __init__(self, corpus: Corpus, chunks: np.ndarray, recipe: ExampleRecipe) -> None:
        self.corpus, self.chunks, self.recipe = corpus, chunks, recipe
        self.documents = corpus.documents[chunks]
        if not len(chunks) or (recipe.pairs == "nsp" and (self.documents == self.documents[0]).all()):
            raise DataError(
                f"corpus: {len(chunks)} chunks from {len(np.unique(self.documents))} documents; "
                "next-sentence pairs need two documents or more"
            )
        self.special = corpus.special

    def __len__(self) -> int:
        """Chunks."""
        return len(self.chunks)

    def __getitem__(self, item: tuple[int, int]) -> Example:
        """The example of (epoch, chunk)."""
        epoch, index = item
        rng = np.random.default_rng((self.recipe.seed, epoch, index))
        first, second, pair = self._segments(index, rng)
        s = self.special
        ids = np.concatenate([[s.cls], first, [s.sep], second, [s.sep]]).astype(np.int64)
        types = np.zeros(len(ids), np.int64)
        types[len(first) + 2 :] = 1
        segment = types.copy()
        segment[[0, len(first) + 1, -1]] = -1
        masked = mask(ids, segment, s, self.recipe.masking, rng)
        return Example(masked.ids, types, masked.positions, masked.labels, pair)

    def _segments(self, index: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
        """Segments A and B and their label.

        Both labels have the same lengths: a B from another document is as long as the B it replaces, so that
        length gives nothing away.
        """
        chunk = self.corpus[index]
        cut = int(chunk.starts[rng.integers(1, len(chunk.starts) - 1)])
        a, b = chunk.tokens[:cut], chunk.tokens[cut:]
        kept_a, kept_b = shortened(len(a), len(b), chunk.target)
        a, b = _trimmed(a, kept_a, rng), _trimmed(b, kept_b, rng)
        other = bool(rng.random() < 0.5)
        if not other:
            return a, b, 0
        if self.recipe.pairs == "sop":
            return b, a, 1
        return a, self._elsewhere(chunk.document, len(b), rng), 1

    def _elsewhere(self, document: int, length: int, rng: np.random.Generator) -> np.ndarray:
        """`length` tokens of another document, from the beginning of a sentence."""
        row = rng.integers(len(self.chunks))
        while self.documents[row] == document:
            row = rng.integers(len(self.chunks))
        chunk = self.corpus[int(self.chunks[row])]
        starts = chunk.starts[:-1]
        long_enough = starts[len(chunk.tokens) - starts >= length]
        start = int(rng.choice(long_enough)) if len(long_enough) else 0
        return chunk.tokens[start : start + length]


def shortened(a: int, b: int, limit: int) -> tuple[int, int]:
    """Lengths of two segments after tokens were taken from the longer one until `limit` is kept."""
    if a + b <= limit:
        return a, b
    small = min(a, b, limit // 2)
    return (small, limit - small) if a <= b else (limit - small, small)


def _trimmed(tokens: np.ndarray, length: int, rng: np.random.Generator) -> np.ndarray:
    """Take tokens off the front and the back, a fair coin for each, as BERT does."""
    front = int(rng.binomial(len(tokens) - length, 0.5))
    return tokens[front : front + length]


def collate(examples: Sequence[Example], pad: int) -> dict[str, Tensor]:
    """A batch padded to its longest example.

    Returns:
        input_ids, attention_mask, token_type_ids (B, S); masked_index (M,), places in the flattened (B·S,)
        batch; masked_labels (M,); pair_labels (B,).
    """
    width = max(len(e.ids) for e in examples)
    ids = np.full((len(examples), width), pad, np.int64)
    mask_, types = np.zeros_like(ids), np.zeros_like(ids)
    for row, e in enumerate(examples):
        ids[row, : len(e.ids)], mask_[row, : len(e.ids)], types[row, : len(e.ids)] = e.ids, 1, e.types
    index = np.concatenate([row * width + e.positions for row, e in enumerate(examples)])
    arrays = {
        "input_ids": ids,
        "attention_mask": mask_,
        "token_type_ids": types,
        "masked_index": index,
        "masked_labels": np.concatenate([e.labels for e in examples]),
        "pair_labels": np.array([e.pair for e in examples]),
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


class Order:
    """Which chunks each step trains on: a new permutation every epoch, without a rest that fills no batch.

    Args:
        chunks: numbers of the training chunks.
        batch_size: chunks a step.
        seed: of the order.
        first: steps of the stages before: a stage goes on in the text where the one before it stopped.

    Raises:
        DataError: too few chunks for a batch.
    """

    def __init__(self, chunks: np.ndarray, batch_size: int, seed: int, first: int = 0) -> None:
        if len(chunks) < batch_size:
            raise DataError(f"corpus: {len(chunks)} training chunks do not fill a batch of {batch_size}")
        self._chunks, self._size, self._seed, self._first = chunks, batch_size, seed, first
        self.steps_per_epoch = len(chunks) // batch_size
        self._epoch, self._order = -1, chunks

    def batch(self, step: int) -> list[tuple[int, int]]:
        """(epoch, chunk) of each example of a step."""
        epoch, place = divmod(self._first + step, self.steps_per_epoch)
        if epoch != self._epoch:
            self._epoch, self._order = (
                epoch,
                np.random.default_rng((self._seed, epoch)).permutation(self._chunks),
            )
        return [(epoch, int(i)) for i in self._order[place * self._size : (place + 1) * self._size]]
