"""BERT (Devlin et al. 2019): teachers, and the first two columns of MobileBERT's Table 1.

Parameter names are those of published checkpoints, so weights move between this network and
`transformers.BertModel` without a translation table.
"""

from __future__ import annotations

from torch import Tensor, nn

from models.config import EncoderConfig
from models.layers import (
    Encoder,
    Intermediate,
    Projection,
    SelfAttention,
    first_rows,
    make_norm,
)


class BertEmbeddings(nn.Module):
    """Word + position + token-type embeddings, normalised."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = make_norm(config, config.hidden_size)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor) -> Tensor:
        """(B, S) ids → (B, S, H)."""
        return self.dropout(self.LayerNorm(self.sum(input_ids, token_type_ids)))

    def sum(self, input_ids: Tensor, token_type_ids: Tensor) -> Tensor:
        """What the norm reads: (B, S) ids → (B, S, H)."""
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        return x + self.position_embeddings.weight[: input_ids.shape[1]]


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

    def embed(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """(B, S) → (B, S, H); padding is left to the layers' mask."""
        del attention_mask
        return self.embeddings(input_ids, token_type_ids)
