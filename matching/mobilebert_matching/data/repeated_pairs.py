"""Pairs that occur several times, in either order: counted, and kept together where a file is split.

Two rows are of one pair where their texts are equal but for case, Unicode form, white space and order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from unicodedata import normalize

import numpy as np

from mobilebert_runtime.files import save_array
from mobilebert_runtime.tokenizer import Pair

# Beside the model of a training run: which pairs it saw, as hashes.
TRAINING_PAIRS = "training_pairs.npy"


@dataclass(frozen=True)
class Repetitions:
    """How often the pairs of a file occur."""

    rows: int
    repeated: int  # rows whose pair an earlier row has
    conflicting: int  # pairs that have several labels

    def describe(self) -> str:
        """A line for the user; empty where no pair occurs twice."""
        if not self.repeated:
            return ""
        said = f"{self.repeated:,} of {self.rows:,} rows repeat an earlier pair, in either order"
        return f"{said}; {self.conflicting:,} pairs have conflicting labels" if self.conflicting else said


def pair_key(pair: Pair) -> tuple[str, str]:
    """What two rows of one pair have in common."""
    first, second = sorted(" ".join(normalize("NFKC", text).casefold().split()) for text in pair)
    return first, second


def pair_numbers(pairs: Sequence[Pair]) -> np.ndarray:
    """(N,) int64: equal for rows of one pair, numbered in the order of their first appearance."""
    seen: dict[tuple[str, str], int] = {}
    return np.array([seen.setdefault(pair_key(pair), len(seen)) for pair in pairs], np.int64)


def repetitions(pairs: Sequence[Pair], labels: np.ndarray) -> Repetitions:
    """Count what repeats among N pairs of (N,) labels."""
    numbers = pair_numbers(pairs)
    distinct = int(numbers.max(initial=-1)) + 1
    labelled = np.unique(np.column_stack([numbers, labels]), axis=0)
    conflicting = int((np.bincount(labelled[:, 0].astype(np.int64), minlength=1) > 1).sum())
    return Repetitions(len(pairs), len(pairs) - distinct, conflicting)


def fitting(order: np.ndarray, sizes: np.ndarray, rows: int) -> list[int]:
    """Pairs in `order` whose rows together are at most `rows`; the smallest one where none is small enough.

    Args:
        order: numbers of pairs.
        sizes: rows of each pair, by number.
        rows: wanted.
    """
    taken: list[int] = []
    free = rows
    for number in order.tolist():
        if sizes[number] <= free:
            taken.append(number)
            free -= int(sizes[number])
    return taken or [int(order[sizes[order].argmin()])]


def pair_hashes(pairs: Collection[Pair]) -> np.ndarray:
    """Ascending distinct hashes (M,) uint64 of pairs, equal for rows of one pair."""
    keys = ("\n".join(pair_key(pair)).encode("utf-8", "surrogatepass") for pair in pairs)
    digests = b"".join(blake2b(key, digest_size=8).digest() for key in keys)
    return np.unique(np.frombuffer(digests, np.dtype("<u8")))


def save_training_pairs(folder: Path, pairs: Collection[Pair]) -> None:
    """Keep hashes of the pairs that a model in `folder` was trained on: 8 bytes each, no text."""
    save_array(folder / TRAINING_PAIRS, pair_hashes(pairs))


def seen_in_training(pairs: Sequence[Pair], training: np.ndarray) -> int:
    """How many of N pairs are among hashes of training pairs, as `pair_hashes` gives them."""
    return int(np.isin([pair_hashes([pair])[0] for pair in pairs], training).sum())
