"""Random generators, device and number type of the general matcher's training."""

from __future__ import annotations

import random
from collections.abc import Mapping

import torch
from torch import Tensor


def generator(seed: int | str) -> random.Random:
    """A separate random generator for every purpose; its draws depend on the seed only."""
    return random.Random(seed)  # noqa: S311 (texts are drawn, no secrets)


def device() -> torch.device:
    """The accelerator, or the processor where there is none."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def moved(batch: Mapping[str, Tensor], where: torch.device) -> dict[str, Tensor]:
    """A batch on a device."""
    return {name: values.to(where, non_blocking=True) for name, values in batch.items()}


def fast_products() -> torch.autocast:
    """bfloat16 products where the processor has instructions for them: elsewhere float32 is faster."""
    return torch.autocast("cpu", torch.bfloat16, enabled=torch.cpu._is_avx512_bf16_supported())
