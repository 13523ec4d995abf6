"""Parts of cross-encoder training: encoded pairs, swaps, predictions, development figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mobilebert_models import EmbeddingMatcher, EncoderConfig, PairClassifier
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.batches import Batch
from mobilebert_training.inference import predict

TRAIN_LENGTH = 64  # tokens; 99.6% of the QQP pairs are shorter, and attention's cost grows with the longest


def readable_tokens(most: int, *configs: EncoderConfig) -> int:
    """How many tokens of a text all of the networks can read: `most`, or as far as each has positions."""
    return min(most, *(config.max_tokens for config in configs))


@dataclass(frozen=True)
class EncodedPairs:
    """Pairs as token ids, in both orders: swapping a and b is free augmentation for a symmetric task."""

    forward: list[tuple[list[int], list[int]]]
    swapped: list[tuple[list[int], list[int]]]

    @classmethod
    def encode(
        cls, tokenizer: PairTokenizer, pairs: Sequence[Pair], max_len: int = TRAIN_LENGTH
    ) -> EncodedPairs:
        """Tokenise once for the whole run."""
        return cls(tokenizer.ids(pairs, max_len), tokenizer.ids([(b, a) for a, b in pairs], max_len))

    @property
    def lengths(self) -> list[int]:
        """Tokens of each pair."""
        return [len(ids) for ids, _ in self.forward]

    def batch(self, tokenizer: PairTokenizer, index: np.ndarray, swap: np.ndarray) -> dict[str, Tensor]:
        """Tensors (B, longest) of the pairs at `index`, those with `swap` set in swapped order."""
        rows = [self.swapped[i] if s else self.forward[i] for i, s in zip(index, swap, strict=True)]
        return padded(tokenizer, rows)


def swap_flags(batch: Batch) -> np.ndarray:
    """Which pairs of a batch are swapped: half of them, by chance."""
    return batch.chance < 0.5


def predict_logits(
    model: PairClassifier | EmbeddingMatcher,
    tokenizer: PairTokenizer,
    pairs: Sequence[Pair],
    *,
    seq_len: int = 128,
) -> np.ndarray:
    """Logits (N, num_labels) float32 of a PyTorch network that decides about pairs.

    Pairs are read up to `seq_len` tokens, or as far as the network has positions.

    Raises:
        ModelError: they are not finite.
    """
    encoded = tokenizer.ids(pairs, readable_tokens(seq_len, model.config))
    if not encoded:
        return np.zeros((0, model.num_labels), np.float32)
    lengths = [len(ids) for ids, _ in encoded]
    logits = predict(model, lengths, collator(tokenizer, encoded)).float().numpy()
    if not np.isfinite(logits).all():
        raise ModelError("the network answers with NaN or infinity; its weights are damaged")
    return logits


def sentence_vectors(
    model: EmbeddingMatcher, tokenizer: PairTokenizer, texts: Sequence[str], *, seq_len: int = 128
) -> np.ndarray:
    """Unit vectors (N, H) float32 of single texts, read as far as the network has positions."""
    encoded = tokenizer.ids(texts, readable_tokens(seq_len, model.config))
    lengths = [len(ids) for ids, _ in encoded]
    return predict(
        model, lengths, collator(tokenizer, encoded), forward=lambda inputs: model(**inputs)[1]
    ).numpy()


def collator(
    tokenizer: PairTokenizer, rows: Sequence[tuple[list[int], list[int]]]
) -> Callable[[np.ndarray], dict[str, Tensor]]:
    """From places among encoded texts or pairs to the batch of these."""
    return lambda index: padded(tokenizer, [rows[i] for i in index])


def padded(tokenizer: PairTokenizer, rows: Sequence[tuple[list[int], list[int]]]) -> dict[str, Tensor]:
    """Encoded texts or pairs as int32 tensors (B, longest)."""
    return {name: torch.from_numpy(values) for name, values in tokenizer.pad(rows, None).items()}


def dev_figures(
    model: PairClassifier, tokenizer: PairTokenizer, dev: tuple[Sequence[Pair], np.ndarray]
) -> dict[str, float]:
    """What a training record says about development pairs and their (N,) labels."""
    logits = predict_logits(model, tokenizer, dev[0], seq_len=TRAIN_LENGTH)
    return {"dev_accuracy": float((logits.argmax(1) == dev[1]).mean())}
