"""The one source of chance of the general matcher's training, and the type of its products."""

from __future__ import annotations

import random

import torch


def generator(seed: int | str) -> random.Random:
    """A generator of its own for every purpose: its draws depend on the seed alone."""
    return random.Random(seed)  # noqa: S311 (texts are drawn, no secrets)


def fast_products() -> torch.autocast:
    """bfloat16 products where the processor has instructions for them: elsewhere float32 is faster."""
    return torch.autocast("cpu", torch.bfloat16, enabled=torch.cpu._is_avx512_bf16_supported())
