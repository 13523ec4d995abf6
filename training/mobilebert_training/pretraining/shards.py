"""Token shards: a corpus as memory-mapped Arrow files, one row a chunk of consecutive sentences.

A chunk is what one training example is made from. Which pair of segments it becomes, and which tokens are
masked, is drawn when it is read (`mobilebert_training.pretraining.examples`): the shards hold no such choice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import parse_json, replacing

META = "corpus.json"


@dataclass(frozen=True)
class Chunk:
    """Consecutive sentences of one document.

    Attributes:
        tokens: (T,) ids of all its sentences, without special tokens.
        starts: (n + 1,) where its n ≥ 2 sentences begin in `tokens`, and T.
        target: tokens an example of it has at most, special tokens not counted.
        document: number of its document in the whole corpus.
    """

    tokens: np.ndarray
    starts: np.ndarray
    target: int
    document: int


@dataclass(frozen=True)
class SpecialTokens:
    """Ids that an example needs beside its words, and which entries are pieces inside a word."""

    cls: int
    sep: int
    pad: int
    mask: int
    vocab_size: int
    continuations: np.ndarray  # (vocabulary,) bool
    ordinary: np.ndarray  # ids that may stand for a masked token: all but the special ones


def write_shard(path: Path, chunks: Sequence[tuple[list[list[int]], int, int]], vocab_size: int) -> None:
    """Write chunks (sentences, target, document) under a temporary name, then rename."""
    kind = np.uint16 if vocab_size <= 1 << 16 else np.int32
    sentences = [s for chunk, _, _ in chunks for s in chunk]
    tokens = np.fromiter(chain.from_iterable(sentences), kind)
    starts = np.cumsum([0, *map(len, sentences)], dtype=np.int32)
    first = np.cumsum([0, *(len(chunk) for chunk, _, _ in chunks)], dtype=np.int32)
    lists = pa.ListArray.from_arrays(starts, pa.array(tokens))
    table = pa.table(
        {
            "sentences": pa.ListArray.from_arrays(first, lists),
            "target": pa.array([target for _, target, _ in chunks], pa.int32()),
            "document": pa.array([document for _, _, document in chunks], pa.int32()),
        }
    )
    with (
        replacing(path, force=True) as partial,
        pa.OSFile(str(partial), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table.combine_chunks())


class Corpus:
    """A folder that `mobilebert_training.pretraining.corpus.build` wrote, read through memory maps.

    Raises:
        DataError: the folder is no finished corpus.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / META
        if not path.is_file():
            raise DataError(f"{folder}: holds no finished corpus ({META}); run `mobilebert corpus build`")
        self.folder = folder
        self.meta: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
        counts = [shard["chunks"] for shard in self.meta["shards"]]
        self._ends = np.cumsum(counts)
        self._open: dict[int, _Shard] = {}

    def __len__(self) -> int:
        """Chunks."""
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, index: int) -> Chunk:
        """The chunk at `index`, without copying its tokens."""
        number = int(np.searchsorted(self._ends, index, side="right"))
        shard = self._shard(number)
        return shard.chunk(index - (int(self._ends[number - 1]) if number else 0))

    def __getstate__(self) -> dict[str, Any]:
        """What a worker process gets: maps are opened again there."""
        return self.__dict__ | {"_open": {}}

    @cached_property
    def documents(self) -> np.ndarray:
        """(N,) the document of every chunk."""
        return np.concatenate([self._shard(i).documents for i in range(len(self._ends))])

    @cached_property
    def special(self) -> SpecialTokens:
        """Special tokens of the vocabulary beside the shards."""
        return special_tokens(self.folder / "tokenizer.json")

    @property
    def seq_len(self) -> int:
        """Tokens of an example, special ones included."""
        return int(self.meta["plan"]["seq_len"])

    @property
    def fingerprint(self) -> str:
        """A hash of what was built from what: equal corpora have equal ones."""
        return sha256(json.dumps([self.meta["plan"], self.meta["shards"]]).encode()).hexdigest()

    def split(self, every: int) -> tuple[np.ndarray, np.ndarray]:
        """Chunk indices for training, and those of every `every`-th document, for development."""
        held_out = self.documents % every == 0
        return np.flatnonzero(~held_out), np.flatnonzero(held_out)

    def _shard(self, number: int) -> _Shard:
        if number not in self._open:
            self._open[number] = _Shard(self.folder / self.meta["shards"][number]["file"])
        return self._open[number]


class _Shard:
    """One Arrow file; every array is a view of the map."""

    def __init__(self, path: Path) -> None:
        try:
            batch = pa.ipc.open_file(pa.memory_map(str(path))).read_all().combine_chunks()
        except (OSError, pa.ArrowInvalid) as error:
            raise DataError(f"{path}: missing or damaged ({error}); build the corpus again") from error
        column = batch.column("sentences").chunk(0)
        self.first = column.offsets.to_numpy()  # (chunks + 1,)
        self.starts = column.values.offsets.to_numpy()  # (sentences + 1,)
        self.tokens = column.values.values.to_numpy()
        self.targets = batch.column("target").to_numpy()
        self.documents = batch.column("document").to_numpy()

    def chunk(self, row: int) -> Chunk:
        starts = self.starts[self.first[row] : self.first[row + 1] + 1]
        tokens = self.tokens[starts[0] : starts[-1]]
        return Chunk(tokens, starts - starts[0], int(self.targets[row]), int(self.documents[row]))


def special_tokens(path: Path) -> SpecialTokens:
    """Read them from a tokenizer.json: [CLS], [SEP], [MASK] and [PAD] or <pad>.

    Raises:
        DataError: the vocabulary has no such entries.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    vocabulary = tokenizer.get_vocab()
    found: dict[str, int] = {}
    for name, spellings in (
        ("cls", ("[CLS]",)),
        ("sep", ("[SEP]",)),
        ("mask", ("[MASK]",)),
        ("pad", ("[PAD]", "<pad>")),
    ):
        known = [vocabulary[s] for s in spellings if s in vocabulary]
        if not known:
            raise DataError(
                f"{path}: the vocabulary has no {spellings[0]} token; give one of a BERT or an ALBERT"
            )
        found[name] = known[0]
    size = tokenizer.get_vocab_size()
    pieces = [tokenizer.id_to_token(i) or "" for i in range(size)]
    # WordPiece marks what continues a word, SentencePiece what begins one.
    wordpiece = any(p.startswith("##") for p in pieces)
    continues = np.array([p.startswith("##") if wordpiece else not p.startswith("▁") for p in pieces])
    special = {i for i, t in tokenizer.get_added_tokens_decoder().items() if t.special}
    ordinary = np.array([i for i in range(size) if i not in special | set(found.values())])
    return SpecialTokens(**found, vocab_size=size, continuations=continues, ordinary=ordinary)
