"""Kronecker-factored layers (KroneckerBERT, Tahaei et al. 2022, sections 3.1-3.3).

A matrix W (m, n) is a sum of r products A ⊗ B with A (m1, n1), B (m2, n2), m = m1·m2, n = n1·n2. The layers
apply the factors to reshaped activations; A ⊗ B itself is never formed.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_runtime.errors import ModelError

# Sums of so few products are added up one by one, of more as one matrix product.
_FEW = 4


class NearestFactors(NamedTuple):
    """The best approximation of a matrix by r Kronecker products.

    Attributes:
        a: (r, m1, n1), in the dtype of the matrix.
        b: (r, m2, n2).
        error: ‖W − Σ A ⊗ B‖ / ‖W‖ in Frobenius norms; 0 for an all-zero matrix.
    """

    a: Tensor
    b: Tensor
    error: float


def nearest_kronecker(weight: Tensor, m1: int, n1: int, rank: int = 1) -> NearestFactors:
    """Solve min ‖W − Σ A ⊗ B‖ (Van Loan and Pitsianis 1993; KroneckerBERT Eq. 2-5), in float64.

    The (m2, n2) patches of W become the rows of a matrix in which every Kronecker product is a matrix of rank
    one, so its truncated SVD is the optimum. √σ goes to either factor: both then shrink alike under weight
    decay.

    Args:
        weight: (m, n).
        m1: rows of A, a divisor of m.
        n1: columns of A, a divisor of n.
        rank: number of products r; at most min(m1·n1, m2·n2), where the sum is exact.

    Raises:
        ModelError: the shapes do not fit.
    """
    m, n = weight.shape
    m2, n2 = second_factor(m, n, m1, n1, rank)
    u, sigma, v = torch.linalg.svd(patches(weight.detach().double(), m1, n1), full_matrices=False)
    root = sigma[:rank].sqrt()
    a = (u[:, :rank] * root).t().reshape(rank, m1, n1)
    b = (v[:rank] * root[:, None]).reshape(rank, m2, n2)
    norm = float(torch.linalg.vector_norm(sigma))
    error = float(torch.linalg.vector_norm(sigma[rank:])) / norm if norm else 0.0
    return NearestFactors(a.to(weight.dtype).contiguous(), b.to(weight.dtype).contiguous(), error)


def patches(weight: Tensor, m1: int, n1: int) -> Tensor:
    """The rearrangement R of Eq. 3, (m, n) → (m1·n1, m2·n2): a (m2, n2) patch a row; A ⊗ B has rank one."""
    m, n = weight.shape
    # (m1·m2, n1·n2) → (m1, m2, n1, n2) → (m1, n1, m2, n2) → (m1·n1, m2·n2)
    return weight.reshape(m1, m // m1, n1, n // n1).transpose(1, 2).reshape(m1 * n1, -1)


def kronecker_sum(a: Tensor, b: Tensor) -> Tensor:
    """Σ A ⊗ B as a matrix: (r, m1, n1), (r, m2, n2) → (m, n)."""
    rank, m1, n1 = a.shape
    _, m2, n2 = b.shape
    # (m1·n1, r)·(r, m2·n2) → (m1, n1, m2, n2) → (m1, m2, n1, n2) → (m, n)
    rows = a.reshape(rank, -1).t() @ b.reshape(rank, -1)
    return rows.reshape(m1, n1, m2, n2).transpose(1, 2).reshape(m1 * m2, n1 * n2)


def second_factor(
    m: int, n: int, m1: int, n1: int, rank: int, where: str = "Kronecker factors"
) -> tuple[int, int]:
    """The shape (m2, n2) of B, given W's (m, n) and A's (m1, n1).

    Raises:
        ModelError: m1 or n1 is no divisor, or the rank is below 1 or beyond an exact sum; the message
            begins with `where`.
    """
    for name, value in (("m1", m1), ("n1", n1), ("rank", rank)):
        if not isinstance(value, int) or value < 1:
            raise ModelError(f"{where}: {name} is {value!r}; it must be a whole number of at least 1")
    for name, value, whole, side in (("m1", m1, m, "rows"), ("n1", n1, n, "columns")):
        if whole % value:
            raise ModelError(f"{where}: {name} = {value} does not divide the matrix's {whole} {side}")
    m2, n2 = m // m1, n // n1
    exact = min(m1 * n1, m2 * n2)
    if rank > exact:
        raise ModelError(
            f"{where}: {rank} products of {m1}×{n1} and {m2}×{n2}, but {exact} already represent any "
            f"matrix exactly; take rank ≤ {exact}"
        )
    return m2, n2


def flops_of_orders(m1: int, n1: int, m2: int, n2: int) -> tuple[int, int]:
    """Additions and multiplications of (A ⊗ B)x by Eq. 7: with B applied first, and with A applied first."""
    return (
        (2 * n2 - 1) * m2 * n1 + (2 * n1 - 1) * m2 * m1,
        (2 * n1 - 1) * n2 * m1 + (2 * n2 - 1) * m2 * m1,
    )


def kronecker_macs(m1: int, n1: int, m2: int, n2: int, rank: int) -> int:
    """Multiply-accumulates of one x in the order that Eq. 7 prefers."""
    b_first, a_first = flops_of_orders(m1, n1, m2, n2)
    return rank * (m2 * n1 * (n2 + m1) if b_first <= a_first else m1 * n2 * (n1 + m2))


class KroneckerLinear(nn.Module):
    """y = (Σ A ⊗ B) x + bias (Eq. 1), computed by Eq. 6 as two matrix products.

    The r products share each of the two matrix multiplications: their first factors are stacked, their second
    ones lie side by side, so the sum costs no pass of its own.

    Args:
        in_features: n, the last axis of x.
        out_features: m.
        m1: rows of A.
        n1: columns of A.
        rank: number of products r.
        bias: whether to add a bias (m,).

    Attributes:
        factor_a: (r, m1, n1).
        factor_b: (r, m2, n2).
        b_first: whether B is applied before A; the cheaper of the two by Eq. 7, fixed when the layer is made.

    Raises:
        ModelError: the shapes do not fit.
    """

    def __init__(
        self, in_features: int, out_features: int, m1: int, n1: int, rank: int = 1, *, bias: bool = True
    ) -> None:
        super().__init__()
        m2, n2 = second_factor(out_features, in_features, m1, n1, rank)
        self.in_features, self.out_features = in_features, out_features
        self.factor_a = nn.Parameter(torch.empty(rank, m1, n1))
        self.factor_b = nn.Parameter(torch.empty(rank, m2, n2))
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None
        b_first, a_first = flops_of_orders(m1, n1, m2, n2)
        self.b_first = b_first <= a_first
        self.initialise(in_features**-0.5)

    def initialise(self, std: float) -> None:
        """Draw factors whose summed product has entries of mean 0 and deviation `std`; zero the bias."""
        _draw(self.factor_a, self.factor_b, std)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one x."""
        rank, m1, n1 = self.factor_a.shape
        _, m2, n2 = self.factor_b.shape
        return kronecker_macs(m1, n1, m2, n2, rank)

    def forward(self, x: Tensor) -> Tensor:
        """(…, n) → (…, m)."""
        rank, m1, n1 = self.factor_a.shape
        _, m2, n2 = self.factor_b.shape
        rows = x.shape[:-1].numel()
        x_blocks = x.reshape(rows, n1, n2)
        if self.b_first:
            # (N, n1, n2)·Bᵀ → (N, n1, r·m2) → (N, m2, r·n1)·Aᵀ → (N, m2, m1) → (N, m1, m2)
            half = F.linear(x_blocks, self.factor_b.reshape(rank * m2, n2))
            half = half.reshape(rows, n1, rank, m2).permute(0, 3, 2, 1).reshape(rows, m2, rank * n1)
            y = F.linear(half, self.factor_a.transpose(0, 1).reshape(m1, rank * n1)).transpose(1, 2)
        else:
            # (N, n2, n1)·Aᵀ → (N, n2, r·m1) → (N, m1, r·n2)·Bᵀ → (N, m1, m2)
            half = F.linear(x_blocks.transpose(1, 2), self.factor_a.reshape(rank * m1, n1))
            half = half.reshape(rows, n2, rank, m1).permute(0, 3, 2, 1).reshape(rows, m1, rank * n2)
            y = F.linear(half, self.factor_b.transpose(0, 1).reshape(m2, rank * n2))
        y = y.reshape(*x.shape[:-1], self.out_features)
        # Under autocast y is half precision and the bias is not: the sum is to be what a Linear returns.
        return y if self.bias is None else y + self.bias.to(y.dtype)

    def extra_repr(self) -> str:
        """What `print(model)` shows."""
        rank, m1, n1 = self.factor_a.shape
        _, m2, n2 = self.factor_b.shape
        return f"{self.in_features}, {self.out_features}, A={m1}×{n1}, B={m2}×{n2}, rank={rank}"


