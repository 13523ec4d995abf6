"""MobileBERT, MobileBERT-tiny and their teacher IB-BERT (Sun et al. 2020, Figure 1b-c, Figure 4, Table 1).

One network: a block reads the inter-block feature map (H wide), works at the intra-block width (W), and
writes back to the feature map. MobileBERT has W < H, IB-BERT has W > H. Parameter names are those of
published checkpoints.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_models.config import EncoderConfig
from mobilebert_models.networks.layers import (
    Encoder,
    Intermediate,
    Projection,
    SelfAttention,
    first_rows,
    make_norm,
)


class MobileBertEmbeddings(nn.Module):
    """A small word embedding (E) widened by a width-3 convolution to H (section 3.4)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.embedding_size, config.pad_token_id)
        self.embedding_transformation = nn.Linear(3 * config.embedding_size, config.hidden_size)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = make_norm(config, config.hidden_size)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """(B, S) ids → (B, S, H).

        Padded positions are zeroed before the convolution: a token at the end of a text then sees the same
        zeros as a token at the end of the sequence, whatever the pad row of the table holds.
        """
        x = self.embedding_transformation(self.trigram(self.word_embeddings(input_ids), attention_mask))
        x = x + self.token_type_embeddings(token_type_ids)
        x = x + self.position_embeddings.weight[: input_ids.shape[1]]
        return self.dropout(self.LayerNorm(x))

    @staticmethod
    def trigram(word: Tensor, attention_mask: Tensor) -> Tensor:
        """Every word beside its neighbours, (B, S, E) → (B, S, 3E); a padded position is zero."""
        word = word * attention_mask.to(word.dtype)[:, :, None]
        # Order of the published checkpoints: next | current | previous.
        return torch.cat([F.pad(word[:, 1:], (0, 0, 0, 1)), word, F.pad(word[:, :-1], (0, 0, 1, 0))], dim=2)


class BottleneckInput(nn.Module):
    """The linear map into the block: Norm(W·x + b), (…, H) → (…, W)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intra_bottleneck_size)
        self.LayerNorm = make_norm(config, config.intra_bottleneck_size)

    def forward(self, x: Tensor) -> Tensor:
        """(…, H) → (…, W)."""
        return self.LayerNorm(self.dense(x))


class _Bottleneck(nn.Module):
    """What a block reads: its own reduced input and the tensors of query, key and value."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.input = BottleneckInput(config)
        self.attention = BottleneckInput(config) if config.key_query_shared_bottleneck else None
        self.reduced_attention = config.use_bottleneck_attention

    def forward(self, x: Tensor, rows: int | None) -> tuple[Tensor, Tensor, Tensor]:
        """(B, S, H) → block input (B, rows or S, W), source of key and query, source of value."""
        if self.reduced_attention:
            reduced = self.input(x)
            return first_rows(reduced, rows), reduced, reduced
        reduced = self.input(first_rows(x, rows))
        return reduced, x if self.attention is None else self.attention(x), x


class _Attention(nn.Module):
    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        width, feature_map = config.intra_bottleneck_size, config.hidden_size
        reduced = config.use_bottleneck_attention
        shared = config.key_query_shared_bottleneck
        self.self = SelfAttention(
            config,
            query_key_size=width if reduced or shared else feature_map,
            value_size=width if reduced else feature_map,
        )
        self.output = Projection(config, width, width, dropout=0.0)


class _FeedForward(nn.Module):
    """One of the stacked feed-forward networks before the last (section 3.2)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        width = config.intra_bottleneck_size
        self.intermediate = Intermediate(config, width)
        self.output = Projection(config, config.intermediate_size, width, dropout=0.0)

    def forward(self, x: Tensor) -> Tensor:
        """(…, W) → (…, W)."""
        return self.output(self.intermediate(x), x)


class _Output(Projection):
    """The last feed-forward network's narrowing half, then the linear map back to the feature map."""

    def __init__(self, config: EncoderConfig) -> None:
        width = config.intra_bottleneck_size
        super().__init__(config, config.intermediate_size, width, dropout=0.0)
        self.bottleneck = Projection(config, width, config.hidden_size, config.hidden_dropout_prob)


class MobileBertLayer(nn.Module):
    """One block: bottleneck in, attention, F stacked feed-forward networks, bottleneck out."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.bottleneck = _Bottleneck(config)
        self.attention = _Attention(config)
        self.ffn = nn.ModuleList(_FeedForward(config) for _ in range(config.num_feedforward_networks - 1))
        self.intermediate = Intermediate(config, config.intra_bottleneck_size)
        self.output = _Output(config)

    def forward(self, x: Tensor, mask: Tensor, rows: int | None = None) -> tuple[Tensor, Tensor]:
        """(B, S, H) → the first `rows` of (B, S, H), all if None, and attention scores (B, A, rows, S)."""
        reduced, key, value = self.bottleneck(x, rows)
        context, scores = self.attention.self(first_rows(key, rows), key, value, mask)
        inner = self.attention.output(context, reduced)
        for ffn in self.ffn:
            inner = ffn(inner)
        inner = self.output(self.intermediate(inner), inner)
        return self.output.bottleneck(inner, first_rows(x, rows)), scores


class MobileBert(Encoder):
    """The encoder with its pooler."""

    def __init__(self, config: EncoderConfig) -> None:
        layers = (MobileBertLayer(config) for _ in range(config.num_hidden_layers))
        super().__init__(config, MobileBertEmbeddings(config), layers)

    def embed(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """(B, S) → (B, S, H)."""
        return self.embeddings(input_ids, attention_mask, token_type_ids)
