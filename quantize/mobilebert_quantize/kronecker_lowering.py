"""Kronecker layers as a runtime executes them: two linear layers around a transposition, or one matrix.

A runtime knows no Kronecker product. (A ⊗ B)x by Eq. 6 of KroneckerBERT is reshape, linear, transpose and
linear; Σ A ⊗ B multiplied out is one linear layer of many more weights. Which one is faster depends on
shapes, number format and runtime; which one is smaller is never in doubt. The choice is made layer by layer,
from a cost model (`mobilebert_quantize.kronecker_costs`) or as asked for, and reported.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mobilebert_models.kronecker.factored_layers import KroneckerEmbedding, KroneckerLinear, kronecker_sum
from mobilebert_models.networks.layers import encoder_of
from mobilebert_quantize.kronecker_costs import OperatorCosts
from mobilebert_runtime.errors import ModelError

LOWERINGS = ("auto", "factored", "materialised")


@dataclass(frozen=True)
class LoweredLayer:
    """One Kronecker layer of an export: the form it got, and what either form costs.

    Microseconds are predictions for one text of every exported length, added up; they compare the forms, they
    are no promise. Weights are numbers, of one byte in int8 and four in float.
    """

    name: str
    a: tuple[int, int]
    b: tuple[int, int]
    rank: int
    form: str
    factored_us: float
    materialised_us: float
    factored_weights: int
    materialised_weights: int

    def to_json(self) -> dict[str, Any]:
        """Plain data for report.json."""
        return asdict(self)


def lower(
    network: nn.Module, form: str, costs: OperatorCosts, lengths: Sequence[int]
) -> tuple[nn.Module, list[LoweredLayer]]:
    """A copy of a network without Kronecker modules, computing the same; the one given is left untouched.

    Args:
        network: a head over an encoder, in eval mode; returned as it is if nothing in it is factored.
        form: "factored", "materialised", or "auto": whatever `costs` says is faster. A word embedding is
            multiplied out only when that is asked for: its lookup is as fast either way.
        costs: of the target runtime and number format.
        lengths: tokens of the sequences that are exported.

    Returns:
        The copy, and one entry a layer in the encoder's order.

    Raises:
        ModelError: an unknown form.
    """
    if form not in LOWERINGS:
        raise ModelError(f"--kronecker {form!r} is unknown; expected one of {', '.join(LOWERINGS)}")
    if not any(isinstance(part, KroneckerLinear | KroneckerEmbedding) for part in network.modules()):
        return network, []
    work = copy.deepcopy(network)
    encoder, found = encoder_of(work), []
    for name, layer in list(encoder.named_modules()):
        if isinstance(layer, KroneckerLinear | KroneckerEmbedding):
            entry = _choose(name, layer, form, costs, lengths)
            found.append(entry)
            encoder.set_submodule(name, _lowered(layer, entry.form).eval())
    return work, found


class TwoStepLinear(nn.Module):
    """y = (Σ A ⊗ B)x + bias in operators that every runtime has; those without an effect are left out.

    Attributes:
        first: the linear map applied first; of its outputs the r products are the innermost axis.
        second: the other one, of its inputs the r products are the innermost axis. It has the bias where it
            writes all of y at once.
        bias: (m,), or None where there is none to add behind the second map.
    """

    bias: nn.Parameter | None

    def __init__(self, layer: KroneckerLinear) -> None:
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        a, b = layer.factor_a.detach(), layer.factor_b.detach()
        self.b_first = layer.b_first
        inner, outer = (b, a) if self.b_first else (a, b)
        bias = None if layer.bias is None else layer.bias.detach()
        # The second map writes a part of y for every row of the first factor; one bias fits one part.
        whole = inner.shape[1] == 1
        # (r, p, q) → (p, r, q) → (p·r, q) and (r, p, q) → (p, q, r) → (p, q·r)
        self.first = _linear(inner.transpose(0, 1).reshape(-1, inner.shape[2]), None)
        self.second = _linear(outer.permute(1, 2, 0).flatten(1), bias if whole else None)
        self.rank, self.sizes = a.shape[0], (a.shape[1], a.shape[2], b.shape[1], b.shape[2])
        apart = None if bias is None or whole else nn.Parameter(bias.clone())
        self.register_parameter("bias", apart)

    def forward(self, x: Tensor) -> Tensor:
        """(…, n) → (…, m)."""
        m1, n1, m2, n2 = self.sizes
        if self.b_first and n1 == m2 == 1:  # a low-rank matrix: nothing to reorder
            y: Tensor = self.second(self.first(x))
            return y
        blocks = x.reshape(-1, n1, n2)
        half = self.first(blocks if self.b_first else _swapped(blocks))
        kept, new = (n1, m2) if self.b_first else (n2, m1)
        # (N, kept, new·r) → (N, kept, new, r) → (N, new, kept, r) → (N, new, kept·r)
        if kept > 1 and new > 1:
            half = half.reshape(-1, kept, new, self.rank).transpose(1, 2)
        y = self.second(half.reshape(-1, new, kept * self.rank))
        if self.b_first:
            y = _swapped(y)
        y = y.reshape(*x.shape[:-1], self.out_features)
        return y if self.bias is None else y + self.bias


class FactoredLookup(nn.Module):
    """A word's row Σ A_i ⊗ b as a lookup and one product: (k, r) numbers a word, times b.

    Attributes:
        table: the lookup, (v, k·r).
        rows: the row vectors as a linear map of r numbers, weight (n, r).
    """

    def __init__(self, layer: KroneckerEmbedding) -> None:
        super().__init__()
        a = layer.factor_a.detach()  # (v, r, k)
        self.columns, self.rank = a.shape[2], a.shape[1]
        table = a.transpose(1, 2).reshape(a.shape[0], -1).clone()
        self.table = nn.Embedding.from_pretrained(table, padding_idx=layer.padding_idx)
        self.rows = _linear(layer.factor_b.detach().t(), None)
        self.embedding_dim = layer.embedding_dim

    def forward(self, ids: Tensor) -> Tensor:
        """(…) ids → (…, d)."""
        found = self.table(ids)
        if self.columns > 1:
            found = found.reshape(*ids.shape, self.columns, self.rank)
        # (…, k, r)·bᵀ → (…, k, n) → (…, d); of one product an outer product, no sum.
        rows: Tensor = found * self.rows.weight[:, 0] if self.rank == 1 else self.rows(found)
        return rows.reshape(*ids.shape, self.embedding_dim)


def materialise(layer: KroneckerLinear) -> Tensor:
    """Σ A ⊗ B, (m, n), multiplied out in float64."""
    a, b = layer.factor_a.detach(), layer.factor_b.detach()
    return kronecker_sum(a.double(), b.double()).to(a.dtype)


def _choose(
    name: str,
    layer: KroneckerLinear | KroneckerEmbedding,
    form: str,
    costs: OperatorCosts,
    lengths: Sequence[int],
) -> LoweredLayer:
    rank = layer.factor_b.shape[0]
    tokens = sum(lengths)
    if isinstance(layer, KroneckerEmbedding):
        words, _, columns = layer.factor_a.shape
        a, b = (words, columns), (1, layer.factor_b.shape[1])
        factored, whole = (
            costs.factored_lookup(tokens, columns, b[1], rank),
            costs.lookup(tokens, columns * b[1]),
        )
        chosen = "factored" if form == "auto" else form
        sizes = rank * (words * columns + b[1]), words * columns * b[1]
    else:
        (m1, n1), (m2, n2) = layer.factor_a.shape[1:], layer.factor_b.shape[1:]
        a, b = (m1, n1), (m2, n2)
        factored = costs.factored(tokens, (m1, n1, m2, n2), rank, b_first=layer.b_first)
        whole = costs.linear(tokens, layer.in_features, layer.out_features)
        chosen = ("factored" if factored < whole else "materialised") if form == "auto" else form
        sizes = rank * (m1 * n1 + m2 * n2), layer.in_features * layer.out_features
    return LoweredLayer(name, a, b, rank, chosen, factored, whole, *sizes)


def _lowered(layer: KroneckerLinear | KroneckerEmbedding, form: str) -> nn.Module:
    if isinstance(layer, KroneckerEmbedding):
        if form == "factored":
            return FactoredLookup(layer)
        return nn.Embedding.from_pretrained(layer.weight.detach().clone(), padding_idx=layer.padding_idx)
    if form == "factored":
        return TwoStepLinear(layer)
    return _linear(materialise(layer), None if layer.bias is None else layer.bias.detach())


def _linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    """A linear map with copies of these."""
    made = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, dtype=weight.dtype)
    with torch.no_grad():
        made.weight.copy_(weight)
        if bias is not None:
            made.bias.copy_(bias)
    return made


def _swapped(x: Tensor) -> Tensor:
    """(N, p, q) → (N, q, p); a mere reshape where one of them is 1."""
    if x.shape[1] > 1 and x.shape[2] > 1:
        return x.transpose(1, 2)
    return x.reshape(-1, x.shape[2], x.shape[1])
