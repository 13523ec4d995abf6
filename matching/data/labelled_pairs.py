"""Folders of labelled pairs: train.tsv, dev.tsv, test.tsv."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from matching.data.pairs import PairTable, read_pairs
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import Pair


class LabelledPairs(NamedTuple):
    """Pairs and their class numbers."""

    pairs: list[Pair]
    labels: np.ndarray  # (N,) int64


def read_split(folder: Path, name: str) -> LabelledPairs:
    """Read `folder`/`name`.tsv; errors as in `read_labelled`."""
    return read_labelled(folder / f"{name}.tsv")


def read_labelled(path: Path) -> LabelledPairs:
    """Read labelled pairs; errors as in `read_table`."""
    table = read_table(path)
    return LabelledPairs(table.pairs, np.asarray(table.labels, np.int64))


def read_table(path: Path, group: str | None = None) -> PairTable:
    """Read labelled pairs; every row must be usable, and labels must be class numbers.

    Args:
        path: the file.
        group: column of the query key, for lists.

    Raises:
        DataError: the file is missing, has bad rows, or its labels are not 0, 1, ….
    """
    table = read_pairs(path, group=group)
    labels = table.labels
    if (
        labels is None
        or not len(labels)
        or labels.min() < 0
        or not np.array_equal(labels, labels.astype(int))
    ):
        raise DataError(f"{path}: labels must be class numbers 0, 1, …")
    return table
