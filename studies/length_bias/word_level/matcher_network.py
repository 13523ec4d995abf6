"""What the three word-level matchers share: fixed word vectors and one interface.

The paper (Jiang et al. 2022) gives kernels and hidden sizes and names the two code bases it took; the sizes
it does not give (channels, pooling grid, classifier width) are those that lead to the trainable-parameter
counts of its appendix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from studies.length_bias.word_level.recurrent import mask_of, masked_max


class WordMatcherNetwork(nn.Module, ABC):
    """Two texts of word ids in, two logits out.

    The word vectors are a buffer: fixed during training, and not part of the saved weights, because they are
    the same for every matcher and come from their own package.
    """

    arch: str
    config: Any  # the architecture's dataclass
    vectors: Tensor

    def __init__(self, vectors: Tensor) -> None:
        """Keep the table (V, E); row 0 belongs to padding and must be zero.

        Raises:
            ValueError: row 0 is not zero.
        """
        super().__init__()
        if vectors[0].any():
            raise ValueError("row 0 of the word vectors is padding and must be zero")
        self.register_buffer("vectors", vectors.float(), persistent=False)

    def embed(self, ids: Tensor) -> Tensor:
        """(B, L) word ids → (B, L, E)."""
        return F.embedding(ids, self.vectors)

    @abstractmethod
    def forward(self, a_ids: Tensor, b_ids: Tensor) -> Tensor:
        """(B, La) and (B, Lb) word ids, 0 = padding → (B, 2) logits: different, same."""

    @property
    def trainable_parameters(self) -> int:
        """Numbers that training changes."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)


class RecurrentMatcherNetwork(WordMatcherNetwork):
    """A matcher with a context encoder that reads each text alone, so that a text has a representation."""

    @abstractmethod
    def context(self, ids: Tensor) -> Tensor:
        """(B, L) → (B, L, D), the BiLSTM's outputs over the words of one text; zero at the padding."""

    def represent(self, ids: Tensor) -> Tensor:
        """(B, L) → (B, D): the largest value of each hidden unit over the words (Section 4.3)."""
        return masked_max(self.context(ids), mask_of(ids))
