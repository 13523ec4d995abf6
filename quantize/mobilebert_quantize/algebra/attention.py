"""Exact simplifications of attention: scale and biases that softmax and linearity make redundant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from mobilebert_models.networks.layers import SelfAttention, encoder_of


def attentions(network: nn.Module) -> Iterator[tuple[str, SelfAttention, Any]]:
    """The path of every block, its attention, and the linear layer that reads the context."""
    layers: list[Any] = encoder_of(network).layers
    for number, layer in enumerate(layers):
        yield f"encoder.layer.{number}", layer.attention.self, layer.attention.output.dense


def fold_query_scale(network: nn.Module) -> tuple[dict[str, int], list[str]]:
    """c·(W·x + b)ᵀk = (c·W·x + c·b)ᵀk: the factor c = 1/√D of the scores goes into the query's weights.

    Returns:
        Counts of what changed, and what was left as it was, with the reason.
    """
    changed = 0
    skipped: list[str] = []
    for path, attention, _ in attentions(network):
        if attention.scale == 1.0:
            continue
        if not isinstance(attention.query, nn.Linear):
            skipped.append(f"{path}.attention.self.query: a Kronecker layer")
            continue
        with torch.no_grad():
            attention.query.weight.mul_(attention.scale)
            if attention.query.bias is not None:
                attention.query.bias.mul_(attention.scale)
        attention.scale = 1.0
        changed += 1
    return {"multiplications of scores folded": changed}, skipped


def drop_key_bias(network: nn.Module) -> tuple[dict[str, int], list[str]]:
    """qᵢᵀ(kⱼ + b) = qᵢᵀkⱼ + qᵢᵀb, the same number added to all scores of query i, which softmax ignores.

    Returns:
        Counts of what changed, and what was left as it was, with the reason.
    """
    changed = 0
    skipped: list[str] = []
    for path, attention, _ in attentions(network):
        if attention.key.bias is None:
            continue
        if not attention.by_content:
            skipped.append(f"{path}.attention.self.key: scores hang on positions, too")
            continue
        attention.key.register_parameter("bias", None)
        changed += 1
    return {"key biases dropped": changed}, skipped


def move_value_bias(network: nn.Module) -> tuple[dict[str, int], list[str]]:
    """Σⱼ pᵢⱼ(vⱼ + b) = Σⱼ pᵢⱼvⱼ + b, for the probabilities sum to 1: W·b joins the output projection's bias.

    Returns:
        Counts of what changed; nothing is ever left.
    """
    changed = 0
    for _, attention, output in attentions(network):
        if attention.value.bias is None:
            continue
        with torch.no_grad():
            # The layer itself is asked, so that a Kronecker one is served as well.
            output.bias.copy_(output(attention.value.bias))
        attention.value.register_parameter("bias", None)
        changed += 1
    return {"value biases moved": changed}, []
