"""ESIM (Chen et al. 2017), the sequential model: BiLSTM, soft alignment, comparison, BiLSTM, pooling.

The paper's 1,694,810 trainable parameters fix the variant: no projection between alignment and composition,
batch normalisation of word vectors and of the classifier's inputs, two ELU layers of 64.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from studies.length_bias.word_level.matcher_network import RecurrentMatcherNetwork
from studies.length_bias.word_level.recurrent import BiLSTM, mask_of, masked_max, masked_mean


@dataclass(frozen=True)
class ESIMConfig:
    """Sizes; the hidden size is the paper's."""

    hidden_size: int = 128  # per direction
    classifier_size: int = 64
    dropout: float = 0.2
    num_labels: int = 2


class ESIM(RecurrentMatcherNetwork):
    """Enhanced sequential inference model."""

    arch = "esim"

    def __init__(self, config: ESIMConfig, vectors: Tensor) -> None:
        super().__init__(vectors)
        self.config = config
        size, width = config.hidden_size, config.classifier_size
        self.word_norm = nn.BatchNorm1d(vectors.shape[1])
        self.encoder = BiLSTM(vectors.shape[1], size)
        # [context; aligned; difference; product], each 2·size wide (Chen et al. Eq. 14–15).
        self.composition = BiLSTM(8 * size, size)
        self.classifier = nn.Sequential(
            nn.BatchNorm1d(8 * size),
            nn.Linear(8 * size, width),
            nn.ELU(),
            nn.BatchNorm1d(width),
            nn.Dropout(config.dropout),
            nn.Linear(width, width),
            nn.ELU(),
            nn.BatchNorm1d(width),
            nn.Dropout(config.dropout),
            nn.Linear(width, config.num_labels),
        )

    def forward(self, a_ids: Tensor, b_ids: Tensor) -> Tensor:
        """(B, La) and (B, Lb) word ids → (B, num_labels) logits."""
        a_mask, b_mask = mask_of(a_ids), mask_of(b_ids)
        a, b = self.context(a_ids), self.context(b_ids)
        a_aligned, b_aligned = align(a, b, a_mask, b_mask)
        pooled = []
        for own, aligned, mask in ((a, a_aligned, a_mask), (b, b_aligned, b_mask)):
            compared = torch.cat([own, aligned, own - aligned, own * aligned], -1)  # (B, L, 8·H)
            composed, _ = self.composition.read(compared, mask)
            pooled += [masked_mean(composed, mask), masked_max(composed, mask)]
        return self.classifier(torch.cat(pooled, -1))  # (B, 8·H)

    def context(self, ids: Tensor) -> Tensor:
        """(B, L) → (B, L, 2·H), zero at the padding."""
        mask = mask_of(ids)
        x = self.embed(ids)
        # Statistics of words only: (B, L, E) → (words, E) and back.
        normed = torch.zeros_like(x)
        normed[mask] = self.word_norm(x[mask])
        return self.encoder.read(normed, mask)[0]


def align(a: Tensor, b: Tensor, a_mask: Tensor, b_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Soft alignment of two texts by dot-product attention (Chen et al. Eq. 11–13).

    Args:
        a: (B, La, D).
        b: (B, Lb, D).
        a_mask: (B, La), True at words.
        b_mask: (B, Lb).

    Returns:
        For each word of a the attended b (B, La, D), for each word of b the attended a (B, Lb, D).
    """
    scores = a @ b.transpose(1, 2)  # (B, La, Lb)
    low = torch.finfo(scores.dtype).min
    over_b = scores.masked_fill(~b_mask[:, None, :], low).softmax(2)
    over_a = scores.masked_fill(~a_mask[:, :, None], low).softmax(1)
    return over_b @ b, over_a.transpose(1, 2) @ a
