"""Building blocks of all encoders: norms, activations, self-attention, the record of a forward pass."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_models.config import EncoderConfig
from mobilebert_models.kronecker.factored_layers import KroneckerEmbedding, KroneckerLinear
from mobilebert_models.networks.relative_positions import RelativeBias


@dataclass
class EncoderOutput:
    """What an encoder computed.

    Attributes:
        last_hidden_state: (B, S, H), the feature map after the last layer.
        pooled: (B, H), what a sequence-level head reads.
        hidden_states: embedding output and every layer's output, each (B, S, H); empty unless captured.
        attention_scores: every layer's masked, scaled scores before the softmax, each (B, A, S, S);
            empty unless captured.
    """

    last_hidden_state: Tensor
    pooled: Tensor
    hidden_states: list[Tensor] = field(default_factory=list)
    attention_scores: list[Tensor] = field(default_factory=list)


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,  # the exact, erf form
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "gelu_pytorch_tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "tanh": torch.tanh,
}


class NoNorm(nn.Module):
    """Element-wise affine map in the place of a layer normalisation: γ ∘ h + β (MobileBERT Eq. 1)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, hidden: Tensor) -> Tensor:
        """(…, size) → (…, size)."""
        return hidden * self.weight + self.bias


def make_norm(config: EncoderConfig, size: int) -> nn.Module:
    """The norm that the config names, over the last axis."""
    if config.normalization_type == "no_norm":
        return NoNorm(size)
    return nn.LayerNorm(size, eps=config.layer_norm_eps)


def activation(config: EncoderConfig) -> Callable[[Tensor], Tensor]:
    """The feed-forward activation that the config names."""
    return _ACTIVATIONS[config.hidden_act]


def additive_mask(attention_mask: Tensor, value: float, dtype: torch.dtype) -> Tensor:
    """(B, S) of 1 = token, 0 = padding → (B, 1, 1, S) of 0 and `value`, to be added to attention scores."""
    return ((1.0 - attention_mask.to(dtype)) * value)[:, None, None, :]


def first_rows(x: Tensor, rows: int | None) -> Tensor:
    """The first `rows` of (B, S, …); x itself if None: an exported graph has no slice that takes all."""
    return x if rows is None else x[:, :rows]


