"""ALBERT (Lan et al. 2020): a BERT with a factorised embedding whose layers share parameters.

A layer is BERT's layer. Layers that share a part hold the same module, so that training, export and the
parameter count see it once. Published checkpoints use other names; the table at the end translates them.
"""

from __future__ import annotations

import re

from torch import Tensor, nn

from mobilebert_models.config import EncoderConfig
from mobilebert_models.networks.bert import BertLayer
from mobilebert_models.networks.layers import Encoder


class AlbertEmbeddings(nn.Module):
    """Word + position + token-type embeddings of width E, normalised, then widened to H (section 3.1)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        size = config.embedding_size
        self.word_embeddings = nn.Embedding(config.vocab_size, size, config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, size)
        self.LayerNorm = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.embedding_hidden_mapping_in = nn.Linear(size, config.hidden_size)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """(B, S) ids → (B, S, H)."""
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        x = x + self.position_embeddings.weight[: input_ids.shape[1]]
        return self.embedding_hidden_mapping_in(self.dropout(self.LayerNorm(x)))  # (B, S, E) → (B, S, H)


class Albert(Encoder):
    """The encoder with its pooler."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config, AlbertEmbeddings(config), shared_layers(config))

    def embed(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """(B, S) → (B, S, H); padding is left to the layers' mask."""
        del attention_mask
        return self.embeddings(input_ids, token_type_ids)


def shared_layers(config: EncoderConfig) -> list[BertLayer]:
    """All layers in order, equal parts being one module (cross-layer parameter sharing, section 3.1).

    A part is a sub-layer with its residual's norm: attention, or the feed-forward network. Within each of
    `num_hidden_groups` groups of neighbours the layers share what `layer_sharing` names.
    """
    layers: list[BertLayer] = []
    for depth in range(config.num_hidden_layers):
        first = depth - depth % config.layers_per_group
        if first != depth and config.layer_sharing == "all":
            layers.append(layers[first])
            continue
        layer = BertLayer(config)
        if first != depth and config.layer_sharing == "attention":
            layer.attention = layers[first].attention
        elif first != depth and config.layer_sharing == "ffn":
            layer.intermediate, layer.output = layers[first].intermediate, layers[first].output
        layers.append(layer)
    return layers


# Ours → that of published checkpoints, inside a layer and outside. The order matters in neither direction.
_PARTS = (
    ("attention.self.", "attention."),
    ("attention.output.", "attention."),
    ("intermediate.dense.", "ffn."),
    ("output.dense.", "ffn_output."),
    ("output.LayerNorm.", "full_layer_layer_norm."),
)
_OUTSIDE = (
    ("embeddings.embedding_hidden_mapping_in.", "encoder.embedding_hidden_mapping_in."),
    ("pooler.dense.", "pooler."),
    ("cls.predictions.transform.", "predictions."),
    ("cls.predictions.", "predictions."),
    ("cls.seq_relationship.", "sop_classifier.classifier."),
)
_LAYER = re.compile(r"(.*?)encoder\.layer\.(\d+)\.(.*)")
_GROUP = re.compile(r"(.*?)encoder\.albert_layer_groups\.(\d+)\.albert_layers\.0\.(.*)")


def published_name(name: str, config: EncoderConfig) -> str:
    """Our parameter's name in a published checkpoint, where layers that share everything are one group."""
    if found := _LAYER.fullmatch(name):
        before, depth, part = found[1], int(found[2]), found[3]
        for ours, theirs in _PARTS:
            if part.startswith(ours):
                part = theirs + part.removeprefix(ours)
                break
        return f"{before}encoder.albert_layer_groups.{depth // _stride(config)}.albert_layers.0.{part}"
    for ours, theirs in _OUTSIDE:
        if ours in name:
            return name.replace(ours, theirs)
    return name


def our_name(name: str, config: EncoderConfig) -> str:
    """The inverse of `published_name`."""
    if found := _GROUP.fullmatch(name):
        before, group, part = found[1], int(found[2]), found[3]
        return f"{before}encoder.layer.{group * _stride(config)}.{_our_part(part)}"
    if name.startswith("predictions."):
        inner = "" if name == "predictions.bias" else "transform."
        return f"cls.predictions.{inner}{name.removeprefix('predictions.')}"
    for ours, theirs in _OUTSIDE:
        if theirs in name and ours not in name:
            return name.replace(theirs, ours)
    return name


def _our_part(part: str) -> str:
    inner = part.removeprefix("attention.")
    if inner != part:
        return f"attention.{'output' if inner.startswith(('dense.', 'LayerNorm.')) else 'self'}.{inner}"
    for ours, theirs in _PARTS:
        if part.startswith(theirs):
            return ours + part.removeprefix(theirs)
    return part


def _stride(config: EncoderConfig) -> int:
    """Layers between two that have parameters of their own in a checkpoint."""
    return config.layers_per_group if config.layer_sharing == "all" else 1
