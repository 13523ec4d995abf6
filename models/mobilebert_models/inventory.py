"""Counts what a config costs: parameters by part, multiply-accumulates, bytes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from mobilebert_models.config import EncoderConfig
from mobilebert_models.kronecker.factored_layers import KroneckerLinear
from mobilebert_models.networks.heads import make_encoder

SEQUENCE = 128  # the papers' latency setting


def inventory(config: EncoderConfig, seq_len: int = SEQUENCE) -> dict[str, Any]:
    """Count an encoder (embeddings, blocks and pooler; no task head) without allocating it.

    Returns:
        `parameters` by part with their `total`; `macs` of one sequence of `seq_len` tokens: every linear map
        at every position it runs at, plus attention's two products (norms, softmax and activations not
        counted; FLOPs are twice that); `bytes` of the weights: fp32 = 4 each, int8 = 1 for a matrix entry and
        4 for biases and norms.
    """
    with torch.device("meta"):
        encoder = make_encoder(config)
    parameters: dict[str, int] = {}
    matrix = 0
    for name, tensor in encoder.named_parameters():
        part = _part(name)
        parameters[part] = parameters.get(part, 0) + tensor.numel()
        matrix += tensor.numel() if tensor.dim() > 1 else 0
    total = sum(parameters.values())
    return {
        "parameters": parameters | {"total": total},
        "macs": _macs(encoder, config, seq_len),
        "seq_len": seq_len,
        "bytes": {"fp32": 4 * total, "int8": matrix + 4 * (total - matrix)},
    }


def _part(name: str) -> str:
    """Name of the part that a parameter belongs to, as the table shows it."""
    if name.startswith("embeddings.word"):
        return "word_embeddings"
    if name.startswith("embeddings."):
        return "other_embeddings"
    if name.startswith("pooler."):
        return "pooler"
    if ".attention.self." in name or ".attention.output." in name:
        return "attention"
    if ".bottleneck." in name:
        return "bottlenecks"
    return "feed_forward"


def _macs(encoder: nn.Module, config: EncoderConfig, seq_len: int) -> int:
    total = 0
    # A module that several layers share runs once in each.
    for name, module in encoder.named_modules(remove_duplicate=False):
        positions = 1 if name.startswith("pooler") else seq_len
        if isinstance(module, nn.Linear):
            total += module.in_features * module.out_features * positions
        elif isinstance(module, KroneckerLinear):
            total += module.macs * positions
    # Q·Kᵀ and P·V: S × S × (A·D) each.
    return total + config.num_hidden_layers * 2 * seq_len * seq_len * config.attention_size
