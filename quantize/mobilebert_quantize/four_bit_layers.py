"""Layers in four bits after further training: back on their grids."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from torch import nn

from mobilebert_models.weights.four_bit import four_bit_layers
from mobilebert_quantize.weight_rounding import FOUR, round_weights


def round_as(origin: nn.Module, trained: nn.Module, text: Mapping[str, NDArray[np.int32]]) -> nn.Module:
    """A trained model whose layers are in four bits where those of the model it came from are.

    Args:
        origin: what the training began with.
        trained: of the same shape.
        text: encoded texts, int32 (N, S) by input name: which errors matter
            (`mobilebert_quantize.weight_rounding`).
    """
    keep = {name for name, _ in trained.named_modules()} - four_bit_layers(origin)
    rounded: nn.Module = round_weights(trained, text, FOUR, keep).network
    return rounded
