"""Rounds a trunk's linear layers to four bits so that their outputs change least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher
from mobilebert_models.networks.layers import Encoder
from mobilebert_models.networks.learned_decision import LearnedDecision
from mobilebert_quantize.weight_rounding import FOUR, round_weights
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.teachers import MAX_LENGTH
from recipes.general_matchers.trainable_grids import Layers, linear_layers


def in_four_bits(encoder: Encoder, tokenizer: PairTokenizer, texts: Sequence[str], layers: Layers) -> Encoder:
    """A copy with some of its linear layers in four bits.

    Args:
        encoder: the trunk.
        tokenizer: its own.
        texts: whose activations say which errors matter.
        layers: the feed-forward networks alone, or the attention's layers as well.
    """
    if layers == "none":
        return encoder
    model = EmbeddingMatcher(encoder.eval(), LearnedDecision(encoder.config.hidden_size)).eval()
    calibration = tokenizer.pad(tokenizer.ids(list(texts), MAX_LENGTH), None)
    chosen = {f"encoder.{name}" for name in linear_layers(encoder, layers)}
    keep = [name for name in linear_layers(model, "all") if name not in chosen]
    given = {name: np.asarray(values, np.int32) for name, values in calibration.items()}
    rounded: Encoder = round_weights(model, given, FOUR, keep).network.encoder
    return rounded
