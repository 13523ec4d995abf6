"""Kronecker factors in a whole encoder: which layers, their initial values, the savings."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TypeVar, cast

import torch
from torch import nn

from mobilebert_models.config import KroneckerRule
from mobilebert_models.kronecker.factor_fit import Inputs, fit_kronecker
from mobilebert_models.kronecker.factored_layers import (
    KroneckerEmbedding,
    KroneckerLinear,
    kronecker_macs,
    nearest_kronecker,
    second_factor,
)
from mobilebert_models.networks.layers import Encoder, encoder_of
from mobilebert_runtime.errors import ModelError

Model = TypeVar("Model", bound=nn.Module)


@dataclass(frozen=True)
class FactoredLayer:
    """One layer's factor shapes and costs, before and after.

    Parameters exclude the bias, which stays. MACs are those of one token; a lookup has none, and the d·r
    multiplications of Eq. 8 are not counted, as element-wise work is counted nowhere.
    """

    name: str
    m: int
    n: int
    m1: int
    n1: int
    m2: int
    n2: int
    rank: int
    parameters_before: int
    parameters_after: int
    macs_before: int
    macs_after: int
    # ‖W − Σ A ⊗ B‖ / ‖W‖; None before weights are read.
    error: float | None = None
    # The same of what the layer returns, where factors were fitted to its inputs.
    output_error: float | None = None


def factored_layers(encoder: Encoder, rules: Sequence[KroneckerRule]) -> list[FactoredLayer]:
    """The layers of a dense encoder that the rules pick, in the encoder's order.

    Raises:
        ModelError: a rule picks no layer, or its shapes do not fit one that it picks.
    """
    layers, used = [], set()
    for name, module in encoder.named_modules():
        rule = next((r for r in rules if fnmatchcase(name, r.layers)), None)
        if rule is None or not isinstance(module, nn.Linear | nn.Embedding):
            continue
        used.add(rule)
        layers.append(_describe(name, module, rule))
    for rule in rules:
        if rule not in used:
            raise ModelError(
                f"kronecker rule {rule.layers!r} picks no layer of this model that an earlier rule has not; "
                "names look like encoder.layer.0.attention.self.query"
            )
    return layers


def _describe(name: str, module: nn.Linear | nn.Embedding, rule: KroneckerRule) -> FactoredLayer:
    m, n = module.weight.shape
    m1, n1, rank = rule.m1, rule.n1, rule.rank
    m2, n2 = second_factor(m, n, m1, n1, rank, where=f"{name} ({m}×{n})")
    lookup = isinstance(module, nn.Embedding)
    if lookup and m2 != 1:
        raise ModelError(
            f"{name}: an embedding keeps a row of A for every word (Eq. 8): m1 must be {m}, not {m1}"
        )
    return FactoredLayer(
        name=name,
        m=m,
        n=n,
        m1=m1,
        n1=n1,
        m2=m2,
        n2=n2,
        rank=rank,
        parameters_before=m * n,
        parameters_after=rank * (m1 * n1 + m2 * n2),
        macs_before=0 if lookup else m * n,
        macs_after=0 if lookup else kronecker_macs(m1, n1, m2, n2, rank),
    )


def use_kronecker_layers(encoder: Encoder, rules: Sequence[KroneckerRule]) -> None:
    """Replace the layers that the rules pick by factored ones with random factors, in place.

    Raises:
        ModelError: as `factored_layers`.
    """
    for layer in factored_layers(encoder, rules):
        encoder.set_submodule(layer.name, _factored(layer, encoder.get_submodule(layer.name)))


def compress(
    model: Model,
    rules: Sequence[KroneckerRule],
    progress: Callable[[int, int], None] | None = None,
    inputs: Mapping[str, Inputs] | None = None,
) -> tuple[Model, list[FactoredLayer]]:
    """A copy of a model whose picked layers are sums of Kronecker products.

    They are the nearest products of each matrix, or those that err least in what the layers return.
    Everything else is copied (section 3.7); with fitted factors biases shift to keep the outputs' means.

    Args:
        model: a dense encoder, or a head over one.
        rules: which layers, which shapes.
        progress: called with (layers done, layers in all).
        inputs: what the layers read, from `factor_fit.measure_inputs`, to fit the factors to; None
            for the nearest products.

    Returns:
        The copy, with the rules in its config, and the layers with their errors.

    Raises:
        ModelError: the model is factored already, a picked layer's inputs were not measured, or as
            `factored_layers` and `mobilebert_models.kronecker.factor_fit.fit_kronecker`.
    """
    encoder = encoder_of(model)
    if encoder.config.kronecker:
        raise ModelError("this model is Kronecker-factored already; compress the dense one it came from")
    planned = factored_layers(encoder, rules)
    for layer in planned:
        if inputs is not None and layer.name not in inputs:
            raise ModelError(f"{layer.name}: its inputs were not measured; leave it out of the rules")
    found, replaced = [], {}
    for done, layer in enumerate(planned, start=1):
        dense = cast(nn.Linear | nn.Embedding, encoder.get_submodule(layer.name))
        factored, described = _filled(layer, dense, None if inputs is None else inputs[layer.name])
        replaced[id(dense)] = factored
        found.append(described)
        if progress is not None:
            progress(done, len(planned))
    # The copy takes the factored layers for copies of the dense ones, which are never copied themselves.
    compressed = copy.deepcopy(model, cast(dict[int, object], replaced))
    config = replace(encoder.config, kronecker=tuple(rules))
    for part in (compressed, encoder_of(compressed)):
        cast(Encoder, part).config = config
    return compressed, found


def _factored(layer: FactoredLayer, dense: nn.Module) -> KroneckerLinear | KroneckerEmbedding:
    """The factored module in the place of a dense one, random, of its device, dtype and mode."""
    weight = cast(nn.Parameter, dense.weight)
    new: KroneckerLinear | KroneckerEmbedding
    if isinstance(dense, nn.Embedding):
        new = KroneckerEmbedding(layer.m, layer.n, layer.n1, layer.rank, padding_idx=dense.padding_idx)
    else:
        new = KroneckerLinear(layer.n, layer.m, layer.m1, layer.n1, layer.rank, bias=dense.bias is not None)
    return new.to(weight.device, weight.dtype).train(dense.training)


def _filled(
    layer: FactoredLayer, dense: nn.Linear | nn.Embedding, inputs: Inputs | None
) -> tuple[KroneckerLinear | KroneckerEmbedding, FactoredLayer]:
    """The factored module in the place of a dense one, with its weights, and the layer with its errors."""
    new, weight = _factored(layer, dense), dense.weight
    shape = (layer.m1, layer.n1, layer.rank)
    if inputs is None:
        a, b, error = nearest_kronecker(weight, *shape)
        described, shift = replace(layer, error=error), torch.zeros(layer.m)
    else:
        a, b, shift, error, output_error = fit_kronecker(weight, inputs, *shape)
        described = replace(layer, error=error, output_error=output_error)
    with torch.no_grad():
        if isinstance(new, KroneckerEmbedding):
            a, b = a.transpose(0, 1), b[:, 0]  # (r, v, k) → (v, r, k); (r, 1, n) → (r, n)
        elif new.bias is not None:
            new.bias.copy_(cast(nn.Linear, dense).bias + shift.to(weight.device))
        new.factor_a.copy_(a)
        new.factor_b.copy_(b)
    return new, described
