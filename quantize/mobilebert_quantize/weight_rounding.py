"""Rounding of weights to their integer grid so that outputs change least, not each weight.

A matrix W whose inputs x have the second moment H = E[x·xᵀ] adds the error tr(ΔW·H·ΔWᵀ) to its outputs.
Rounding to nearest keeps each |ΔW| smallest. Here columns are rounded one after the other, and those that
follow take up what the ones before have cost (GPTQ: Frantar et al. 2023, Algorithm 1, after the optimal brain
surgeon of Hassibi and Stork 1993). It also removes the shift that rounded weights give an output's mean.

The result is a float network whose weights lie on the grid that a quantiser finds again from each row's
largest magnitude, so a file of any format gets these integers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mobilebert_models.networks.layers import input_names
from mobilebert_models.weights.four_bit import cut_steps, four_bit_layers
from mobilebert_quantize.product_noise import largest_weight

# Share of the mean second moment that is added to every channel's: H of a few texts may be singular.
DAMPING = 0.01
FOUR, SEVEN = 4, 7
_BLOCK = 64  # columns whose corrections of the later ones are added together
_BATCH = 16


@dataclass(frozen=True)
class Rounded:
    """A network with rounded weights.

    Attributes:
        network: of the same shape.
        report: number of layers, and the error of a layer's outputs over their power, rounded to nearest and
            as done; means over the layers.
    """

    network: Any
    report: dict[str, float]


def round_weights(
    network: nn.Module,
    calibration: Mapping[str, NDArray[np.int32]],
    bits: int,
    keep: Collection[str] = (),
) -> Rounded:
    """A new network whose linear layers have weights on their integer grid; the one given is untouched.

    Args:
        network: in eval mode.
        calibration: encoded texts, int32 (N, S) by input name; second moments are those of their real tokens.
        bits: of a weight, 8 (−127 to 127), 7 (−64 to 64) or 4 (−7 to 7); one symmetric step per output
            channel.
        keep: paths of linear layers that stay as they are; the last one to run always does, as files compute
            their outputs in float, and so do matrices on a grid of four bits, unless 7 are asked for.
    """
    work = copy.deepcopy(network).eval()
    layers = dict(work.named_modules())
    # Four bits' points are among those of eight, not of seven.
    stay = {*keep, *(four_bit_layers(work) if bits != SEVEN else ())}
    moments = second_moments(work, calibration, stay)
    if moments:
        moments.popitem()
    nearest, done = [], []
    with torch.no_grad():
        for name, moment in moments.items():
            if moment is None:
                continue
            weight = cast(nn.Linear, layers[name]).weight
            before, after = weight.double(), rounded(weight, moment, bits)
            power = _power(before, moment)
            nearest.append(_power(before - to_nearest(before, bits), moment) / power)
            done.append(_power(before - after, moment) / power)
            weight.copy_(after)
    count = max(len(done), 1)
    report = {"layers": len(done), "noise_nearest": sum(nearest) / count, "noise": sum(done) / count}
    return Rounded(work, report)


def second_moments(
    network: nn.Module, calibration: Mapping[str, NDArray[np.int32]], stay: Collection[str] = ()
) -> dict[str, Tensor | None]:
    """Σ x·xᵀ of the inputs of the linear layers that run, (in, in) float64 by path, in the order they run.

    Args:
        network: in eval mode.
        calibration: as for `round_weights`.
        stay: paths of layers that nobody asks about; None in the place of their moments.
    """
    found: dict[str, Tensor | None] = {}
    real = torch.empty(0)  # of the texts that run: which tokens are not padding, (B, S)
    last: tuple[Tensor, Tensor] | None = None  # queries, keys and values read one tensor, one after the other

    def watch(name: str) -> Callable[[nn.Module, tuple[Tensor]], None]:
        def hook(_module: nn.Module, inputs: tuple[Tensor]) -> None:
            nonlocal last
            if name in stay:
                found[name] = None
                return
            x = inputs[0]
            if last is None or last[0] is not x:
                # A padded token's state is read by nobody; inputs of another length are whole texts'.
                by_token = x.dim() == 3 and x.shape[:2] == real.shape
                rows = x[real] if by_token else x.reshape(-1, x.shape[-1])
                last = x, (rows.T @ rows).double()
            before = found.get(name)
            found[name] = last[1] if before is None else before + last[1]

        return hook

    handles = [
        module.register_forward_pre_hook(watch(name))
        for name, module in network.named_modules()
        if isinstance(module, nn.Linear)
    ]
    tensors = [torch.from_numpy(calibration[name]) for name in input_names(network)]
    masks = torch.from_numpy(calibration["attention_mask"]).bool()
    with torch.inference_mode():
        for mask, *batch in zip(*(t.split(_BATCH) for t in (masks, *tensors)), strict=True):
            real = mask
            network(*batch)
    for handle in handles:
        handle.remove()
    return found


def to_nearest(weight: Tensor, bits: int) -> Tensor:
    """Each weight at the nearest point of its row's grid."""
    largest = largest_weight(bits)
    steps = _steps(weight, largest)
    return (weight / steps).round().clamp(-largest, largest) * steps


