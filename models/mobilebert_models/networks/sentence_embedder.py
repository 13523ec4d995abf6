"""Sentence embeddings as sentence-transformers makes them: encoder, pooling, dense layers, normalisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_models.config import EncoderConfig
from mobilebert_models.networks.heads import make_encoder

# Ways of making one vector of a text's token vectors, as 1_Pooling/config.json names them.
POOLINGS = ("cls", "max", "mean", "mean_sqrt_len_tokens")
# Below any feature of a real token; a padded one is never the largest.
_LOWEST = -1e9


@dataclass(frozen=True)
class DenseLayer:
    """A linear layer behind the pooling."""

    folder: Path | None  # with its model.safetensors; None for one that has not been saved
    in_features: int
    out_features: int
    bias: bool
    activation: str  # "identity" or "tanh"


@dataclass(frozen=True)
class SentenceModules:
    """What follows the encoder in a sentence embedder."""

    pooling: tuple[str, ...]  # of `POOLINGS`; several are concatenated in this order
    dense: tuple[DenseLayer, ...] = ()
    normalized: bool = False
    truncate_dim: int | None = None  # only so many of the first numbers are returned, whatever came before
    similarity: str = "cosine"  # by which vectors are compared, of `mobilebert_runtime`'s `SIMILARITIES`
    prompts: Mapping[str, str] = field(default_factory=dict)  # what is put before a text, by name
    default_prompt: str | None = None  # name of the one that is put before a text unless another is asked for


class SentenceEmbedder(nn.Module):
    """One vector a text, all of it in the network, so that an artefact needs no code for it."""

    def __init__(self, config: EncoderConfig, modules: SentenceModules) -> None:
        super().__init__()
        self.config = config
        self.modules_behind = modules
        self.encoder = make_encoder(config)
        self.encoder.pooler = None  # the feature map is pooled
        self.dense = nn.ModuleList(
            nn.Linear(layer.in_features, layer.out_features, bias=layer.bias) for layer in modules.dense
        )

    @property
    def size(self) -> int:
        """Length of a vector."""
        return min(self._whole_size, self.modules_behind.truncate_dim or self._whole_size)

    @property
    def unit_vectors(self) -> bool:
        """Have its vectors length 1? Those that are cut after they were normalised have not."""
        return self.modules_behind.normalized and self.size == self._whole_size

    @property
    def _whole_size(self) -> int:
        behind = self.modules_behind
        return (
            behind.dense[-1].out_features if behind.dense else len(behind.pooling) * self.config.hidden_size
        )

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """(B, S) ids, mask and token types → (B, size)."""
        hidden = self.encoder(input_ids, attention_mask, token_type_ids).last_hidden_state
        mask = attention_mask.to(hidden.dtype)[:, :, None]  # (B, S, 1)
        pooled = [_pool(hidden, mask, mode) for mode in self.modules_behind.pooling]
        x = pooled[0] if len(pooled) == 1 else torch.cat(pooled, dim=1)
        for layer, settings in zip(self.dense, self.modules_behind.dense, strict=True):
            x = layer(x)
            x = torch.tanh(x) if settings.activation == "tanh" else x
        x = F.normalize(x, dim=1) if self.modules_behind.normalized else x
        return x[:, : self.size] if self.size < x.shape[1] else x


def _pool(hidden: Tensor, mask: Tensor, mode: str) -> Tensor:
    """(B, S, H) and (B, S, 1) → (B, H)."""
    if mode == "cls":
        return hidden[:, 0]
    if mode == "max":
        return (hidden + (1.0 - mask) * _LOWEST).amax(1)
    total, count = (hidden * mask).sum(1), mask.sum(1)
    return total / (count if mode == "mean" else count.sqrt())
