"""Operators (by kind) and multiply-accumulates of one inference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

# Operators that only move values, or make constants, in PyTorch's own graph.
_MOVES = frozenset(
    {
        *("view", "_unsafe_view", "t", "transpose", "permute", "expand", "slice", "select", "unsqueeze"),
        *("clone", "detach", "alias", "cat", "constant_pad_nd", "_to_copy", "split", "arange"),
    }
)


@dataclass(frozen=True)
class Work:
    """Counts of one inference.

    Attributes:
        operators: how often each kind of PyTorch operator computes something.
        macs: multiply-accumulates of all matrix products.
    """

    operators: dict[str, int]
    macs: int


class _Counter(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = func.overloadpacket.__name__
        if name not in _MOVES:
            self.seen[name] += 1
        return func(*args, **(kwargs or {}))


def count_work(network: Callable[..., Any], seq_len: int) -> Work:
    """Run one sequence of `seq_len` tokens through a network in eval mode and count."""
    example = [torch.ones(1, seq_len, dtype=torch.int32)] * 3
    flops = FlopCounterMode(display=False)
    counter = _Counter()
    with torch.no_grad(), flops, counter:
        network(*example)
    return Work(dict(counter.seen.most_common()), flops.get_total_flops() // 2)
