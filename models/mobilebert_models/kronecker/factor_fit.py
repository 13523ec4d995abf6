"""Kronecker factors with the least error in a layer's outputs, instead of in its weights.

The nearest Kronecker products weight every entry of a matrix equally, but a layer's inputs do not use all
directions equally, nor a text all words. Fitted to the inputs, factors of the same shapes start with smaller
errors of the outputs; for low-rank factors this is the data-aware SVD of Chen et al. 2021 (DRONE).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from mobilebert_models.kronecker.factored_layers import (
    kronecker_sum,
    nearest_kronecker,
    patches,
    second_factor,
)
from mobilebert_models.networks.layers import Encoder
from mobilebert_runtime.errors import ModelError

# A direction that no measured input uses counts as much as this part of an average one.
_UNSEEN = 1e-4
# A word that no measured text holds counts as much as this part of a token.
_UNREAD = 0.1
# Alternating least squares ends after so many sweeps, or with one that gains less than this part of the
# squared error.
_SWEEPS, _GAIN = 200, 1e-4
# Unknowns of one least-squares problem, whose normal equations are a dense matrix.
_UNKNOWNS = 4096
# Pivots of Cholesky's factor, smallest over largest, below which equations are taken for singular.
_REGULAR = 1e-5


class Inputs:
    """What a linear map or an embedding reads, summed up over tokens in float64.

    Attributes:
        tokens: how many were read.
        total: (n,) sum of the vectors that a linear map reads; (v,) times each row of an embedding is read.
        products: (n, n) sum of their outer products; empty for an embedding.
    """

    def __init__(self, layer: nn.Linear | nn.Embedding) -> None:
        lookup = isinstance(layer, nn.Embedding)
        size = layer.num_embeddings if isinstance(layer, nn.Embedding) else layer.in_features
        self.tokens = 0
        self.total = torch.zeros(size, dtype=torch.float64)
        self.products = torch.zeros(0 if lookup else size, 0 if lookup else size, dtype=torch.float64)

    def add(self, read: Tensor) -> None:
        """Count (tokens,) ids or (tokens, n) vectors."""
        self.tokens += len(read)
        if read.dim() == 1:
            self.total += torch.bincount(read, minlength=len(self.total)).double()
        else:
            # A batch is short enough for the matrix's own precision; the sum of all of them is not.
            self.total += read.sum(0).double()
            self.products += (read.t() @ read).double()

    @property
    def mean(self) -> Tensor:
        """(n,) of the vectors that a linear map reads."""
        return self.total / self.tokens

    @property
    def covariance(self) -> Tensor:
        """(n, n) of the vectors that a linear map reads."""
        return self.products / self.tokens - torch.outer(self.mean, self.mean)


class FittedFactors(NamedTuple):
    """The sum of r Kronecker products with the least error in a layer's outputs.

    Attributes:
        a: (r, m1, n1), in the dtype of the matrix.
        b: (r, m2, n2).
        shift: (m,) added to a linear map's bias so that its outputs keep their mean; 0 for an embedding.
        error: ‖W − Σ A ⊗ B‖ / ‖W‖, as of `nearest_kronecker`.
        output_error: root mean square of the outputs' error over that of the outputs themselves, a linear
            map's taken from their mean. Both errors are 0 for an all-zero matrix.
    """

    a: Tensor
    b: Tensor
    shift: Tensor
    error: float
    output_error: float


def measure_inputs(encoder: Encoder, batches: Iterable[dict[str, Tensor]]) -> dict[str, Inputs]:
    """What the word embedding and the linear maps inside the layers of an encoder read, by their names.

    Args:
        encoder: a dense one, in evaluation mode.
        batches: keyword arguments of its `forward`; padding does not count.

    Raises:
        ModelError: the batches hold no token.
    """
    found: dict[str, Inputs] = {}
    hooks = []
    real = torch.zeros(0, dtype=torch.bool)  # (B, T) of the batch that runs

    def read(inputs: Inputs, _: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        inputs.add(arguments[0][real])  # (B, T, …) → (tokens, …)

    for name, module in encoder.named_modules():
        inside = name.startswith("encoder.") and isinstance(module, nn.Linear)
        if inside or name.endswith(".word_embeddings"):
            found[name] = Inputs(cast(nn.Linear | nn.Embedding, module))
            hooks.append(module.register_forward_pre_hook(partial(read, found[name])))
    try:
        with torch.no_grad():
            for batch in batches:
                real = batch["attention_mask"].bool()
                encoder(**batch)
    finally:
        for hook in hooks:
            hook.remove()
    if not all(inputs.tokens for inputs in found.values()):
        raise ModelError("no text to fit the factors to; give at least one pair")
    return found


def fit_kronecker(weight: Tensor, inputs: Inputs, m1: int, n1: int, rank: int = 1) -> FittedFactors:
    """Solve min E‖(W − Σ A ⊗ B)(x − x̄)‖² over both factors, in float64.

    With C the covariance of x this is ‖(W − Σ A ⊗ B) C^½‖. Low-rank factors (n1 = m2 = 1) have a closed
    form, a truncated SVD of W C^½. Other shapes start at the nearest products and alternate between the
    least-squares solution for all A and for all B, which no sweep makes worse. Rows of an embedding are
    weighted by how often they are read, which has a closed form as well.

    Args:
        weight: (m, n).
        inputs: of this layer.
        m1: rows of A, a divisor of m.
        n1: columns of A, a divisor of n.
        rank: number of products r.

    Raises:
        ModelError: the shapes do not fit, or r products are too many for shapes that are not low-rank.
    """
    exact = weight.detach().double()
    m, n = weight.shape
    m2, n2 = second_factor(m, n, m1, n1, rank)
    if not inputs.products.numel():
        often = (inputs.total + _UNREAD).sqrt()[:, None]
        a, b = _fit_rows(exact, often, n1, rank)
        return _fitted(
            weight, a, b, torch.zeros_like(exact[0]), lambda x: torch.linalg.vector_norm(often * x)
        )
    covariance = inputs.covariance
    average = covariance.diagonal().mean()
    covariance = covariance + _UNSEEN * average * torch.eye(len(covariance), dtype=torch.float64)
    if n1 == m2 == 1:
        a, b = _fit_low_rank(exact, covariance, rank)
    elif rank * max(n1, n2) > _UNKNOWNS:
        raise ModelError(
            f"{rank} products of {m1}×{n1} and {m2}×{n2}: a fit to data solves for {rank * max(n1, n2):,} "
            f"numbers at a time, at most {_UNKNOWNS:,}; take fewer products, or a low-rank shape "
            "(n1 = m2 = 1)"
        )
    else:
        a, b = _alternate(exact, covariance, m1, n1, rank)
    return _fitted(weight, a, b, inputs.mean, lambda x: _norm(x, covariance))


def _fitted(
    weight: Tensor, a: Tensor, b: Tensor, mean: Tensor, of_outputs: Callable[[Tensor], Tensor]
) -> FittedFactors:
    """Factors with their errors: of the matrix, and by the norm of what a matrix returns."""
    exact = weight.detach().double()
    left = exact - kronecker_sum(a, b)
    norms = (torch.linalg.vector_norm, of_outputs)
    error, output_error = (float(norm(left) / whole) if (whole := norm(exact)) else 0.0 for norm in norms)
    return FittedFactors(*_balanced(a, b, weight.dtype), (left @ mean).to(weight.dtype), error, output_error)


def _fit_rows(table: Tensor, often: Tensor, n1: int, rank: int) -> tuple[Tensor, Tensor]:
    """Rows of b from a weighted SVD of the table's patches, then every word's best numbers on them."""
    rows = patches(table, len(table), n1)  # (v·n1, n2)
    weights = often.repeat_interleave(n1, dim=0)  # a word's patches count alike
    _, _, v = torch.linalg.svd(weights * rows, full_matrices=False)
    basis = v[:rank]  # orthonormal, (r, n2)
    a = (rows @ basis.t()).t().reshape(rank, len(table), n1)
    return a, basis[:, None]  # (r, v, n1), (r, 1, n2)


def _fit_low_rank(weight: Tensor, covariance: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Truncated SVD of W C^½, the root taken off again."""
    values, vectors = torch.linalg.eigh(covariance)
    root = values.clamp_min(values[-1] * torch.finfo(values.dtype).eps).sqrt()
    u, sigma, v = torch.linalg.svd(weight @ (vectors * root), full_matrices=False)
    b = (sigma[:rank, None] * v[:rank]) @ (vectors / root).t()
    return u[:, :rank].t()[:, :, None], b[:, None, :]  # (r, m, 1), (r, 1, n)


