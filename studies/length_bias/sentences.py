"""Sentences drawn at random from plain text, in one pass and by a seed."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Generic, TypeVar

from mobilebert_matching.data.plain_text import read_documents, split_sentences
from mobilebert_runtime.errors import DataError

Item = TypeVar("Item")


def read_paragraphs(paths: Sequence[Path]) -> Iterator[list[str]]:
    """The sentences of each non-empty line of the files, in order.

    Raises:
        DataError: as `mobilebert_matching.data.plain_text.read_documents`.
    """
    for line in chain.from_iterable(read_documents(paths)):
        yield split_sentences(line)


def draw_sentences(paths: Sequence[Path], bins: Sequence[range], count: int, seed: int) -> list[list[str]]:
    """For each bin of lengths in words, `count` distinct sentences drawn from the files.

    Raises:
        DataError: as `read_paragraphs`, or a bin has fewer than `count` sentences.
    """
    draws: list[BottomKSampler[str]] = [BottomKSampler(count, seed) for _ in bins]
    bin_of = {words: number for number, lengths in enumerate(bins) for words in lengths}
    for sentence in chain.from_iterable(read_paragraphs(paths)):
        number = bin_of.get(len(sentence.split()))
        if number is not None:
            draws[number].add(sentence, sentence)
    drawn = [draw.items() for draw in draws]
    for lengths, sentences in zip(bins, drawn, strict=True):
        if len(sentences) < count:
            raise DataError(
                f"{', '.join(p.name for p in paths)}: {len(sentences)} distinct sentences of "
                f"{lengths.start} to {lengths.stop - 1} words, {count} wanted; add text or ask for fewer"
            )
    return drawn


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
