"""A folder with train.tsv and perhaps dev.tsv: its training and development examples.

The adversarial training set is `debias` of the whole training file; what serves as development part is then
taken out of both training sets, so that both are stopped by the same pairs. A development part of pairs is
the file dev.tsv, or a random twentieth of the training rows but no more than `DEV_PAIRS`; of lists, whole
queries: a tenth, from 5 to `DEV_LISTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mobilebert_matching.data.labelled_pairs import read_table, require_classes
from mobilebert_matching.data.pairs import Columns
from mobilebert_matching.data.repeated_pairs import (
    fitting,
    pair_hashes,
    pair_numbers,
    repetitions,
    seen_in_training,
)
from mobilebert_matching.length_bias.bias_audit import Mode
from mobilebert_matching.length_bias.debiased_sets import debias
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import Pair

TrainSet = Literal["original", "adversarial"]
TRAIN_SETS: tuple[TrainSet, ...] = ("original", "adversarial")
DEV_PAIRS, DEV_LISTS = 2000, 60
TEST_SEED = 0  # of the adversarial tests' down-sampling: the same tests for every matcher and seed


@dataclass(frozen=True)
class DataSet:
    """A folder with train.tsv and perhaps dev.tsv."""

    name: str
    folder: Path
    group: str | None = None  # column of the query key; None: pairs
    has_dev: bool = False  # dev.tsv is for development (else a part of train.tsv is)

    @property
    def mode(self) -> Mode:
        """Which definition of length divergence holds."""
        return "pairwise" if self.group is None else "listwise"

    def file(self, name: str) -> Path:
        """Path of a part."""
        return self.folder / f"{name}.tsv"

    def read(self, name: str) -> tuple[Examples, np.ndarray]:
        """A part, and the lines of its rows in the file.

        Raises:
            DataError: the file cannot be read.
        """
        table = read_table(self.file(name), self.group)
        return Examples(table.pairs, np.asarray(table.labels, np.int64), table.groups), table.lines


@dataclass(frozen=True)
class Examples:
    """Labelled pairs, and the query each belongs to where they form lists."""

    pairs: list[Pair]
    labels: np.ndarray  # (N,) int64
    groups: list[str] | None

    def __len__(self) -> int:
        return len(self.pairs)

    def take(self, rows: np.ndarray) -> Examples:
        """The examples at `rows`."""
        groups = None if self.groups is None else [self.groups[i] for i in rows]
        return Examples([self.pairs[i] for i in rows], self.labels[rows], groups)


def find_data(folder: Path, group: str | None = None) -> DataSet:
    """A data set by its folder; `group` is the column of the query key, where it holds lists.

    Raises:
        DataError: no train.tsv there.
    """
    if not (folder / "train.tsv").is_file():
        raise DataError(f"{folder}: no train.tsv there; give a folder with train.tsv and perhaps dev.tsv")
    return DataSet(folder.resolve().name, folder, group, (folder / "dev.tsv").is_file())


def training_part(
    data: DataSet,
    train_set: TrainSet,
    *,
    seed: int = 0,
    max_pairs: int | None = None,
    max_dev: int | None = None,
    equal_size: bool = False,
) -> tuple[Examples, Examples, dict[str, Any]]:
    """Training examples, development examples, and what a record says about them.

    Args:
        data: the data set.
        train_set: "original", or "adversarial" for the set without length-divergence bias.
        seed: of the development part, the down-sampling and the choice of `max_pairs`.
        max_pairs: at most so many training rows, drawn at random (from all lists, where there are lists).
        max_dev: at most so many rows of a dev.tsv of pairs.
        equal_size: also no more than the smaller of the two training sets has, so that size does not confound
            their comparison.

    Raises:
        DataError: a file cannot be read, either part has one class only, or the name of the training set is
            unknown.
    """
    if train_set not in TRAIN_SETS:
        raise DataError(f"training set {train_set!r} is unknown; expected one of {', '.join(TRAIN_SETS)}")
    train, lines = data.read("train")
    pool = {"original": np.ones(len(train), bool)}
    if train_set == "adversarial" or equal_size:
        kept = debias(data.file("train"), Columns(group=data.group), seed=seed).keep
        pool["adversarial"] = np.isin(lines, kept)
    if data.has_dev:
        whole, _ = data.read("dev")
        dev = whole if max_dev is None else whole.take(_dev_rows(whole, max_dev, seed))
    else:
        dev_rows = _dev_rows(train, min(max(1, len(train) // 20), DEV_PAIRS), seed)
        dev = train.take(dev_rows)
        for member in pool.values():
            member[dev_rows] = False
    sizes = {name: int(member.sum()) for name, member in pool.items()}
    limit = min(
        [sizes[train_set], *([max_pairs] if max_pairs else []), *(sizes.values() if equal_size else ())]
    )
    free = np.flatnonzero(pool[train_set])
    rows = np.sort(np.random.default_rng((seed, 2)).permutation(free)[:limit])
    facts = {
        "train_pairs": limit,
        "train_pairs_available": sizes,
        "train_pairs_positive": int((train.labels[rows] == 1).sum()),
        "max_pairs": max_pairs,
        "equal_size": equal_size,
        "dev_pairs": len(dev),
        "dev_from": "dev.tsv" if data.has_dev else "train.tsv",
        "dev_lists": None if dev.groups is None else len(set(dev.groups)),
    }
    chosen = train.take(rows)
    facts |= {"repetitions": asdict(repetitions(train.pairs, train.labels))}
    facts |= {"dev_pairs_in_training": seen_in_training(dev.pairs, pair_hashes(chosen.pairs))}
    require_classes(chosen, dev, data.folder)
    return chosen, dev, facts


def _dev_rows(examples: Examples, pairs: int, seed: int) -> np.ndarray:
    """Ascending rows of a development part: about `pairs`, all those of a pair, or lists with both labels."""
    rng = np.random.default_rng((seed, 1))
    if examples.groups is None:
        numbers = pair_numbers(examples.pairs)
        sizes = np.bincount(numbers)
        return np.flatnonzero(np.isin(numbers, fitting(rng.permutation(len(sizes)), sizes, pairs)))
    both = sorted(_with_label(examples, 1) & _with_label(examples, 0))
    count = min(DEV_LISTS, max(5, round(0.1 * len(set(examples.groups)))))
    chosen = {both[i] for i in rng.permutation(len(both))[:count]}
    return np.flatnonzero([key in chosen for key in examples.groups])


def _with_label(examples: Examples, label: int) -> set[str]:
    groups: Sequence[str] = examples.groups or ()
    return {key for key, own in zip(groups, examples.labels.tolist(), strict=True) if own == label}
