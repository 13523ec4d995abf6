"""MatchPyramid (Pang et al. 2016): the word-by-word similarities of two texts, read as an image by a CNN."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F

from studies.length_bias.word_level.matcher_network import WordMatcherNetwork


@dataclass(frozen=True)
class MatchPyramidConfig:
    """Sizes; kernels from the paper's appendix, the rest from its count of 52,962 trainable parameters."""

    # Side of the image. Every pair is laid on this canvas, so that padding never depends on the batch; texts
    # are cut to it.
    max_words: int = 40
    channels: tuple[int, int] = (8, 16)
    kernels: tuple[int, int] = (5, 3)
    # Dynamic pooling after each convolution (Pang et al. Eq. 6): the grid it leaves.
    pooled: tuple[int, int] = (10, 5)
    hidden_size: int = 128
    num_labels: int = 2


class MatchPyramid(WordMatcherNetwork):
    """Dot-product matching image → convolution, pooling → convolution, pooling → two-layer classifier."""

    arch = "matchpyramid"

    def __init__(self, config: MatchPyramidConfig, vectors: Tensor) -> None:
        super().__init__(vectors)
        self.config = config
        first, second = config.channels
        self.conv1 = nn.Conv2d(1, first, config.kernels[0])
        self.conv2 = nn.Conv2d(first, second, config.kernels[1])
        self.hidden = nn.Linear(second * config.pooled[1] ** 2, config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, a_ids: Tensor, b_ids: Tensor) -> Tensor:
        """(B, La) and (B, Lb) word ids → (B, num_labels) logits; words beyond `max_words` are not read."""
        x = F.relu(self.conv1(self.image(a_ids, b_ids)[:, None]))
        x = F.adaptive_max_pool2d(x, self.config.pooled[0])
        x = F.adaptive_max_pool2d(F.relu(self.conv2(x)), self.config.pooled[1])
        # (B, C, P, P) → (B, C·P·P)
        return self.out(F.relu(self.hidden(x.flatten(1))))

    def image(self, a_ids: Tensor, b_ids: Tensor) -> Tensor:
        """Dot products of all word pairs over √E, zero at padding: (B, max_words, max_words)."""
        side = self.config.max_words
        a, b = self.embed(a_ids[:, :side]), self.embed(b_ids[:, :side])
        scores = a @ b.transpose(1, 2) / math.sqrt(a.shape[-1])
        return F.pad(scores, (0, side - scores.shape[2], 0, side - scores.shape[1]))