def rounded(weight: Tensor, moment: Tensor, bits: int) -> Tensor:
    """Weights on their grid, float32.

    Each row's largest weight is the end of the grid, where a quantiser finds the step. With eight and seven
    bits it stays as it is; with four the grid may end before it, at which it is cut off.

    Args:
        weight: (out, in).
        moment: second moment of the inputs, (in, in), in any scale.
        bits: of a weight, 8, 7 or 4.
    """
    largest = largest_weight(bits)
    w = weight.detach().double().clone()
    top = w.abs().argmax(1, keepdim=True)
    ends = w.gather(1, top)
    if bits == FOUR:
        steps = cut_steps(w, moment.diagonal().double())
        ends = ends.sign() * largest * steps
    else:
        steps = _steps(w, largest)
    fixed = torch.zeros_like(w, dtype=torch.bool).scatter_(1, top, True)
    # The channels with most power first: their errors are the dearest, and all others may take them up.
    order = moment.diagonal().argsort(descending=True)
    w, fixed = w[:, order], fixed[:, order]
    correction = _correction(moment.double()[order][:, order])
    for start in range(0, w.shape[1], _BLOCK):
        stop = min(start + _BLOCK, w.shape[1])
        errors = torch.empty_like(w[:, start:stop])
        for column in range(start, stop):
            now = w[:, column : column + 1]
            grid = (now / steps).round().clamp(-largest, largest) * steps
            grid = torch.where(fixed[:, column : column + 1], ends, grid)
            error = (now - grid) / correction[column, column]
            w[:, column + 1 : stop] -= error * correction[column, column + 1 : stop]
            w[:, column : column + 1] = grid
            errors[:, column - start : column - start + 1] = error
        w[:, stop:] -= errors @ correction[start:stop, stop:]
    result = torch.empty_like(w)
    result[:, order] = w
    return result.float()


def _correction(moment: Tensor) -> Tensor:
    """The upper Cholesky factor of (H + damping)⁻¹: row i corrects the columns after i."""
    damped = moment.clone()
    damped.diagonal().add_(DAMPING * moment.diagonal().mean() + torch.finfo(torch.float64).tiny)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(damped))
    return torch.linalg.cholesky(inverse, upper=True)


def _steps(weight: Tensor, largest: int) -> Tensor:
    """One step per row, (out, 1)."""
    return (weight.abs().amax(1, keepdim=True) / largest).clamp_min(torch.finfo(torch.float32).tiny)


def _power(weight: Tensor, moment: Tensor) -> float:
    """Sum of squares of the outputs of W: tr(W·H·Wᵀ)."""
    return float(((weight @ moment) * weight).sum().clamp_min(torch.finfo(torch.float32).tiny))