def _alternate(weight: Tensor, covariance: Tensor, m1: int, n1: int, rank: int) -> tuple[Tensor, Tensor]:
    """Alternating least squares from the nearest products."""
    a, b, _ = nearest_kronecker(weight, m1, n1, rank)
    m2, n2 = b.shape[1:]
    blocks = covariance.reshape(n1, n2, n1, n2)
    weighted = weight @ covariance
    target = weighted.reshape(m1, m2, n1, n2)  # by its blocks (i1, i2, j1, j2)
    whole = float((weight * weighted).sum())
    before = float("inf")
    for _ in range(_SWEEPS):
        # All of B for given A: row i2 of every B_k has the same normal equations, of r·n2 unknowns.
        overlap = torch.einsum("kix,liy->kxly", a, a)
        normal = torch.einsum("kxly,xpyq->kplq", overlap, blocks).reshape(rank * n2, rank * n2)
        right = torch.einsum("kix,imxp->kpm", a, target).reshape(rank * n2, m2)
        b = _solve(normal, right).reshape(rank, n2, m2).transpose(1, 2)
        # All of A for given B: row i1 of every A_k, of r·n1 unknowns.
        overlap = torch.einsum("kip,liq->kplq", b, b)
        normal = torch.einsum("kplq,xpyq->kxly", overlap, blocks).reshape(rank * n1, rank * n1)
        right = torch.einsum("kip,mixp->kxm", b, target).reshape(rank * n1, m1)
        solved = _solve(normal, right)
        a = solved.reshape(rank, n1, m1).transpose(1, 2)
        # At a least-squares solution the squared error is ‖W‖² less what is explained.
        error = whole - float((solved * right).sum())
        if before - error <= _GAIN * error:
            break
        before = error
    return a, b


def _solve(normal: Tensor, right: Tensor) -> Tensor:
    """Normal equations; of products that coincide, which leave them singular, the smallest solution."""
    factor, failed = torch.linalg.cholesky_ex(normal)
    if not failed and factor.diagonal().min() > _REGULAR * factor.diagonal().max():
        return torch.cholesky_solve(right, factor)
    return torch.linalg.lstsq(normal, right, driver="gelsd").solution


def _norm(matrix: Tensor, covariance: Tensor) -> Tensor:
    """‖M C^½‖."""
    return (matrix * (matrix @ covariance)).sum().clamp_min(0).sqrt()


def _balanced(a: Tensor, b: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Both factors of a product with the same norm, as `nearest_kronecker` leaves them."""
    sizes = [torch.linalg.vector_norm(x, dim=(1, 2), keepdim=True) for x in (a, b)]
    ratio = torch.where((sizes[0] > 0) & (sizes[1] > 0), (sizes[1] / sizes[0]).sqrt(), torch.ones(()))
    return (a * ratio).to(dtype).contiguous(), (b / ratio).to(dtype).contiguous()
