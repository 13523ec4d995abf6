"""MobileBERT's embeddings without the token-type lookup."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher
from mobilebert_models.networks.layers import encoder_of
from mobilebert_models.networks.mobilebert import MobileBertEmbeddings


class TypedTrigramEmbeddings(nn.Module):
    """`MobileBertEmbeddings` whose token type is one more column of the width-3 convolution.

    Args:
        source: the embeddings to take over; two token types.

    Attributes:
        type_value: what the column holds at a position of type 1; at type 0 it holds 0.
    """

    def __init__(self, source: MobileBertEmbeddings) -> None:
        super().__init__()
        self.word_embeddings = source.word_embeddings
        self.position_embeddings = source.position_embeddings
        self.LayerNorm = source.LayerNorm
        with torch.no_grad():
            first, second = source.token_type_embeddings.weight
            self.position_embeddings.weight.add_(first)
            # As large as the words beside it: then neither the column nor its weights widen an int8 range.
            self.type_value = float(source.word_embeddings.weight.abs().max()) or 1.0
            old = source.embedding_transformation
            column = ((second - first) / self.type_value)[:, None]
            self.embedding_transformation = nn.Linear(old.in_features + 1, old.out_features).to(
                old.weight.device, old.weight.dtype
            )
            self.embedding_transformation.weight.copy_(torch.cat([old.weight, column], 1))
            self.embedding_transformation.bias.copy_(old.bias)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """(B, S) ids → (B, S, H)."""
        types = token_type_ids.to(self.word_embeddings.weight.dtype)[:, :, None] * self.type_value
        trigram = MobileBertEmbeddings.trigram(self.word_embeddings(input_ids), attention_mask)
        # (B, S, 3E) and (B, S, 1) → (B, S, 3E + 1)
        x = self.embedding_transformation(torch.cat([trigram, types], dim=2))
        return self.LayerNorm(x + self.position_embeddings.weight[: input_ids.shape[1]])


def merge_token_types(network: nn.Module) -> tuple[dict[str, int], list[str]]:
    """T[i] = T[0] + i·(T[1] - T[0]) for i of 0 or 1: a constant and one column of a linear layer.

    T[0] joins the position table, which is added at every position; the difference becomes a column of the
    linear map that reads the words. A lookup, which no delegate takes, and a sum of (S, H) disappear; single
    texts, whose types are all 0, pay for neither. Only models with exactly two types; not a matcher of
    vectors, which adds T[0] to every text.

    Returns:
        Counts of what changed, and what was left as it was, with the reason.
    """
    encoder = encoder_of(network)
    old: Any = encoder.embeddings
    if not isinstance(old, MobileBertEmbeddings) or isinstance(network, EmbeddingMatcher):
        return {"lookups removed": 0}, []
    if encoder.config.type_vocab_size != 2:
        return {"lookups removed": 0}, [f"embeddings: {encoder.config.type_vocab_size} token types, not 2"]
    if not isinstance(old.embedding_transformation, nn.Linear):
        return {"lookups removed": 0}, ["embeddings.embedding_transformation: a Kronecker layer"]
    encoder.embeddings = TypedTrigramEmbeddings(old).eval()
    return {"lookups removed": 1}, []
