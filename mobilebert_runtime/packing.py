"""Several pairs with the same first text in one input: `[CLS] query [SEP] [CLS] text 1 [SEP] …`.

An embedding matcher lets each text attend to itself alone, so that a query which is compared with many texts
can be read once with several of them. Token types number the texts, 0 is the query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Encoded = tuple[list[int], list[int]]  # token ids and types of one input, unpadded


@dataclass(frozen=True)
class PackedShape:
    """What one packed input holds.

    Attributes:
        seq_len: tokens, the query's included.
        texts: how many texts the query is compared with at most.
    """

    seq_len: int
    texts: int


def plan(
    rows: Sequence[Encoded], shape: PackedShape, bucket: Callable[[int], int]
) -> list[tuple[list[int], Encoded]]:
    """Which pairs run packed, and how: the places of their rows, and the packed input.

    The time of an inference grows with its tokens, padding included. Pairs whose buckets have no more tokens
    together than a packed input are left out: they take less time one by one.

    Args:
        rows: encoded pairs, each text with special tokens of its own.
        shape: of a packed input.
        bucket: tokens → the sequence length at which an input of so many tokens runs by itself.
    """
    by_query: dict[tuple[int, ...], list[int]] = {}
    for place, (ids, types) in enumerate(rows):
        by_query.setdefault(tuple(ids[: types.count(0)]), []).append(place)
    return [
        (pack, _join(query, [rows[place][0][len(query) :] for place in pack]))
        for query, places in by_query.items()
        for pack in _fill(query, places, rows, shape)
        if sum(bucket(len(rows[place][0])) for place in pack) > shape.seq_len
    ]


def _fill(
    query: tuple[int, ...], places: list[int], rows: Sequence[Encoded], shape: PackedShape
) -> list[list[int]]:
    """Places of one query's rows in few inputs: the longest first, each into the first with room."""
    packs: list[list[int]] = []
    room: list[int] = []
    unfilled: list[int] = []  # packs that can take another text
    least = min(len(rows[place][0]) for place in places) - len(query)
    for place in sorted(places, key=lambda place: -len(rows[place][0])):
        tokens = len(rows[place][0]) - len(query)
        number = next((i for i in unfilled if room[i] >= tokens), len(packs))
        if number == len(packs):
            packs.append([])
            room.append(shape.seq_len - len(query))
            unfilled.append(number)
        packs[number].append(place)
        room[number] -= tokens
        if room[number] < least or len(packs[number]) == shape.texts:
            unfilled.remove(number)
    return packs


def _join(query: tuple[int, ...], texts: Sequence[list[int]]) -> Encoded:
    ids, types = list(query), [0] * len(query)
    for number, text in enumerate(texts, start=1):
        ids += text
        types += [number] * len(text)
    return ids, types
