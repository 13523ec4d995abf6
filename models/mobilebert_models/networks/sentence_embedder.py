"""Sentence embeddings as sentence-transformers makes them: encoder, pooling, dense layers, normalisation."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_models.config import EncoderConfig
from mobilebert_models.loading.pretrained import load_pretrained
from mobilebert_models.loading.sentence_modules import (
    SentenceModules,
    encoder_directory,
    read_sentence_modules,
)
from mobilebert_models.networks.heads import make_encoder
from mobilebert_models.networks.layers import Encoder, encoder_of
from mobilebert_runtime.errors import ModelError

# Below any feature of a real token; a padded one is never the largest.
_LOWEST = -1e9


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
        dense = self.modules_behind.dense
        return dense[-1].out_features if dense else len(self.modules_behind.pooling) * self.config.hidden_size

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
        return F.normalize(x, dim=1) if self.modules_behind.normalized else x


def _pool(hidden: Tensor, mask: Tensor, mode: str) -> Tensor:
    """(B, S, H) and (B, S, 1) → (B, H)."""
    if mode == "cls":
        return hidden[:, 0]
    if mode == "max":
        return (hidden + (1.0 - mask) * _LOWEST).amax(1)
    total, count = (hidden * mask).sum(1), mask.sum(1)
    return total / (count if mode == "mean" else count.sqrt())


def load_embedder(directory: str | Path) -> SentenceEmbedder:
    """A sentence-transformers folder as one network, in eval mode and float32.

    Raises:
        ModelError: as `load_pretrained` and `read_sentence_modules`; or the modules do not fit each other.
    """
    directory = Path(directory)
    modules = read_sentence_modules(directory)
    if modules is None:
        raise ModelError(f"{directory}: no modules.json, so nothing says how its token vectors are pooled")
    encoder = encoder_of(load_pretrained(encoder_directory(directory)))
    width = len(modules.pooling) * encoder.config.hidden_size
    for layer in modules.dense:
        if layer.in_features != width:
            raise ModelError(f"{layer.folder}: reads {layer.in_features} features, not the {width} before it")
        width = layer.out_features
    return _around(encoder, modules).eval()


def _around(encoder: Encoder, modules: SentenceModules) -> SentenceEmbedder:
    embedder = SentenceEmbedder(encoder.config, modules)
    encoder.pooler = None
    embedder.encoder = encoder
    for linear, layer in zip(embedder.dense, modules.dense, strict=True):
        path = cast(Path, layer.folder) / "model.safetensors"
        try:
            tensors = load_file(path)
            linear.load_state_dict({name.removeprefix("linear."): value for name, value in tensors.items()})
        except (OSError, SafetensorError, RuntimeError) as error:
            reason = str(error).strip().splitlines()[-1].strip()
            raise ModelError(f"{path}: not the weights of this dense layer ({reason})") from error
    return embedder.float()
