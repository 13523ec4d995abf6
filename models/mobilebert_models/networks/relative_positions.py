"""Positions that attention reads: MPNet's bias by distance (Song et al. 2020), ModernBERT's angles.

All of them hang on the length of a sequence alone, so that a converted model has them as constants.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


class RotaryAngles(nn.Module):
    """Cosines and sines by which queries and keys of a position are turned (Su et al. 2021).

    Attributes:
        table: of the longest sequence while `constant_bias` holds it, else None.
    """

    def __init__(self, size: int, theta: float) -> None:
        super().__init__()
        self.size, self.theta = size, theta
        self.table: Tensor | None = None

    def of_length(self, length: int) -> Tensor:
        """(2, S, D) for sequences of `length` tokens; both halves of a head turn by the same angles."""
        if self.table is not None:
            return self.table[:, :length]
        speeds = 1.0 / self.theta ** (torch.arange(0, self.size, 2).float() / self.size)
        angles = torch.arange(length).float()[:, None] * speeds
        both = torch.cat([angles, angles], -1)
        return torch.stack([both.cos(), both.sin()])


class LocalWindow(nn.Module):
    """What is added to the scores of a local layer: `value` for tokens more than `reach` away.

    Attributes:
        table: of the longest sequence while `constant_bias` holds it, else None.
    """

    def __init__(self, reach: int, value: float) -> None:
        super().__init__()
        self.reach, self.value = reach, value
        self.table: Tensor | None = None

    def of_length(self, length: int) -> Tensor:
        """(1, 1, S, S) for sequences of `length` tokens."""
        if self.table is not None:
            return self.table[:, :, :length, :length]
        places = torch.arange(length)
        far = (places[None, :] - places[:, None]).abs() > self.reach
        return far.float()[None, None] * self.value


@contextmanager
def constant_bias(model: nn.Module, longest: int) -> Iterator[None]:
    """While a model is converted, all of them up to `longest` tokens are constants, not computed anew."""
    found: list[Any] = [module for module in model.modules() if hasattr(module, "of_length")]
    with torch.no_grad():
        for module in found:
            module.table = module.of_length(longest)
    try:
        yield
    finally:
        for module in found:
            module.table = None
