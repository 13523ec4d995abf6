"""A network over many examples, batched by length: little padding, results in the order of the examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn


def logits_of(output: Tensor | tuple[Tensor, ...]) -> Tensor:
    """The logits of a network that returns them alone, or first, as an embedding matcher."""
    return output if isinstance(output, Tensor) else output[0]


def predict(
    network: nn.Module,
    lengths: Sequence[int],
    collate: Callable[[np.ndarray], dict[str, Tensor]],
    *,
    forward: Callable[[dict[str, Tensor]], Tensor] | None = None,
    batch_size: int = 128,
) -> Tensor:
    """What a network gives for N examples, (N, …) on the CPU, in eval mode, which is undone afterwards.

    Args:
        network: on any device.
        lengths: of each example, in tokens.
        collate: the inputs of some examples.
        forward: from inputs to (B, …); without it the network's logits.
        batch_size: examples at once.
    """
    compute = forward or (lambda inputs: logits_of(network(**inputs)))
    found: list[tuple[np.ndarray, Tensor]] = []
    for index, inputs in batches_by_length(network, lengths, collate, batch_size):
        found.append((index, compute(inputs).cpu()))
    order = torch.from_numpy(np.argsort(np.concatenate([index for index, _ in found])))
    return torch.cat([values for _, values in found])[order]


def batches_by_length(
    network: nn.Module,
    lengths: Sequence[int],
    collate: Callable[[np.ndarray], dict[str, Tensor]],
    batch_size: int,
) -> Iterator[tuple[np.ndarray, dict[str, Tensor]]]:
    """Places and inputs of each batch, shortest examples first; meanwhile `network` is in eval mode."""
    order = np.argsort(lengths, kind="stable")
    device = next(network.parameters()).device
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            index = order[start : start + batch_size]
            yield index, {key: value.to(device) for key, value in collate(index).items()}
    network.train(was_training)
