"""A mining job on disk: texts in blocks of fixed size, what each stage made of each block, and shards.

    OUT/mining.json                   what the job was begun with; another one may not go on in the folder
        vectors/block-000000.npy      float16 (B, H), unit length
        neighbours/block-000000.npy   int32 (B, K), nearest first, -1 where there are fewer
        pairs/block-000000.tsv        what the block's texts drew
        pairs.tsv                     all blocks, in order

A block is the unit of work: who computes it, and beside which others, changes no byte of it. So one process,
eight shards on eight machines that share the folder, and a cluster write the same files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from mobilebert_matching.data.plain_text import check_files, read_documents
from mobilebert_runtime.errors import DataError, OptionError, OutputError
from mobilebert_runtime.files import write_json

SETTINGS = "mining.json"
STAGES = ("vectors", "neighbours", "pairs")
PAIRS = "pairs.tsv"


@dataclass(frozen=True)
class MiningConfig:
    """What the pairs depend on.

    Raises:
        OptionError: a number is out of range.
    """

    embedder: str  # name and hash of the model, for the record
    block_size: int = 4096  # texts
    near: int = 3  # pairs of a text with its nearest texts
    farther: int = 1  # with texts of rank `FARTHER`
    random: int = 1  # with any text
    seed: int = 0

    def __post_init__(self) -> None:
        if self.block_size < 1 or min(self.near, self.farther, self.random) < 0:
            raise OptionError("mining: a block has at least 1 text, and numbers of pairs are not negative")
        if not self.near + self.farther + self.random:
            raise OptionError("mining: no pairs asked for; give a number of near, farther or random ones")


@dataclass(frozen=True)
class Shard:
    """Every n-th block, from the i-th on; "3/8" on a command line is i = 3 of n = 8."""

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read "3/8".

        Raises:
            OptionError: not two whole numbers, or the first is not from 1 to the second.
        """
        first, slash, second = text.partition("/")
        if not (slash and first.isdecimal() and second.isdecimal() and 1 <= int(first) <= int(second)):
            raise OptionError(f"--shard {text!r}: expected such as 3/8, the third of eight")
        return cls(int(first), int(second))

    def blocks(self, count: int) -> range:
        """Its blocks of so many."""
        return range(self.number - 1, count, self.of)


def read_texts(paths: list[Path]) -> list[str]:
    """The distinct non-empty lines of text files, in the order of their first appearance.

    Raises:
        DataError: a file is missing, damaged or not UTF-8; or there are fewer than two texts.
    """
    check_files(paths)
    texts = list(dict.fromkeys(line for document in read_documents(paths) for line in document))
    if len(texts) < 2:
        raise DataError(f"{paths[0]}: {len(texts)} texts; a pair needs two")
    if tabbed := next((text for text in texts if "\t" in text), None):
        raise DataError(f"{paths[0]}: the line {tabbed[:40]!r} has a tab; give one text a line")
    return texts


@dataclass(frozen=True)
class MiningJob:
    """A folder, the texts and the settings of a job.

    Raises:
        OutputError: the folder holds another job.
    """

    out: Path
    texts: list[str]
    config: MiningConfig

    def __post_init__(self) -> None:
        """Begin the folder, or check that it is this job's."""
        for stage in STAGES:
            (self.out / stage).mkdir(parents=True, exist_ok=True)
        path, values = self.out / SETTINGS, self.to_json()
        if not path.is_file():
            write_json(path, values)
        elif (found := json.loads(path.read_text(encoding="utf-8"))) != values:
            name = next(key for key in values if found.get(key) != values[key])
            raise OutputError(
                f"{path}: the folder's job has {name} {found.get(name)!r}, not {values[name]!r}; "
                "give the same, or another --out"
            )

    def to_json(self) -> dict[str, Any]:
        """The settings with the number and hash of the texts."""
        digest = sha256("\n".join(self.texts).encode()).hexdigest()
        return asdict(self.config) | {"texts": len(self.texts), "texts_sha256": digest}

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-len(self.texts) // self.config.block_size)

    def rows(self, block: int) -> range:
        """Numbers of a block's texts."""
        start = block * self.config.block_size
        return range(start, min(start + self.config.block_size, len(self.texts)))

    def path(self, stage: str, block: int) -> Path:
        """Where a stage's result of a block lies."""
        return self.out / stage / f"block-{block:06d}.{'tsv' if stage == 'pairs' else 'npy'}"

    def missing(self, stage: str) -> list[int]:
        """Blocks that a stage has not done yet."""
        return [block for block in range(self.blocks) if not self.path(stage, block).is_file()]

    def require(self, stage: str) -> None:
        """Raise `DataError` where a stage is not finished for every block."""
        if missing := self.missing(stage):
            raise DataError(
                f"{self.out}: {len(missing)} of {self.blocks} blocks have no {stage} yet; run that stage in "
                "every shard first"
            )

    def require_before(self, stage: str) -> None:
        """Raise `DataError` where the stage before is not finished for every block."""
        if stage != STAGES[0]:
            self.require(STAGES[STAGES.index(stage) - 1])

    def arrays(self, stage: str) -> Iterator[np.ndarray]:
        """What a stage made of every block, in order, mapped into memory."""
        self.require(stage)
        return (np.load(self.path(stage, block), mmap_mode="r") for block in range(self.blocks))
