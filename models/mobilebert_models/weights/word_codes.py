"""A word embedding table as product codes (Jégou et al. 2011): one byte for a few neighbouring numbers.

The columns are cut into groups of equal size. A group has a codebook of 256 vectors, found by k-means over
the rows, and a row names one of them for each group. With two columns in a group a table takes four bits a
number, with four columns two bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

ENTRIES = 256  # of a codebook: what a byte can name
SMALLEST_TABLE = 4096  # rows: the codebooks of a smaller table would be a good part of it
SIZES = (4, 2)  # columns in a group, the shortest codes first
_LARGEST = 127
_SAMPLE = 16_384  # rows that k-means looks at
_STEPS = 12


@dataclass(frozen=True)
class WordCodes:
    """A table of V rows of E columns in G groups of E/G.

    Attributes:
        codes: uint8 (V, G), which entry of each group's codebook a row takes.
        codebook: int8 (G, 256, E/G).
        scale: what a codebook's numbers are multiplied by; a float16, so that the products are exact and tell
            the scale again.
    """

    codes: Tensor
    codebook: Tensor
    scale: float

    @classmethod
    def of_codebook(cls, codes: Tensor, codebook: Tensor) -> WordCodes:
        """The nearest to codes (V, G) and a float32 codebook (G, 256, E/G)."""
        scale = _scale(codebook)
        whole = (codebook / scale).round().clamp(-_LARGEST, _LARGEST)
        return cls(codes.to(torch.uint8), whole.to(torch.int8), scale)

    def table(self) -> Tensor:
        """The table in float32, (V, E)."""
        groups = torch.arange(self.codes.shape[1])
        return (self.codebook.float() * self.scale)[groups, self.codes.long()].flatten(1)


def group_size(bits: int) -> int:
    """Columns in a group when each number is to take `bits`."""
    return 8 // bits


def can_be_coded(table: Tensor, bits: int) -> bool:
    """Whether a table (V, E) has enough rows, and columns that fall into the groups of `bits` a number."""
    return len(table) >= SMALLEST_TABLE and table.shape[1] % group_size(bits) == 0


def product_codes(table: Tensor, weight: Tensor, size: int, seed: int = 0) -> WordCodes:
    """Codes and codebooks of a table by k-means, group by group.

    Args:
        table: (V, E), V at least 256.
        weight: (V,), how much the error of each row counts.
        size: columns in a group; divides E.
        seed: of the rows that k-means looks at and begins with.
    """
    random = torch.Generator().manual_seed(seed)
    seen = torch.arange(len(table))
    if len(table) > _SAMPLE:
        seen = torch.multinomial(weight.float(), _SAMPLE, replacement=True, generator=random)
        weight = torch.ones(len(table))  # the rows were drawn by it
    codes, books = [], []
    for part in table.detach().float().split(size, dim=1):
        books.append(_codebook(part[seen], weight[seen].float(), random))
        codes.append(_nearest(part, books[-1])[0])
    return WordCodes.of_codebook(torch.stack(codes, 1), torch.stack(books))


def find_codes(table: Tensor) -> WordCodes | None:
    """The codes of a float32 table (V, E) that `WordCodes.table` made; None of any other table."""
    whole = _whole(table)
    if whole is None:
        return None
    for size in SIZES:
        if table.shape[1] % size == 0 and (found := _distinct(whole, size)) is not None:
            return WordCodes(*found, _scale(table))
    return None


def code_means(rows: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
    """Mean of a group's rows (V, size) that name each entry by codes (V,), (256, size), and how many do."""
    count = torch.bincount(codes, minlength=ENTRIES)
    sums = torch.zeros(ENTRIES, rows.shape[1]).index_add_(0, codes, rows)
    return sums / count.clamp(min=1)[:, None], count


def looks_coded(table: Tensor) -> bool:
    """Whether `find_codes` will find codes, by the first two columns: all are looked at where it matters."""
    whole = _whole(table)
    return whole is not None and _distinct(whole[:, :2], 2) is not None


def _whole(table: Tensor) -> Tensor | None:
    """A table over its scale, where that makes all of its numbers whole; None elsewhere."""
    if table.dim() != 2 or len(table) < SMALLEST_TABLE or not table.abs().max() > 0:
        return None
    scale = _scale(table)
    whole = (table / scale).round()
    return whole if whole.abs().max() <= _LARGEST and torch.equal(whole * scale, table) else None


def _codebook(rows: Tensor, weight: Tensor, random: torch.Generator) -> Tensor:
    """256 vectors by weighted k-means over (N, size)."""
    book = rows[torch.multinomial(weight, ENTRIES, generator=random)].clone()
    for _ in range(_STEPS):
        nearest, error = _nearest(rows, book)
        total = torch.zeros(ENTRIES).index_add_(0, nearest, weight)
        sums = torch.zeros_like(book).index_add_(0, nearest, rows * weight[:, None])
        empty = (total == 0).nonzero()[:, 0]
        book = sums / total.clamp(min=torch.finfo(torch.float32).tiny)[:, None]
        book[empty] = rows[(error * weight).topk(len(empty)).indices]
    return book


def _nearest(rows: Tensor, book: Tensor) -> tuple[Tensor, Tensor]:
    """Nearest entry of each row of (N, size) among (256, size), and its squared distance, (N,) each."""
    distance, nearest = torch.addmm(book.square().sum(1)[None], rows, book.t(), alpha=-2).min(1)
    return nearest, distance + rows.square().sum(1)


def _distinct(whole: Tensor, size: int) -> tuple[Tensor, Tensor] | None:
    """Codes and codebooks of a table of whole numbers whose groups hold 256 vectors at most."""
    places = (2 * _LARGEST + 1) ** torch.arange(size)
    codes, books = [], []
    for part in (whole.long() + _LARGEST).split(size, dim=1):
        numbers, code = torch.unique((part * places).sum(1), return_inverse=True)
        if len(numbers) > ENTRIES:
            return None
        book = torch.zeros(ENTRIES, size, dtype=torch.int8)
        book[: len(numbers)] = (numbers[:, None] // places % (2 * _LARGEST + 1) - _LARGEST).to(torch.int8)
        codes.append(code.to(torch.uint8))
        books.append(book)
    return torch.stack(codes, 1), torch.stack(books)


def _scale(values: Tensor) -> float:
    return float((values.abs().max() / _LARGEST).half())
