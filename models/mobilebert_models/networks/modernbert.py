"""ModernBERT (Warner et al. 2024): rotary positions, local attention in most layers, gated networks.

A norm stands before each part of a layer, not behind it, and one behind the last layer; no linear map of the
encoder has a bias. In a local layer a token sees those at most half a window away. Published checkpoints keep
query, key and value in one matrix; the table at the end translates their names.
"""

from __future__ import annotations

import re
from typing import cast

import torch
from torch import Tensor, nn

from mobilebert_models.config import EncoderConfig
from mobilebert_models.networks.layers import (
    Encoder,
    EncoderOutput,
    SelfAttention,
    activation,
    additive_mask,
    first_rows,
)
from mobilebert_models.networks.relative_positions import LocalWindow, RotaryAngles


class RotaryAttention(SelfAttention):
    """Attention whose queries and keys are turned by angles of their positions (Su et al. 2021)."""

    by_content = False

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config, config.hidden_size, config.hidden_size, bias=False)

    def attend(self, x: Tensor, mask: Tensor, turn: Tensor, rows: int | None) -> tuple[Tensor, Tensor]:
        """Attend.

        Args:
            x: (B, S, H).
            mask: (B, 1, 1 or Q, S), added to the scores.
            turn: (2, S, D), cosines and sines of the positions.
            rows: Q, how many rows are asked for, from the first on; all if None.

        Returns:
            The context (B, Q, H) and the masked scores (B, A, Q, S).
        """
        q, k, v = self.split_heads(first_rows(x, rows), x, x)
        q, k = _turned(q, turn if rows is None else turn[:, :rows]), _turned(k, turn)
        products = torch.matmul(q, k.transpose(-1, -2))
        scores = (products if self.scale == 1.0 else products * self.scale) + mask
        context = torch.matmul(self.dropout(scores.softmax(-1)), v)
        return context.transpose(1, 2).flatten(2), scores


def _turned(x: Tensor, turn: Tensor) -> Tensor:
    """(B, A, S, D) and (2, S, D) → (B, A, S, D)."""
    half = x.shape[-1] // 2
    return x * turn[0] + torch.cat([-x[..., half:], x[..., :half]], -1) * turn[1]


class _Attention(nn.Module):
    def __init__(self, config: EncoderConfig, depth: int) -> None:
        super().__init__()
        self.norm = make_norm(config) if depth else nn.Identity()
        self.self = RotaryAttention(config)
        self.output = _Linear(config.hidden_size, config.hidden_size)


class _Linear(nn.Module):
    """A map by the name that the layers of other families have for it."""

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        self.dense = nn.Linear(in_size, out_size, bias=False)


class GatedIntermediate(_Linear):
    """The widening half of a feed-forward network: act(U·x) ∘ V·x (Shazeer 2020)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config.hidden_size, 2 * config.intermediate_size)
        self.size = config.intermediate_size
        self.act = activation(config)

    def forward(self, x: Tensor) -> Tensor:
        """(…, H) → (…, intermediate_size)."""
        wide = self.dense(x)
        return self.act(wide[..., : self.size]) * wide[..., self.size :]


class ModernBertLayer(nn.Module):
    """Attention and one gated feed-forward network, each behind a norm and with a residual."""

    def __init__(self, config: EncoderConfig, depth: int) -> None:
        super().__init__()
        self.local = config.layer_types[depth] == "sliding_attention"
        self.attention = _Attention(config, depth)
        self.norm = make_norm(config)
        self.intermediate = GatedIntermediate(config)
        self.output = _Linear(config.intermediate_size, config.hidden_size)

    def forward(
        self, x: Tensor, mask: Tensor, turn: Tensor, rows: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """(B, S, H) → the first `rows` of (B, S, H), all if None, and attention scores (B, A, rows, S)."""
        context, scores = self.attention.self.attend(self.attention.norm(x), mask, turn, rows)
        x = first_rows(x, rows) + self.attention.output.dense(context)
        return x + self.output.dense(self.intermediate(self.norm(x))), scores


class ModernBertEmbeddings(nn.Module):
    """Word embeddings, normalised; positions are the layers'."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, config.pad_token_id)
        self.LayerNorm = make_norm(config)

    def forward(self, input_ids: Tensor) -> Tensor:
        """(B, S) ids → (B, S, H)."""
        return self.LayerNorm(self.word_embeddings(input_ids))


class PredictionHead(nn.Module):
    """What every classifier reads: Norm(gelu(W·x)) of the first row, of the mean row or of each row."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.mean = config.classifier_pooling == "mean"
        self.dense = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.norm = make_norm(config)

    def forward(self, hidden: Tensor) -> Tensor:
        """(…, H) → (…, H)."""
        return self.norm(nn.functional.gelu(self.dense(hidden)))

    def pooled(self, hidden: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, S, H) and (B, S) → (B, H)."""
        if not self.mean:
            return self(hidden[:, 0])
        mask = attention_mask.to(hidden.dtype)[:, :, None]
        return self((hidden * mask).sum(1) / mask.sum(1))


