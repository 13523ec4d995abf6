"""One text compared with several by an embedding matcher, in one pass over all of them.

A packed input is `[CLS] query [SEP] [CLS] text 1 [SEP] [CLS] text 2 [SEP] …`; token types number the texts, 0
is the query. The query is read once, and no text is padded.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher

# Texts for so many tokens of an input: shorter ones, special tokens included, are rare. One text more costs
# 0.4% of the time of an input of 128 tokens.
TOKENS_OF_A_TEXT = 10


class PackedCandidates(nn.Module):
    """Logits that each of several texts says the same as one query.

    Args:
        matcher: whose logits for each pair alone these are, up to float rounding.
        texts: how many texts an input has at most.
    """

    def __init__(self, matcher: EmbeddingMatcher, texts: int) -> None:
        super().__init__()
        self.matcher = matcher
        self.texts = texts

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """(1, S) ids, mask and types 0 to `texts` → logits (1, texts, 2); a missing text's mean nothing.

        The head gets the states once, and a mask and types for each text; it broadcasts.
        """
        states = self.matcher.states(input_ids, attention_mask, token_type_ids)
        mask, types = attention_mask.to(states[0].dtype), token_type_ids.to(states[0].dtype)
        numbers = torch.arange(1, self.texts + 1, dtype=types.dtype, device=types.device)[:, None]
        second = (1 - (types - numbers).abs()).clamp(min=0)  # (texts, S), 1 at the tokens of each text
        query = (1 - types).clamp(min=0)
        ids = input_ids.to(mask.dtype)
        half = self.matcher.head(ids, *states, mask * (query + second), second) / 2
        return torch.stack([-half, half], 1)[None]


def packed_candidates(network: nn.Module, tokens: int) -> PackedCandidates | None:
    """For inputs of so many tokens; None for other networks, and where there is no room for two texts."""
    texts = tokens // TOKENS_OF_A_TEXT
    return PackedCandidates(network, texts) if isinstance(network, EmbeddingMatcher) and texts > 1 else None
