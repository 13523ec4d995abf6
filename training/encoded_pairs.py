"""What training a cross-encoder needs: encoded pairs, swaps, predictions, development figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from models import PairClassifier
from training.loop import Batch

TRAIN_LENGTH = 64  # tokens; 99.6% of the QQP pairs are shorter, and attention's cost grows with the longest


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
        return {k: torch.from_numpy(v) for k, v in tokenizer.pad(rows, None).items()}


def swap_flags(batch: Batch, seed: int) -> np.ndarray:
    """Which pairs of a batch are swapped: a fair coin that depends on seed, epoch and batch only."""
    return np.random.default_rng((seed, batch.epoch, int(batch.index[0]))).random(len(batch.index)) < 0.5


def predict_logits(
    model: PairClassifier,
    tokenizer: PairTokenizer,
    pairs: Sequence[Pair],
    *,
    seq_len: int = 128,
    batch_size: int = 128,
) -> np.ndarray:
    """Logits (N, num_labels) float32 of a PyTorch pair classifier, batched by length for speed."""
    encoded = tokenizer.ids(pairs, seq_len)
    order = np.argsort([len(ids) for ids, _ in encoded], kind="stable")
    out = np.zeros((len(pairs), model.num_labels), np.float32)
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            index = order[start : start + batch_size]
            arrays = tokenizer.pad([encoded[i] for i in index], None)
            out[index] = model(**{k: torch.from_numpy(v) for k, v in arrays.items()}).numpy()
    model.train(was_training)
    return out


def dev_figures(
    model: PairClassifier, tokenizer: PairTokenizer, dev: tuple[Sequence[Pair], np.ndarray]
) -> dict[str, float]:
    """What a training record says about development pairs and their (N,) labels."""
    logits = predict_logits(model, tokenizer, dev[0], seq_len=TRAIN_LENGTH)
    return {"dev_accuracy": float((logits.argmax(1) == dev[1]).mean())}