class KroneckerEmbedding(nn.Module):
    """Row i of the table is Σ A_i ⊗ b (Eq. 8): a lookup of d/n numbers and O(d) multiplications.

    B is a row vector, so that every word keeps a row of its own in A.

    Args:
        num_embeddings: v, words of the vocabulary.
        embedding_dim: d.
        n1: columns of A, d/n in the paper.
        rank: number of products r.
        padding_idx: row that stays as it is in training, as in `nn.Embedding`.

    Attributes:
        factor_a: (v, r, d/n), the lookup table; beside each other the r parts of a word.
        factor_b: (r, n).

    Raises:
        ModelError: the shapes do not fit.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        n1: int,
        rank: int = 1,
        *,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        _, n2 = second_factor(num_embeddings, embedding_dim, num_embeddings, n1, rank)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx
        self.factor_a = nn.Parameter(torch.empty(num_embeddings, rank, n1))
        self.factor_b = nn.Parameter(torch.empty(rank, n2))
        self.initialise(1.0)

    def initialise(self, std: float) -> None:
        """Draw factors whose summed product has entries of mean 0 and deviation `std`; zero the pad row."""
        _draw(self.factor_a, self.factor_b, std)
        if self.padding_idx is not None:
            with torch.no_grad():
                self.factor_a[self.padding_idx].zero_()

    @property
    def weight(self) -> Tensor:
        """The table (v, d) that the factors stand for, built anew at every call."""
        # (v, k, r)·(r, n) → (v, k, n) → (v, d)
        table = self.factor_a.transpose(1, 2) @ self.factor_b
        return table.reshape(self.num_embeddings, self.embedding_dim)

    def forward(self, ids: Tensor) -> Tensor:
        """(…) ids → (…, d)."""
        words, rank, columns = self.factor_a.shape
        parts = F.embedding(ids, self.factor_a.view(words, rank * columns), self.padding_idx)
        parts = parts.reshape(*ids.shape, rank, columns)
        if rank > _FEW:
            # (…, k, r)·(r, n) → (…, k, n); of a low-rank table k is 1.
            out = (parts.transpose(-1, -2) @ self.factor_b).to(parts.dtype)
            return out.reshape(*ids.shape, self.embedding_dim)
        # (…, k, 1)·(n) → (…, k, n). Like a lookup this stays in full precision under autocast.
        out = parts[..., 0, :, None] * self.factor_b[0]
        for i in range(1, rank):
            out = out + parts[..., i, :, None] * self.factor_b[i]
        return out.reshape(*ids.shape, self.embedding_dim)

    def scores(self, hidden: Tensor) -> Tensor:
        """Products of vectors with every row of the table, (…, d) → (…, v): an output layer tied to it.

        The table is never formed: b comes first, and what is left has d/n · r numbers a word instead of d.
        """
        words, rank, columns = self.factor_a.shape
        # (…, k, n)·bᵀ → (…, k, r) → (…, r, k) → (…, r·k)·Aᵀ → (…, v)
        reduced = F.linear(hidden.reshape(*hidden.shape[:-1], columns, -1), self.factor_b).transpose(-1, -2)
        flat = reduced.reshape(*hidden.shape[:-1], rank * columns)
        return F.linear(flat, self.factor_a.view(words, rank * columns))

    def extra_repr(self) -> str:
        """What `print(model)` shows."""
        words, rank, columns = self.factor_a.shape
        return f"{words}, {self.embedding_dim}, A={words}×{columns}, b={self.factor_b.shape[1]}, rank={rank}"


def _draw(a: Tensor, b: Tensor, std: float) -> None:
    """Fill both factors alike; the deviation of a sum of r products of two is √r·σ²."""
    rank = b.shape[0]
    sigma = (std / rank**0.5) ** 0.5
    nn.init.normal_(a, std=sigma)
    nn.init.normal_(b, std=sigma)
