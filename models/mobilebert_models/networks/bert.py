"""BERT (Devlin et al. 2019) and the encoders that differ from it only in their embeddings.

| model_type | differs by |
|---|---|
| bert | nothing; parameter names are those of its published checkpoints |
| distilbert | no token types |
| roberta, xlm-roberta | positions are counted from the row after padding's; usually one token type |
| electra | embeddings may be narrower than the layers, and are widened by a linear map |
| mpnet | positions as in RoBERTa, no token types, a bias by relative position in the attention scores |

Where published checkpoints call a parameter otherwise, `mobilebert_models.loading.checkpoint_names`
translates.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mobilebert_models.config import EncoderConfig
from mobilebert_models.networks.layers import (
    Encoder,
    Intermediate,
    Projection,
    SelfAttention,
    first_rows,
    make_norm,
)
from mobilebert_models.networks.relative_positions import RelativeBias


class BertEmbeddings(nn.Module):
    """Word + position + token-type embeddings of width E, normalised. E is H but for a small ELECTRA."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        size = config.embedding_size if config.model_type == "electra" else config.hidden_size
        self.offset = config.position_offset
        self.word_embeddings = nn.Embedding(config.vocab_size, size, config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, size)
        if config.type_vocab_size:
            self.token_type_embeddings = nn.Embedding(config.type_vocab_size, size)
        self.LayerNorm = make_norm(config, size)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """(B, S) ids → (B, S, E)."""
        return self.dropout(self.LayerNorm(self.sum(input_ids, token_type_ids)))

    def sum(self, input_ids: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """What the norm reads: (B, S) ids → (B, S, E)."""
        x = self.word_embeddings(input_ids)
        places = self.places(input_ids)
        if not hasattr(self, "token_type_embeddings"):
            return x + places
        if self.token_type_embeddings.num_embeddings == 1:  # a constant
            return x + (places + self.token_type_embeddings.weight)
        return x + self.token_type_embeddings(token_type_ids) + places

    def places(self, input_ids: Tensor) -> Tensor:
        """Position embeddings, (S, E); (B, S, E) where padding's token has none, as RoBERTa counts."""
        if not self.offset:
            return self.position_embeddings.weight[: input_ids.shape[1]]
        # It may be written in a text, too.
        real = (input_ids != self.offset - 1).to(torch.int32)
        return self.position_embeddings(torch.cumsum(real, 1, dtype=torch.int32) * real + (self.offset - 1))


class _Attention(nn.Module):
    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.self = SelfAttention(config, size, size)
        self.output = Projection(config, size, size, config.hidden_dropout_prob)


class BertLayer(nn.Module):
    """Attention and one feed-forward network, each with a residual and a LayerNorm."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.attention = _Attention(config)
        self.intermediate = Intermediate(config, config.hidden_size)
        self.output = Projection(
            config, config.intermediate_size, config.hidden_size, config.hidden_dropout_prob
        )

    def forward(self, x: Tensor, mask: Tensor, rows: int | None = None) -> tuple[Tensor, Tensor]:
        """(B, S, H) → the first `rows` of (B, S, H), all if None, and attention scores (B, A, rows, S)."""
        first = first_rows(x, rows)
        context, scores = self.attention.self(first, x, x, mask)
        x = self.attention.output(context, first)
        return self.output(self.intermediate(x), x), scores


class Bert(Encoder):
    """The encoder with its pooler."""

    def __init__(self, config: EncoderConfig) -> None:
        layers = (BertLayer(config) for _ in range(config.num_hidden_layers))
        super().__init__(config, BertEmbeddings(config), layers)
        if config.model_type == "electra" and config.embedding_size != config.hidden_size:
            self.embeddings_project = nn.Linear(config.embedding_size, config.hidden_size)
        if config.relative_attention_num_buckets:
            bias = RelativeBias(config.relative_attention_num_buckets, config.num_attention_heads)
            self.encoder["relative_attention_bias"] = bias

    def embed(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """(B, S) → (B, S, H); padding is left to the layers' mask."""
        del attention_mask
        x = self.embeddings(input_ids, token_type_ids)
        return self.embeddings_project(x) if hasattr(self, "embeddings_project") else x
