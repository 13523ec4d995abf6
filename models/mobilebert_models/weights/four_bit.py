"""Matrices in four bits: every row holds whole numbers from −7 to 7 times the row's step.

Such weights are float32 numbers like any others. Who stores them (`mobilebert_models.weights.eight_bit`,
`mobilebert_quantize.tflite.four_bit`) finds the grid in the numbers, so that no flag goes along. −8 stays
unused: the grid is symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

LARGEST = 7
SMALLEST_ROW = 16  # numbers: fewer may lie on such a grid by chance
_OFF = 1e-3  # of a step, by which float rounding may move a number
# Where a row's grid may end, as shares of its largest weight: its 15 points are dear.
_CUT = (1.0, 0.92, 0.84, 0.76, 0.68, 0.6)
SMALLEST_STEP = 2.0**-24  # of float16


@dataclass(frozen=True)
class FourBits:
    """A matrix of `out` rows.

    Attributes:
        codes: int8 (out, in), from −7 to 7; in each row that is not zero one of them is ±7.
        steps: float32 (out,), what a row's codes are multiplied by.
    """

    codes: Tensor
    steps: Tensor

    def matrix(self) -> Tensor:
        """The matrix in float32, (out, in)."""
        return self.codes.float() * self.steps[:, None]


def find_four_bits(weight: Tensor) -> FourBits | None:
    """The codes of a matrix (out, in) on such a grid; None of any other tensor."""
    if weight.dim() != 2 or weight.shape[1] < SMALLEST_ROW or not weight.is_floating_point():
        return None
    steps = weight.detach().float().abs().amax(1) / LARGEST
    if not steps.any():
        return None
    scaled = weight.detach().float() / steps.clamp(min=torch.finfo(torch.float32).tiny)[:, None]
    codes = scaled.round()
    return FourBits(codes.to(torch.int8), steps) if (scaled - codes).abs().max() < _OFF else None


def four_bit_layers(model: nn.Module) -> set[str]:
    """Paths of the linear layers whose weights are in four bits."""
    return {
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and find_four_bits(module.weight) is not None
    }


def cut_steps(weight: Tensor, power: Tensor) -> Tensor:
    """Steps (out, 1) in float16 by which each row, cut off and rounded to nearest, changes outputs least.

    Args:
        weight: float64 (out, in).
        power: float64 (in,), mean square of the inputs in any scale.
    """
    steps = (weight.abs().amax(1, keepdim=True) / LARGEST).clamp_min(torch.finfo(torch.float32).tiny)
    tried = torch.stack([(share * steps).half().double() for share in _CUT])
    tried = tried.clamp(min=SMALLEST_STEP)
    nearest = (weight / tried).round().clamp(-LARGEST, LARGEST) * tried
    best = ((weight - nearest).square() @ power).argmin(0)
    return tried.gather(0, best[None, :, None])[0]


def pack_codes(codes: Tensor) -> Tensor:
    """Two codes a byte, the first in the low half: int8 (out, in), `in` even → uint8 (out, in/2)."""
    halves = codes.to(torch.uint8) & 15
    return (halves[:, 0::2] | (halves[:, 1::2] << 4)).contiguous()


def unpack_codes(stored: Tensor) -> Tensor:
    """What `pack_codes` packed, int8 (out, in)."""
    halves = torch.stack([stored & 15, stored >> 4], -1).flatten(1).to(torch.int8)
    return torch.where(halves > LARGEST, halves - 16, halves)
