"""Folders of labelled pairs: train.tsv, dev.tsv, test.tsv."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from mobilebert_matching.data.pairs import Columns, PairTable, read_pairs
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import Pair

# A class number beyond this is something else; a classifier has a row of weights for each.
MOST_CLASSES = 1000


class Labelled(Protocol):
    """Whatever has class numbers."""

    @property
    def labels(self) -> np.ndarray:
        """(N,) int64."""


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
    table = read_pairs(path, Columns(group=group))
    labels = table.labels
    if labels is None:
        raise DataError(f"{path}: has no column of labels, such as `label`; add one")
    if labels.min() < 0 or not np.array_equal(labels, labels.astype(int)):
        raise DataError(f"{path}: labels must be class numbers 0, 1, …")
    if labels.max() >= MOST_CLASSES:
        line = table.lines[labels.argmax()]
        raise DataError(f"{path}: line {line} has label {labels.max()}; expected less than {MOST_CLASSES}")
    return table


def require_classes(train: Labelled, dev: Labelled, folder: Path) -> None:
    """Refuse labels that no classifier can be trained and calibrated on, before anything is loaded.

    Raises:
        DataError: one class only, in either part, or development labels that no training pair has.
    """
    for name, part in (("train", train), ("dev", dev)):
        require_two_classes(part.labels, f"{folder}: the {name} part")
    if unknown := sorted({*dev.labels.tolist()} - {*train.labels.tolist()}):
        raise DataError(f"{folder}: the dev part has label {unknown[0]}, which no training pair has")


def require_known_labels(labels: np.ndarray, classes: int, path: Path) -> None:
    """Raise `DataError` where a label is none of the classes that a model tells apart, 0 to `classes` − 1."""
    if labels.max() >= classes:
        last = f"the model's last class is {classes - 1}"
        known = "a match is 1 and everything else 0" if classes == 2 else last
        raise DataError(f"{path}: labels reach {labels.max()}; {known}")


def require_two_classes(labels: np.ndarray, what: str) -> None:
    """Raise `DataError` where fewer than two classes are among the labels of `what`."""
    if len(np.unique(labels)) < 2:
        found = f"no label but {labels[0]}" if len(labels) else "no pairs"
        raise DataError(f"{what} has {found} ({len(labels):,} pairs); expected pairs of at least two classes")
