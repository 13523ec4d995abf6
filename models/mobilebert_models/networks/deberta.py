"""DeBERTa-v2 and -v3 (He et al. 2021): attention by content and, apart from it, by distance.

With q and k of the tokens, and K and Q of a learned vector for every distance, head by head,

    score(i, j) = (qᵢ·kⱼ + qᵢ·K(i - j) + kⱼ·Q(i - j)) / √(D·n),   n = 3;

one of the last two terms may be missing, then n is 2. Far distances share vectors. Nothing else says where a
token stands. K and Q hang on the length of a sequence alone, so that a converted model has them as constants:
tokens are multiplied with those of all distances, and `by_distance` brings each product to its place.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_models.config import EncoderConfig
from mobilebert_models.networks.layers import (
    Encoder,
    EncoderOutput,
    Intermediate,
    Projection,
    SelfAttention,
    additive_mask,
    first_rows,
    make_norm,
)

# K and Q of a layer, each (1, A, 2S, D): of the distances S - 1 to -S, and of 1 - S to S. None: no such term.
Positions = tuple[Tensor | None, Tensor | None]


class DisentangledAttention(SelfAttention):
    """Attention with the terms of distance.

    Attributes:
        position_scale: 1/√(D·n), as `scale` is until it becomes part of the query's weights.
    """

    by_content = False

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config, config.hidden_size, config.hidden_size)
        self.kinds, self.shared = config.pos_att_type, config.share_att_key
        self.scale = self.position_scale = 1.0 / math.sqrt(self.head_size * (1 + len(self.kinds)))
        if not self.shared and "c2p" in self.kinds:
            self.pos_key_proj = nn.Linear(config.hidden_size, config.hidden_size)
        if not self.shared and "p2c" in self.kinds:
            self.pos_query_proj = nn.Linear(config.hidden_size, config.hidden_size)

    def positions(self, falling: Tensor, rising: Tensor) -> Positions:
        """K and Q, Q scaled, of the vectors (2S, H) of distances in either order."""
        keys = queries = None
        if "c2p" in self.kinds:
            keys = self._project(self.key if self.shared else self.pos_key_proj, falling)
        if "p2c" in self.kinds:
            queries = self._project(self.query if self.shared else self.pos_query_proj, rising)
            queries = queries * (self.scale if self.shared else self.position_scale)
        return keys, queries

    def _project(self, layer: nn.Linear, vectors: Tensor) -> Tensor:
        # Not by calling the layer: whoever watches what it reads is after tokens. And contiguous: constants
        # that are not, litert-torch may take for one another.
        return self._split(F.linear(vectors, layer.weight, layer.bias)[None]).contiguous()

    def attend(
        self, x: Tensor, mask: Tensor, positions: Positions, rows: int | None
    ) -> tuple[Tensor, Tensor]:
        """Attend.

        Args:
            x: (B, S, H).
            mask: (B, 1, 1, S), added to the scores.
            positions: of `positions`.
            rows: Q, how many rows are asked for, from the first on; all if None.

        Returns:
            The context (B, Q, H) and the masked scores (B, A, Q, S).
        """
        q, k, v = self.split_heads(first_rows(x, rows), x, x)
        keys, queries = positions
        scores = torch.matmul(q, k.transpose(-1, -2))
        if keys is not None:
            scores = scores + by_distance(torch.matmul(q, keys.transpose(-1, -2)))
        scores = scores if self.scale == 1.0 else scores * self.scale
        if queries is not None:
            of_keys = by_distance(torch.matmul(k, queries.transpose(-1, -2))).transpose(-1, -2)
            scores = scores + (of_keys if rows is None else of_keys[:, :, :rows])
        scores = scores + mask
        context = torch.matmul(self.dropout(scores.softmax(-1)), v)
        return context.transpose(1, 2).flatten(2), scores


def by_distance(products: Tensor) -> Tensor:
    """(B, A, Q, 2S), a row's products with every distance, to (B, A, Q, S): those of its distances to tokens.

    Column c of row i stands for token c + i - (S - 1). In rows of one number less, a token's column is the
    same in each: the matrix is read so, and the first S - 1 columns are left out (Dai et al. 2019, B).
    """
    batch, heads, rows, width = products.shape
    lined_up = products.flatten(2)[:, :, : rows * (width - 1)].reshape(batch, heads, rows, width - 1)
    return lined_up[..., width // 2 - 1 :]


class _Attention(nn.Module):
    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.self = DisentangledAttention(config)
        self.output = Projection(config, config.hidden_size, config.hidden_size, config.hidden_dropout_prob)


class DebertaLayer(nn.Module):
    """Attention and one feed-forward network, each with a residual and a LayerNorm."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.attention = _Attention(config)
        self.intermediate = Intermediate(config, config.hidden_size)
        self.output = Projection(
            config, config.intermediate_size, config.hidden_size, config.hidden_dropout_prob
        )

    def forward(
        self, x: Tensor, mask: Tensor, positions: Positions, rows: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """(B, S, H) → the first `rows` of (B, S, H), all if None, and attention scores (B, A, rows, S)."""
        context, scores = self.attention.self.attend(x, mask, positions, rows)
        x = self.attention.output(context, first_rows(x, rows))
        return self.output(self.intermediate(x), x), scores


class DebertaEmbeddings(nn.Module):
    """Word embeddings, and those of token types where there are any, normalised."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, config.pad_token_id)
        if config.type_vocab_size:
            self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = make_norm(config, config.hidden_size)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """(B, S) ids → (B, S, H)."""
        x = self.word_embeddings(input_ids)
        if hasattr(self, "token_type_embeddings"):
            types = self.token_type_embeddings
            x = x + (types.weight if types.num_embeddings == 1 else types(token_type_ids))
        return self.dropout(self.LayerNorm(x))


class DebertaV2(Encoder):
    """The encoder with the pooler of its classifiers.

    Attributes:
        table: `Positions` of every layer in the longest sequence while `constant_bias` holds them, else None.
    """

    def __init__(self, config: EncoderConfig) -> None:
        layers = (DebertaLayer(config) for _ in range(config.num_hidden_layers))
        super().__init__(config, DebertaEmbeddings(config), layers)
        span = config.position_buckets or config.max_relative_positions
        self.encoder["rel_embeddings"] = nn.Embedding(2 * span, config.hidden_size)
        if config.norm_rel_ebd == "layer_norm":
            self.encoder["LayerNorm"] = make_norm(config, config.hidden_size)
        self.table: list[Positions] | None = None

    def embed(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """(B, S) → (B, S, H); padding is left to the layers' mask."""
        del attention_mask
        return self.embeddings(input_ids, token_type_ids)

    def of_length(self, length: int) -> list[Positions]:
        """`Positions` of every layer for sequences of `length` tokens."""
        if self.table is not None:
            return [(_nearest(keys, length), _nearest(queries, length)) for keys, queries in self.table]
        vectors = cast(nn.Embedding, self.encoder["rel_embeddings"]).weight
        if "LayerNorm" in self.encoder:
            vectors = self.encoder["LayerNorm"](vectors)
        falling = torch.arange(length - 1, -length - 1, -1, device=vectors.device)
        both = [vectors[vector_of(distances, self.config)] for distances in (falling, -falling)]
        return [layer.attention.self.positions(*both) for layer in cast("list[DebertaLayer]", self.layers)]

    def run_layers(self, x: Tensor, attention_mask: Tensor, *, capture: bool) -> EncoderOutput:
        """As `Encoder.run_layers`."""
        mask = additive_mask(attention_mask, self.config.attention_mask_value, x.dtype)
        hidden_states, attention_scores = [x], []
        layers = zip(self.layers, self.of_length(x.shape[1]), strict=True)
        for depth, (layer, positions) in enumerate(layers, start=1):
            x, scores = layer(x, mask, positions, self.last_rows if depth == len(self.layers) else None)
            if capture:
                hidden_states.append(x)
                attention_scores.append(scores)
        pooled = x[:, 0] if self.pooler is None else self.pooler(x)
        return EncoderOutput(x, pooled, hidden_states if capture else [], attention_scores)


def _nearest(vectors: Tensor | None, length: int) -> Tensor | None:
    """Those of the distances in a sequence of `length` tokens, of those in a longer one."""
    if vectors is None:
        return None
    longest = vectors.shape[2] // 2
    return vectors[:, :, longest - length : longest + length]


def vector_of(distances: Tensor, config: EncoderConfig) -> Tensor:
    """The vector of each distance i - j: near ones have their own, farther ones share logarithmically more.

    In float32 and in this order, as published networks were trained: a rounded logarithm decides.
    """
    span, middle = config.position_buckets or config.max_relative_positions, config.position_buckets // 2
    places = distances
    if middle:
        size = distances.abs().clamp_min(middle - 1)
        farthest = torch.tensor((config.max_relative_positions - 1) / middle)
        far = torch.ceil(torch.log(size / middle) / torch.log(farthest) * (middle - 1)) + middle
        places = torch.where(size <= middle, distances.float(), far * distances.sign()).long()
    return (places + span).clamp(0, 2 * span - 1)