class ModernBert(Encoder):
    """The encoder with the head of its classifiers."""

    def __init__(self, config: EncoderConfig) -> None:
        layers = (ModernBertLayer(config, depth) for depth in range(config.num_hidden_layers))
        super().__init__(config, ModernBertEmbeddings(config), layers)
        self.final_norm = make_norm(config)
        self.pooler = PredictionHead(config)
        size = config.hidden_size // config.num_attention_heads
        self.angles = nn.ModuleDict(
            {
                "full": RotaryAngles(size, config.global_rope_theta),
                "local": RotaryAngles(size, config.local_rope_theta),
            }
        )
        self.window = LocalWindow(config.local_attention // 2, config.attention_mask_value)

    def embed(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """(B, S) → (B, S, H); padding is left to the layers' mask."""
        del attention_mask, token_type_ids
        return self.embeddings(input_ids)

    def run_layers(self, x: Tensor, attention_mask: Tensor, *, capture: bool) -> EncoderOutput:
        """As `Encoder.run_layers`."""
        mask = additive_mask(attention_mask, self.config.attention_mask_value, x.dtype)
        length = x.shape[1]
        near = mask + self.window.of_length(length)  # (B, 1, 1, S) and (1, 1, S, S) → (B, 1, S, S)
        turns = {name: cast(RotaryAngles, angles).of_length(length) for name, angles in self.angles.items()}
        hidden_states, attention_scores = [x], []
        for depth, layer in enumerate(cast("list[ModernBertLayer]", self.layers), start=1):
            rows = self.last_rows if depth == len(self.layers) else None
            seen = mask if not layer.local else near if rows is None else near[:, :, :rows]
            x, scores = layer(x, seen, turns["local" if layer.local else "full"], rows)
            if capture:
                hidden_states.append(x)
                attention_scores.append(scores)
        x = self.final_norm(x)
        pooled = x[:, 0] if self.pooler is None else self.pooler.pooled(x, attention_mask)
        return EncoderOutput(x, pooled, hidden_states if capture else [], attention_scores)


def make_norm(config: EncoderConfig) -> nn.LayerNorm:
    """A LayerNorm without a bias."""
    return nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps, bias=False)


# Ours → that of published checkpoints, inside a layer and outside.
_PARTS = {
    "attention.output.dense.": "attn.Wo.",
    "attention.norm.": "attn_norm.",
    "norm.": "mlp_norm.",
    "intermediate.dense.": "mlp.Wi.",
    "output.dense.": "mlp.Wo.",
}
_OUTSIDE = {
    "embeddings.word_embeddings.": "embeddings.tok_embeddings.",
    "embeddings.LayerNorm.": "embeddings.norm.",
}
_JOINED = ("query", "key", "value")


def published_tensors(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of an encoder by the names of published checkpoints; a head's `model.` stays where it is."""
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        prefix, inner = ("model.", name.removeprefix("model.")) if name.startswith("model.") else ("", name)
        layer = re.fullmatch(r"encoder\.layer\.(\d+)\.(.*)", inner)
        if layer is None:
            found[prefix + _renamed(inner, _OUTSIDE)] = tensor
        elif layer[2] == "attention.self.query.weight":
            parts = [tensors[name.replace(".query.", f".{one}.")] for one in _JOINED]
            found[f"{prefix}layers.{layer[1]}.attn.Wqkv.weight"] = torch.cat(parts)
        elif not layer[2].startswith("attention.self."):
            found[f"{prefix}layers.{layer[1]}.{_renamed(layer[2], _PARTS)}"] = tensor
    return found


def our_tensors(name: str, tensor: Tensor) -> dict[str, Tensor]:
    """A tensor of a published encoder by our name, or the three that it joins."""
    layer = re.fullmatch(r"layers\.(\d+)\.(.*)", name)
    if layer is None:
        return {_renamed(name, {theirs: ours for ours, theirs in _OUTSIDE.items()}): tensor}
    if layer[2] == "attn.Wqkv.weight":
        parts = zip(_JOINED, tensor.chunk(len(_JOINED)), strict=True)
        return {f"encoder.layer.{layer[1]}.attention.self.{one}.weight": part for one, part in parts}
    part = _renamed(layer[2], {theirs: ours for ours, theirs in _PARTS.items()})
    return {f"encoder.layer.{layer[1]}.{part}": tensor}


def _renamed(name: str, starts: dict[str, str]) -> str:
    for start, other in starts.items():
        if name.startswith(start):
            return other + name.removeprefix(start)
    return name
