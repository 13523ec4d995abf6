"""Sentences out of plain text: read as a stream, cut by a plain rule, drawn by a seed."""

from __future__ import annotations

import gzip
import heapq
import lzma
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import IO, Generic, TypeVar

# The end of a sentence: a full stop, question or exclamation mark and closing quotes, then white space and
# something that can begin the next one.
_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*(\s+)(?=[\"'“‘(\[]*[A-Z0-9])")
# A full stop after one of these, or after a single capital (an initial), ends no sentence.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'“‘])(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Jr|Sr|Hon|Messrs|"
    r"vs|etc|cf|al|ca|No|Vol|Fig|pp|e\.g|i\.e|[A-Z](?:\.[A-Z])+)\.$"
)
_OPENERS: dict[str, Callable[..., IO[str]]] = {".xz": lzma.open, ".gz": gzip.open, ".txt": open}

Item = TypeVar("Item")


class CorpusError(ValueError):
    """A corpus file that is missing, damaged or not text, or too little of it for what was asked."""

    exit_code = 2


def read_paragraphs(paths: Sequence[Path]) -> Iterator[list[str]]:
    """The sentences of each non-empty line of the files, in order; no file is ever held whole.

    Args:
        paths: UTF-8 text, one paragraph a line: .txt, .txt.xz or .txt.gz.

    Raises:
        CorpusError: no file, one that is not there, of another kind, truncated, or not UTF-8.
    """
    check_files(paths)
    for path in paths:
        for line in _lines(path):
            if sentences := split_sentences(line):
                yield sentences


def read_documents(paths: Sequence[Path]) -> Iterator[list[str]]:
    """The non-empty lines of each document of the files; a blank line or the end of a file ends a document.

    Raises:
        CorpusError: as `read_paragraphs`.
    """
    check_files(paths)
    for path in paths:
        lines: list[str] = []
        for line in _lines(path):
            if text := line.strip():
                lines.append(text)
            elif lines:
                yield lines
                lines = []
        if lines:
            yield lines


def check_files(paths: Sequence[Path]) -> None:
    """Raise `CorpusError` for no file, one that is not there, or one of another kind."""
    if not paths:
        raise CorpusError("no corpus file given; give one or more .txt, .txt.xz or .txt.gz files")
    for path in paths:
        if not path.is_file():
            raise CorpusError(f"{path}: no such file; give a text file with one paragraph a line")
        if path.suffix not in _OPENERS:
            raise CorpusError(f"{path}: unknown ending; expected one of {', '.join(_OPENERS)}")


def _lines(path: Path) -> Iterator[str]:
    try:
        with _OPENERS[path.suffix](path, "rt", encoding="utf-8") as file:
            yield from file
    except (lzma.LZMAError, EOFError, gzip.BadGzipFile) as error:
        raise CorpusError(f"{path}: damaged or truncated ({error}); fetch it again") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not UTF-8 ({error}); convert it first") from error


def split_sentences(paragraph: str) -> list[str]:
    """Cut a paragraph at sentence ends; common abbreviations and initials are not ends.

    A rule of two expressions, not a trained splitter: what it gets wrong is a long or a short sentence, which
    costs the users of this file (distillation, probing by length in words) nothing.
    """
    sentences, start = [], 0
    for match in _END.finditer(paragraph):
        sentence = paragraph[start : match.start(1)]
        if _ABBREVIATION.search(sentence[-12:]):
            continue
        sentences.append(sentence.strip())
        start = match.end(1)
    sentences.append(paragraph[start:].strip())
    return [sentence for sentence in sentences if sentence]


class BottomKSampler(Generic[Item]):
    """A uniform sample without replacement of the distinct keys of a stream, in one pass.

    Keeps the `count` keys of smallest seeded hash: duplicates collapse by themselves, and the sample depends
    on the seed and on which keys there are, not on their order or on how often each occurs.
    """

    def __init__(self, count: int, seed: int) -> None:
        self._count = count
        self._seed = seed.to_bytes(8, "little", signed=True)
        self._heap: list[tuple[int, str]] = []  # (−hash, key): the root is the first to go
        self._items: dict[str, Item] = {}

    def add(self, key: str, item: Item) -> None:
        """Offer an item; of equal keys the first one offered counts."""
        rank = -int.from_bytes(blake2b(key.encode(), key=self._seed, digest_size=8).digest(), "little")
        full = len(self._heap) == self._count
        if (full and rank <= self._heap[0][0]) or key in self._items:
            return
        if full:
            _, dropped = heapq.heappushpop(self._heap, (rank, key))
            del self._items[dropped]
        else:
            heapq.heappush(self._heap, (rank, key))
        self._items[key] = item

    def items(self) -> list[Item]:
        """What was drawn, in the random order of the hashes."""
        return [self._items[key] for _, key in sorted(self._heap, reverse=True)]


def draw_sentences(paths: Sequence[Path], bins: Sequence[range], count: int, seed: int) -> list[list[str]]:
    """For each bin of lengths in words, `count` distinct sentences drawn from the files.

    Raises:
        CorpusError: as `read_paragraphs`, or a bin has fewer than `count` sentences.
    """
    draws: list[BottomKSampler[str]] = [BottomKSampler(count, seed) for _ in bins]
    bin_of = {words: number for number, lengths in enumerate(bins) for words in lengths}
    for sentence in _flat(read_paragraphs(paths)):
        number = bin_of.get(len(sentence.split()))
        if number is not None:
            draws[number].add(sentence, sentence)
    drawn = [draw.items() for draw in draws]
    for lengths, sentences in zip(bins, drawn, strict=True):
        if len(sentences) < count:
            raise CorpusError(
                f"{', '.join(p.name for p in paths)}: {len(sentences)} distinct sentences of "
                f"{lengths.start} to {lengths.stop - 1} words, {count} wanted; add text or ask for fewer"
            )
    return drawn


def _flat(paragraphs: Iterable[list[str]]) -> Iterator[str]:
    for sentences in paragraphs:
        yield from sentences
