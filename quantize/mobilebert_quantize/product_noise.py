"""Predicts from calibration what int8 costs each product of a file: signal over rounding noise, in dB.

A product y = x·w of `inner` terms with steps Δx, Δw, Δy has the noise variance

    Δx²/12 · inner · E[w²]  +  Δw²/12 · inner · E[x²]  +  Δy²/12

beside the signal E[y²]. It needs no further inference: ranges and mean squares come with the calibration. In
networks with LayerNorm and GELU it tells the products that ruin a file with static ranges (a few channels a
hundred times wider than the others: 15 dB) from all others (25 dB and more).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class TensorRange(NamedTuple):
    """What calibration saw of a tensor: lowest and highest value, zero included, and the mean square."""

    low: float
    high: float
    power: float

    def step(self) -> float:
        """One of 255 steps from the lowest to the highest value."""
        return (self.high - self.low) / 255


class RangeMeter:
    """Collects the `TensorRange` of named tensors over many inferences."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, float, float, int]] = {}

    def add(self, name: str, values: NDArray[Any]) -> None:
        """Count one inference's values of a tensor."""
        low, high, total, count = self._seen.get(name, (0.0, 0.0, 0.0, 0))
        flat = values.reshape(-1)
        squares = float(np.dot(flat, flat))
        self._seen[name] = (
            min(low, float(values.min())),
            max(high, float(values.max())),
            total + squares,
            count + flat.size,
        )

    def ranges(self) -> dict[str, TensorRange]:
        """By tensor name."""
        return {
            name: TensorRange(low, high, total / count)
            for name, (low, high, total, count) in self._seen.items()
        }


@dataclass(frozen=True)
class ProductForm:
    """How a product is computed in a file, and what int8 with static ranges would cost it there.

    Attributes:
        number: in the order of computation, as in `product_audit`.
        name: of its result in the float file.
        form: "static", "dynamic" (int8 with ranges found at run time) or "float".
        sqnr_db: signal over predicted noise with static ranges.
    """

    number: int
    name: str
    form: str
    sqnr_db: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"sqnr_db": round(self.sqnr_db, 1)}


def signal_to_noise(
    inner: int, left: TensorRange, right: tuple[float, float], result: TensorRange, *, rounded: bool
) -> float:
    """The decibels of one product.

    Args:
        inner: terms of each sum.
        left: what calibration saw of the left operand.
        right: mean square of the right operand's steps, and of the operand itself.
        result: of the product.
        rounded: whether the result is rounded to int8 as well.
    """
    right_steps, right_power = right
    noise = inner * (left.step() ** 2 * right_power + right_steps * left.power)
    noise += result.step() ** 2 if rounded else 0.0
    if not noise:
        return math.inf
    return 10 * math.log10(max(result.power, 1e-30) / (noise / 12))


def largest_weight(bits: int) -> int:
    """The end of a weight's integer grid: 8 bits use −127 to 127, 7 bits −64 to 64, 4 bits −7 to 7."""
    return {8: 127, 7: 64, 4: 7}[bits]


def matrix_steps(matrix: NDArray[Any], bits: int) -> tuple[float, float]:
    """Mean square of the steps of an (out, in) matrix, one per output channel, and of the matrix."""
    steps = np.abs(matrix).max(axis=1) / largest_weight(bits)
    return float(np.mean(steps**2)), float(np.mean(np.square(matrix, dtype=np.float64)))


def too_noisy(decibels: Mapping[int, float], limit: float | None) -> set[int]:
    """Numbers of the products below a limit; none without one."""
    return {number for number, found in decibels.items() if limit is not None and found < limit}
