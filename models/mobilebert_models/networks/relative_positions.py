"""MPNet's relative position bias (Song et al. 2020): a learnt number per head and distance of two tokens."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

# Distances from here on, either way, share a bucket; half of each direction's buckets are exact.
_FARTHEST = 128


def distance_buckets(length: int, buckets: int) -> Tensor:
    """(S, S) int: the bucket of token j as token i sees it, after it in the upper half of the buckets.

    Near distances have a bucket each, farther ones logarithmically wider ones (Raffel et al. 2020).
    """
    positions = torch.arange(length)
    ahead = positions[None, :] - positions[:, None]
    distance = ahead.abs()
    half = buckets // 2
    exact = half // 2
    wide = torch.log(distance.clamp_min(1).float() / exact) / math.log(_FARTHEST / exact) * (half - exact)
    far = (exact + wide.long()).clamp_max(half - 1)
    return torch.where(distance < exact, distance, far) + (ahead > 0) * half


class RelativeBias(nn.Embedding):
    """What is added to the attention scores of every layer, by head and distance.

    Attributes:
        table: (1, A, L, L) of the bias at every pair of positions while `constant_bias` holds it, else None.
    """

    def __init__(self, buckets: int, heads: int) -> None:
        super().__init__(buckets, heads)
        self.table: Tensor | None = None

    def of_length(self, length: int) -> Tensor:
        """(1, A, S, S) for sequences of `length` tokens."""
        if self.table is not None:
            return self.table[:, :, :length, :length]
        found = distance_buckets(length, self.num_embeddings).to(self.weight.device)
        return self(found).permute(2, 0, 1)[None]


@contextmanager
def constant_bias(model: nn.Module, longest: int) -> Iterator[None]:
    """While a model is converted, the biases up to `longest` tokens are constants, not computed anew."""
    found = [module for module in model.modules() if isinstance(module, RelativeBias)]
    for module in found:
        module.table = module.of_length(longest).detach()
    try:
        yield
    finally:
        for module in found:
            module.table = None