class SelfAttention(nn.Module):
    """Scaled dot-product attention over A heads; query, key and value may be read from different tensors.

    Args:
        config: gives the number of heads and the total head width.
        query_key_size: last axis of the tensors that query and key read.
        value_size: last axis of the tensor that value reads.
        bias: do the maps to query, key and value have one?

    Attributes:
        scale: factor of q·k, 1/√D; 1 where it is part of the query's weights already.
        by_content: do the scores hang on q·k alone? Then what leaves it, or its softmax, may be rewritten.
    """

    by_content = True

    def __init__(
        self, config: EncoderConfig, query_key_size: int, value_size: int, *, bias: bool = True
    ) -> None:
        super().__init__()
        self.heads = config.num_attention_heads
        self.head_size = config.attention_size // config.num_attention_heads
        self.scale = 1.0 / math.sqrt(self.head_size)
        self.query = nn.Linear(query_key_size, config.attention_size, bias)
        self.key = nn.Linear(query_key_size, config.attention_size, bias)
        self.value = nn.Linear(value_size, config.attention_size, bias)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def _split(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        # (B, S, A·D) → (B, S, A, D) → (B, A, S, D)
        return x.view(batch, length, self.heads, self.head_size).transpose(1, 2)

    def split_heads(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What the heads make of (B, Q, …), (B, S, …) and (B, S, …): (B, A, Q or S, D) each."""
        return self._split(self.query(query)), self._split(self.key(key)), self._split(self.value(value))

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Attend.

        Args:
            query: (B, Q, query_key_size); Q = S, or fewer rows where only their context is asked for.
            key: (B, S, query_key_size).
            value: (B, S, value_size).
            mask: (B, 1, 1, S), or (B, A, Q, S) where positions are relative; added to the scores.

        Returns:
            The context (B, Q, A·D) and the masked scores (B, A, Q, S).
        """
        q, k, v = self.split_heads(query, key, value)
        products = torch.matmul(q, k.transpose(-1, -2))
        scores = (products if self.scale == 1.0 else products * self.scale) + mask
        context = torch.matmul(self.dropout(scores.softmax(-1)), v)
        # (B, A, Q, D) → (B, Q, A, D) → (B, Q, A·D)
        return context.transpose(1, 2).reshape(query.shape[0], query.shape[1], -1), scores


class Projection(nn.Module):
    """A linear map, dropout, the residual, then the norm: Norm(W·x + b + residual)."""

    def __init__(self, config: EncoderConfig, in_size: int, out_size: int, dropout: float) -> None:
        super().__init__()
        self.dense = nn.Linear(in_size, out_size)
        self.LayerNorm = make_norm(config, out_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        """(…, in_size) and (…, out_size) → (…, out_size)."""
        return self.LayerNorm(self.dropout(self.dense(x)) + residual)


class Intermediate(nn.Module):
    """The widening half of a feed-forward network: act(W·x + b)."""

    def __init__(self, config: EncoderConfig, in_size: int) -> None:
        super().__init__()
        self.dense = nn.Linear(in_size, config.intermediate_size)
        self.act = activation(config)

    def forward(self, x: Tensor) -> Tensor:
        """(…, in_size) → (…, intermediate_size)."""
        return self.act(self.dense(x))


class Pooler(nn.Module):
    """The [CLS] row, through act(W·x + b) where the config asks for it, else as it is.

    act is tanh but for DistilBERT (ReLU) and ELECTRA (GELU), whose classification heads begin with it.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = (
            nn.Linear(config.hidden_size, config.hidden_size) if config.classifier_activation else None
        )
        self.act = _ACTIVATIONS[config.classifier_act]

    def forward(self, hidden: Tensor) -> Tensor:
        """(B, S, H) → (B, H)."""
        first = hidden[:, 0]
        return first if self.dense is None else self.act(self.dense(first))


class Encoder(nn.Module, ABC):
    """Embeddings, a stack of layers and a pooler, as BERT and MobileBERT share them.

    Attributes:
        last_rows: rows that the last layer computes, counted from [CLS]; None for all. Its keys and values
            are read from every row all the same.
    """

    config: EncoderConfig
    embeddings: Any
    encoder: nn.ModuleDict
    pooler: Any  # a module, or None where nothing reads the whole text

    def __init__(self, config: EncoderConfig, embeddings: nn.Module, layers: Iterable[nn.Module]) -> None:
        super().__init__()
        self.config = config
        self.embeddings = embeddings
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(layers)})
        self.pooler = Pooler(config)
        self.last_rows: int | None = None

    @property
    def layers(self) -> list[nn.Module]:
        """The blocks in order; each maps (B, S, H), a mask and a row count to (B, rows, H) and scores."""
        return list(cast(nn.ModuleList, self.encoder["layer"]))

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
        *,
        capture: bool = False,
    ) -> EncoderOutput:
        """Encode (B, S) int ids; `capture` keeps every layer's feature map and attention scores.

        Token types are read by networks with two or more of them, which must be given them.
        """
        embedded = self.embed(input_ids, attention_mask, token_type_ids)
        return self.run_layers(embedded, attention_mask, capture=capture)

    @abstractmethod
    def embed(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """(B, S) ids, mask and token types → (B, S, H), what the first layer reads."""

    def run_layers(self, x: Tensor, attention_mask: Tensor, *, capture: bool) -> EncoderOutput:
        """Run embeddings `x` (B, S, H) through the blocks and the pooler."""
        mask = additive_mask(attention_mask, self.config.attention_mask_value, x.dtype)
        last_mask = mask
        if "relative_attention_bias" in self.encoder:
            bias = cast(RelativeBias, self.encoder["relative_attention_bias"])
            mask = mask + bias.of_length(x.shape[1])  # (B, 1, 1, S) and (1, A, S, S) → (B, A, S, S)
            last_mask = mask if self.last_rows is None else mask[:, :, : self.last_rows]
        hidden_states: list[Tensor] = [x]
        attention_scores: list[Tensor] = []
        for depth, layer in enumerate(self.layers, start=1):
            last = depth == len(self.layers)
            x, scores = layer(x, last_mask if last else mask, self.last_rows if last else None)
            if capture:
                hidden_states.append(x)
                attention_scores.append(scores)
        pooled = x[:, 0] if self.pooler is None else self.pooler(x)
        return EncoderOutput(x, pooled, hidden_states if capture else [], attention_scores)


def encoder_of(model: nn.Module) -> Encoder:
    """The encoder inside a head, or the model itself."""
    return model if isinstance(model, Encoder) else cast(Encoder, model.encoder)


def input_names(model: nn.Module) -> tuple[str, ...]:
    """What an encoder or a head reads, in the order of its `forward`."""
    return cast(EncoderConfig, model.config).input_names


def initialise(module: nn.Module, std: float) -> None:
    """BERT's initialisation: N(0, std) matrices, zero biases, norms at identity, the pad row at zero."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.normal_(part.weight, std=std)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        elif isinstance(part, KroneckerLinear | KroneckerEmbedding):
            part.initialise(std)
        elif isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, std=std)
            if part.padding_idx is not None:
                with torch.no_grad():
                    part.weight[part.padding_idx].zero_()
