"""The predicted noise of a product is what rounding does to it."""

import numpy as np
import pytest
import torch

from mobilebert_quantize.product_audit import quantise_range, quantise_rows
from mobilebert_quantize.product_noise import RangeMeter, matrix_steps, signal_to_noise, too_noisy


@pytest.mark.parametrize("bits", [7, 8])
@pytest.mark.parametrize("rounded", [True, False])
@pytest.mark.parametrize("outlier", [1.0, 60.0])
def test_predicted_signal_to_noise_is_that_of_rounded_products(bits, rounded, outlier):
    """Against the simulation, with and without a result channel far wider than the others."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4000, 96, generator=generator)
    weight = torch.randn(64, 96, generator=generator)
    weight[3] *= outlier
    exact = x @ weight.T
    meter = RangeMeter()
    for part, out in zip(x.split(1000), exact.split(1000), strict=True):
        meter.add("x", part.numpy())
        meter.add("y", out.numpy())
    seen = meter.ranges()
    assert seen["x"][:2] == (x.min().item(), x.max().item())
    assert seen["x"].power == pytest.approx(x.square().mean().item(), rel=1e-4)
    found = quantise_range(x, *seen["x"][:2], 8) @ quantise_rows(weight, bits).T
    if rounded:
        found = quantise_range(found, *seen["y"][:2], 8)
    measured = 10 * np.log10((exact.square().mean() / (found - exact).square().mean()).item())
    steps = matrix_steps(weight.numpy(), bits)
    assert signal_to_noise(96, seen["x"], steps, seen["y"], rounded=rounded) == pytest.approx(
        measured, abs=1.0
    )


def test_products_below_the_limit_are_named_and_none_without_one():
    decibels = {0: 14.9, 4: 25.0, 7: 19.99}
    assert too_noisy(decibels, 20.0) == {0, 7}
    assert too_noisy(decibels, None) == set()
