"""int8 error by matrix product: every product of a network is quantised alone, in simulation.

A product is a linear layer or a matrix product of two activations: nearly all multiplications and bytes, and
what the recipes compute in integers. They are numbered in the order they are computed, which is their order
in an exported file too. The simulation rounds a result before a ReLU that the file may have fused with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from mobilebert_models.networks.layers import input_names
from mobilebert_quantize.recipes import Recipe

_PRODUCTS = (F.linear, torch.matmul, Tensor.matmul, Tensor.__matmul__)
_SOFTMAX = (F.softmax, torch.softmax, Tensor.softmax)


@dataclass(frozen=True)
class TensorLoss:
    """A tensor of a product, and what its quantisation loses."""

    role: str  # left, right (of a linear layer: the matrix), result
    lowest: float
    highest: float
    # Signal to quantisation noise, dB: 10·log₁₀(mean x² / mean (q(x) − x)²); int8 of a uniform range has 48.
    # None where nothing is lost.
    sqnr_db: float | None


@dataclass(frozen=True)
class ProductLoss:
    """A product, and what quantising it alone does to the logits."""

    number: int
    name: str
    # linear or embedding (reads words side by side, before any attention)
    kind: str
    width: int  # last axis of the result
    tensors: tuple[TensorLoss, ...]
    rms_logit: float  # root mean square Δlogit over pairs and labels
    label_changes: float  # share of pairs whose largest logit moves to another label

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class ProductAudit:
    """The products a recipe quantises, in order of computation, and the error of quantising all of them."""

    products: tuple[ProductLoss, ...]
    rms_logit: float
    label_changes: float
    pairs: int
    computed: int  # products of the network, those that the recipe leaves in float included

    def worst_first(self) -> list[ProductLoss]:
        """Products by falling error of the logits."""
        return sorted(self.products, key=lambda product: -product.rms_logit)

    def to_json(self) -> dict[str, Any]:
        """Plain data, the worst product first."""
        return asdict(self) | {"products": [product.to_json() for product in self.worst_first()]}


def audit_products(model: nn.Module, encoded: Mapping[str, np.ndarray], recipe: Recipe) -> ProductAudit:
    """Quantise one product at a time and compare the logits with the float network's.

    Ranges are the true extremes over the same pairs, as in the recipes with static ranges.

    Args:
        model: pair classifier in eval mode.
        encoded: int32 (N, S) by input name, padded.
        recipe: a recipe with static ranges: widths of activations, which results stay float.
    """
    inputs = [torch.from_numpy(np.ascontiguousarray(encoded[name])) for name in input_names(model)]
    with torch.inference_mode():
        survey = _Products(recipe)
        with _scopes(model, survey.scopes), survey:
            exact = _logits(model, inputs)

        def quantised(*numbers: int) -> tuple[float, float]:
            with _Products(recipe, survey.calls, numbers):
                return logit_error(exact, _logits(model, inputs))

        # The last linear layer stays in float: its results are the logits.
        calls = {
            number: call
            for number, call in enumerate(survey.calls[:-1])
            if recipe.computes_in_integers(call.kind)
        }
        products = tuple(
            ProductLoss(number, call.name, call.kind, call.width, call.losses, *quantised(number))
            for number, call in calls.items()
        )
        return ProductAudit(products, *quantised(*calls), len(inputs[0]), len(survey.calls))


def _logits(model: nn.Module, inputs: Sequence[Tensor]) -> Tensor:
    """The logits (N, labels); an embedding matcher returns a vector beside them."""
    found = model(*inputs)
    logits: Tensor = found[0] if isinstance(found, tuple) else found
    return logits


def logit_error(exact: Tensor, found: Tensor) -> tuple[float, float]:
    """Root mean square Δlogit and the share of pairs whose largest logit is another, of two (N, labels)."""
    rms = float((found - exact).square().mean().sqrt())
    return rms, float((found.argmax(1) != exact.argmax(1)).float().mean())


@dataclass(frozen=True)
class _Call:
    """The record of one product."""

    name: str
    kind: str  # linear, embedding or matmul (of two activations)
    # Of left, right and result, zero inside; empty of a matmul, which stays float.
    ranges: dict[str, tuple[float, float]]
    width: int  # of the result
    losses: tuple[TensorLoss, ...]


def _quantised(role: str, tensor: Tensor, extremes: tuple[float, float], recipe: Recipe) -> Tensor:
    """A linear layer's tensor on the recipe's grid, as float."""
    if role == "right":
        return quantise_rows(tensor, recipe.weight_bits)
    lowest, highest = extremes
    if recipe.activation_bits == 16:
        highest = max(-lowest, highest)
        lowest = -highest
    return quantise_range(tensor, lowest, highest, recipe.activation_bits)


def quantise_range(tensor: Tensor, lowest: float, highest: float, bits: int) -> Tensor:
    """Round to 2^bits steps from `lowest` to `highest`, zero being one of them; clip what lies outside."""
    levels = 2**bits - 1
    step = (highest - lowest) / levels or 1.0
    zero = round(-lowest / step)
    return ((tensor / step).round() + zero).clamp(0, levels).sub(zero) * step


def quantise_rows(weight: Tensor, bits: int) -> Tensor:
    """Round an (out, in) matrix with one symmetric step per output channel."""
    largest = 2 ** (bits - 1) - 1
    step = weight.abs().amax(1, keepdim=True).clamp_min(1e-30) / largest
    return (weight / step).round().clamp(-largest, largest) * step


class _Products(TorchFunctionMode):
    """Intercepts every product of a forward pass: records it, or computes it on the integer grid."""

    def __init__(self, recipe: Recipe, known: Sequence[_Call] = (), chosen: Collection[int] = ()) -> None:
        super().__init__()
        self.recipe, self.known, self.chosen = recipe, known, chosen
        self.calls: list[_Call] = []
        self.scopes: list[str] = []
        self.number = -1
        # The last tensor that was made of several side by side, before any attention.
        self._joined: Any = None
        self._attended = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func not in _PRODUCTS:
            result = func(*args, **(kwargs or {}))
            self._attended |= func in _SOFTMAX
            if func is torch.cat and not self._attended:
                self._joined = result
            return result
        self.number += 1
        if not self.known:
            result = func(*args, **(kwargs or {}))
            left, right = args[:2]
            linear = "embedding" if left is self._joined else "linear"
            self._survey(linear if func is F.linear else "matmul", left, right, result)
            return result
        if self.number not in self.chosen:
            return func(*args, **(kwargs or {}))
        call, recipe = self.known[self.number], self.recipe
        left, right = (
            _quantised(role, tensor, call.ranges[role], recipe)
            for role, tensor in zip(("left", "right"), args, strict=False)
        )
        result = func(left, right, *args[2:], **(kwargs or {}))
        if recipe.float_results:
            return result
        return _quantised("result", result, call.ranges["result"], recipe)

    def _survey(self, kind: str, left: Tensor, right: Tensor, result: Tensor) -> None:
        ranges, losses = {}, []
        tensors = (("left", left), ("right", right), ("result", result))
        for role, tensor in tensors if kind != "matmul" else ():
            ranges[role] = min(float(tensor.min()), 0.0), max(float(tensor.max()), 0.0)
            if role == "result" and self.recipe.float_results:
                continue
            noise = (_quantised(role, tensor, ranges[role], self.recipe) - tensor).square().mean()
            sqnr = float(10 * torch.log10(tensor.square().mean() / noise)) if noise > 0 else None
            losses.append(TensorLoss(role, *ranges[role], sqnr))
        scope = self.scopes[-1] if self.scopes else ""
        self.calls.append(_Call(scope, kind, ranges, result.shape[-1], tuple(losses)))


@contextmanager
def _scopes(model: nn.Module, scopes: list[str]) -> Iterator[None]:
    """Keep the names of the modules that are running in a list, the innermost last."""

    def leave(*_: Any) -> None:  # a value returned here would replace the module's output
        scopes.pop()

    handles = []
    for name, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(lambda *_, name=name: scopes.append(name)))
        handles.append(module.register_forward_hook(leave))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
