"""The paper's four data sets, or a folder like them: training, development, original and adversarial test.

Choices of ours, stated here once:

- the adversarial training set is `debias` of the whole training file; what serves as development
  part is then taken out of both training sets, so that both are stopped by the same pairs;
- the adversarial test set is `debias` of the test file with the quartiles of the *training* file;
- lists of the adversarial test keep at least one positive and one negative: a list without has the "large
  number" as its divergence, is in CAT4, and goes with it. MAP and MRR run over lists with a positive;
- a development part of pairs is the file dev.tsv, or a random twentieth of the training rows but no more than
  `DEV_PAIRS`; of lists, whole queries: a tenth, from 5 to `DEV_LISTS`;
- TrecQA's clean dev set is a second test, because the paper's "1,117 for testing" is its size.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from matching.data.labelled_pairs import read_table
from matching.data.table_files import PairFileError
from matching.length_bias.bias_audit import Mode, load_quartiles
from matching.length_bias.debiased_sets import debias
from matching.length_bias.length_divergence import listwise, pairwise, word_counts
from mobilebert_runtime.tokenizer import Pair

TrainSet = Literal["original", "adversarial"]
TRAIN_SETS: tuple[TrainSet, ...] = ("original", "adversarial")
DEV_PAIRS, DEV_LISTS = 2000, 60
TEST_SEED = 0  # of the adversarial tests' down-sampling: the same tests for every matcher and seed


@dataclass(frozen=True)
class Known:
    """How one of the paper's data sets is to be read."""

    group: str | None = None  # column of the query key; None: pairs
    has_dev: bool = False  # dev.tsv is for development (else a part of train.tsv is)
    tests: tuple[tuple[str, str], ...] = (("", "test"),)  # prefix in the record, file


KNOWN: dict[str, Known] = {
    "qqp": Known(has_dev=True),
    "twitter_url": Known(),
    "trecqa": Known(group="qid", tests=(("", "test"), ("clean_dev_", "dev"))),
    "microblog": Known(group="topic"),
}


@dataclass(frozen=True)
class DataSet:
    """A folder with train.tsv, test.tsv and perhaps dev.tsv."""

    name: str
    folder: Path
    known: Known

    @property
    def mode(self) -> Mode:
        """Which definition of length divergence holds."""
        return "pairwise" if self.known.group is None else "listwise"

    def file(self, name: str) -> Path:
        """Path of a part."""
        return self.folder / f"{name}.tsv"


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


@dataclass(frozen=True)
class HeldOut:
    """A test file: all of it is the original test, the rows in `adversarial` are the adversarial one."""

    prefix: str
    examples: Examples
    category: np.ndarray  # (N,) 1 to 4, by the quartiles of the training file
    adversarial: np.ndarray  # row numbers


def find_data(name: str, data_root: Path | None = None, group: str | None = None) -> DataSet:
    """A data set by name, below `data_root`, or by its folder.

    Without `data_root`: $MOBILEBERT_SHARED/data, or ../shared/data.

    Raises:
        PairFileError: neither a known name nor a folder with train.tsv.
    """
    root = data_root or Path(os.environ.get("MOBILEBERT_SHARED", "../shared")) / "data"
    known = KNOWN.get(name)
    folder = root / name if known else Path(name)
    if not (folder / "train.tsv").is_file():
        advice = (
            "set --data-root to the folder that holds it"
            if known
            else f"expected a folder with train.tsv, or one of {', '.join(KNOWN)}"
        )
        raise PairFileError(f"{folder}: no train.tsv there; {advice}")
    if known is None:
        known = Known(group=group, has_dev=(folder / "dev.tsv").is_file())
    return DataSet(name if name in KNOWN else folder.resolve().name, folder, known)


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
        PairFileError: a file cannot be read, or the name of the training set is unknown.
    """
    if train_set not in TRAIN_SETS:
        raise PairFileError(f"training set {train_set!r} is unknown; expected one of {', '.join(TRAIN_SETS)}")
    train, lines = _read(data, "train")
    pool = {"original": np.ones(len(train), bool)}
    if train_set == "adversarial" or equal_size:
        kept = debias(data.file("train"), group=data.known.group, seed=seed).keep
        pool["adversarial"] = np.isin(lines, kept)
    if data.known.has_dev:
        whole, _ = _read(data, "dev")
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
        "dev_from": "dev.tsv" if data.known.has_dev else "train.tsv",
        "dev_lists": None if dev.groups is None else len(set(dev.groups)),
    }
    return train.take(rows), dev, facts


def held_out_parts(data: DataSet) -> list[HeldOut]:
    """Every test of a data set, each with its adversarial subset.

    Raises:
        PairFileError: a file cannot be read.
    """
    group = data.known.group
    quartiles = load_quartiles(data.file("train"), data.mode, group=group)
    parts = []
    for prefix, name in data.known.tests:
        examples, lines = _read(data, name)
        divergence = pairwise(*(word_counts(side) for side in zip(*examples.pairs, strict=True)))
        if examples.groups is not None:
            divergence = listwise(divergence, examples.labels, examples.groups)
        kept = debias(data.file(name), group=group, quartiles_from=data.file("train"), seed=TEST_SEED).keep
        adversarial = np.flatnonzero(np.isin(lines, kept))
        parts.append(HeldOut(prefix, examples, quartiles.category(divergence), adversarial))
    return parts


def _read(data: DataSet, name: str) -> tuple[Examples, np.ndarray]:
    """A part, and the lines of its rows in the file."""
    table = read_table(data.file(name), data.known.group)
    return Examples(table.pairs, np.asarray(table.labels, np.int64), table.groups), table.lines


def _dev_rows(examples: Examples, pairs: int, seed: int) -> np.ndarray:
    """Ascending rows of a development part of about `pairs` pairs, or of whole lists with both labels."""
    rng = np.random.default_rng((seed, 1))
    if examples.groups is None:
        return np.sort(rng.permutation(len(examples))[:pairs])
    both = sorted(_with_label(examples, 1) & _with_label(examples, 0))
    count = min(DEV_LISTS, max(5, round(0.1 * len(set(examples.groups)))))
    chosen = {both[i] for i in rng.permutation(len(both))[:count]}
    return np.flatnonzero([key in chosen for key in examples.groups])


def _with_label(examples: Examples, label: int) -> set[str]:
    groups: Sequence[str] = examples.groups or ()
    return {key for key, own in zip(groups, examples.labels.tolist(), strict=True) if own == label}
