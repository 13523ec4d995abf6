"""Check that a rewritten network is the same function, in float64, where rounding hides no wrong identity."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mobilebert_models.networks.layers import input_names
from mobilebert_runtime.errors import CheckError

# float64 carries 16 digits; over 24 layers of sums about 14 are left.
TOLERANCE = 1e-10

Encoded = Mapping[str, NDArray[np.int32]]


class AlgebraError(CheckError):
    """A rewrite changed the function: a defect of the rewrite, never of the model."""


def outputs_of(network: nn.Module, encoded: Encoded) -> list[Tensor]:
    """The outputs of a network in float64 on encoded pairs, int32 (N, S) by input name."""
    network = copy.deepcopy(network).double()
    with torch.inference_mode():
        found = network(*(torch.from_numpy(encoded[name]) for name in input_names(network)))
    return [found] if isinstance(found, Tensor) else list(found)


def relative_difference(before: list[Tensor], after: list[Tensor]) -> float:
    """Largest |Δ| over the largest magnitude, the worst of the outputs."""
    return max(
        float((a - b).abs().max() / b.abs().max().clamp_min(torch.finfo(b.dtype).tiny))
        for a, b in zip(after, before, strict=True)
    )
