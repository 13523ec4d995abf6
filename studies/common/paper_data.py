"""The four data sets of Jiang et al. 2022, or a folder like them: original and adversarial tests.

- the adversarial test is `debias` of the test file with the quartiles of the *training* file;
- its lists keep at least one positive and one negative: a list without has the "large number" as its
  divergence, is in CAT4, and goes with it. MAP and MRR run over lists with a positive;
- TrecQA's clean dev set is a second test, because the paper's "1,117 for testing" is its size.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mobilebert_matching.data.pairs import Columns
from mobilebert_matching.length_bias.bias_audit import load_quartiles
from mobilebert_matching.length_bias.debiased_sets import debias
from mobilebert_matching.length_bias.length_divergence import listwise, pairwise, word_counts
from mobilebert_matching.length_bias.training_sets import TEST_SEED, DataSet, Examples, find_data
from mobilebert_runtime.errors import DataError

# Name → column of the query key (None: pairs), and whether dev.tsv is for development.
PAPER_DATA: dict[str, tuple[str | None, bool]] = {
    "qqp": (None, True),
    "twitter_url": (None, False),
    "trecqa": ("qid", False),
    "microblog": ("topic", False),
}
# Prefix in the record, file; of any other data set test.tsv alone.
TESTS: dict[str, tuple[tuple[str, str], ...]] = {"trecqa": (("", "test"), ("clean_dev_", "dev"))}


@dataclass(frozen=True)
class HeldOut:
    """A test file: all of it is the original test, the rows in `adversarial` are the adversarial one."""

    prefix: str
    examples: Examples
    category: np.ndarray  # (N,) 1 to 4, by the quartiles of the training file
    adversarial: np.ndarray  # row numbers


def paper_data(name: str, data_root: Path | None = None) -> DataSet:
    """A data set by its folder, or by name below `data_root`.

    Without `data_root`: $MOBILEBERT_SHARED/data, or ../shared/data.

    Raises:
        DataError: neither a known name nor a folder with train.tsv.
    """
    if name not in PAPER_DATA:
        return find_data(Path(name))
    root = data_root or Path(os.environ.get("MOBILEBERT_SHARED", "../shared")) / "data"
    if not (root / name / "train.tsv").is_file():
        raise DataError(f"{root / name}: no train.tsv there; set --data-root to the folder that holds it")
    return DataSet(name, root / name, *PAPER_DATA[name])


def held_out_parts(data: DataSet) -> list[HeldOut]:
    """Every test of a data set, each with its adversarial subset.

    Raises:
        DataError: a file cannot be read.
    """
    group = data.group
    quartiles = load_quartiles(data.file("train"), data.mode, Columns(group=group))
    parts = []
    for prefix, name in TESTS.get(data.name, (("", "test"),)):
        examples, lines = data.read(name)
        divergence = pairwise(*(word_counts(side) for side in zip(*examples.pairs, strict=True)))
        if examples.groups is not None:
            divergence = listwise(divergence, examples.labels, examples.groups)
        kept = debias(
            data.file(name), Columns(group=group), quartiles_from=data.file("train"), seed=TEST_SEED
        ).keep
        adversarial = np.flatnonzero(np.isin(lines, kept))
        parts.append(HeldOut(prefix, examples, quartiles.category(divergence), adversarial))
    return parts
