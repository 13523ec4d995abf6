"""Texts and pairs of texts as users give them: lists, iterators, arrays of numpy, columns of pandas.

All are read by position, never by a label of their own: the third answer is that of the third entry.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Set
from typing import Any

from mobilebert_runtime.errors import DataError

_HALF = re.compile("[\ud800-\udfff]")
# Marks that writers of Latin, Greek and Cyrillic leave away at times, and the choice between forms of a sign.
_MARKS = re.compile("[\u0300-\u036f\ufe00-\ufe0f]")


def as_texts(given: Iterable[Any], texts: int) -> list[Any]:
    """A list of texts, or of pairs of texts as tuples.

    Half a surrogate pair, left of an emoji that was cut in two, is no character.

    Args:
        given: an iterable with an order; of a table or an array with two axes, each row is an entry.
        texts: that an entry has, 1 or 2.

    Raises:
        DataError: saying which entry is what.
    """
    what = "a text" if texts == 1 else "a pair of texts"
    if isinstance(given, (str, bytes)):
        raise DataError(f"a text was given; give a list with {what} in each entry")
    rows = given.to_numpy() if hasattr(given, "to_numpy") else given
    if isinstance(given, (Mapping, Set)) or not hasattr(rows, "__iter__") or getattr(rows, "ndim", 1) == 0:
        raise DataError(f"a {type(given).__name__} was given; give a list with {what} in each entry")
    # The only column of a table is a column of texts.
    found = [row[0] if texts == 1 and getattr(row, "shape", None) == (1,) else row for row in rows]
    return [_entry(one, number, texts, what) for number, one in enumerate(found, 1)]


def as_text(given: Any, what: str) -> str:
    """One text; `DataError` with its name where it is none."""
    if not isinstance(given, str):
        raise DataError(f"the {what} is {given!r:.60}, not a text")
    return as_texts([given], 1)[0]


def refuse_empty(pairs: Iterable[tuple[str, str]]) -> None:
    """Raise `DataError` for a pair with a text of nothing but white space: no score says anything of it."""
    for number, pair in enumerate(pairs, 1):
        for text, which in zip(pair, ("first", "second")):
            if not text or text.isspace():
                raise DataError(f"entry {number}: its {which} text is empty; leave the pair out")


def read_as_one(a: str, b: str) -> bool:
    """Are two texts one and the same to a careless reader?

    That is, but for case, accents, white space and characters that show nothing, which tokenizers drop by
    design.
    """
    return _plain(a) == _plain(b)


def _plain(text: str) -> str:
    shown = _MARKS.sub("", unicodedata.normalize("NFKD", text).casefold())
    return "".join(one for one in shown if not one.isspace() and unicodedata.category(one)[0] != "C")


def _entry(one: Any, number: int, texts: int, what: str) -> Any:
    parts = (one,) if texts == 1 else one
    if not isinstance(parts, (tuple, list)) and getattr(parts, "shape", None) != (texts,):
        raise DataError(f"entry {number} is {one!r:.60}, not {what}")
    if len(parts) != texts or not all(isinstance(part, str) for part in parts):
        raise DataError(f"entry {number} is {one!r:.60}, not {what}")
    for half in filter(None, map(_HALF.search, parts)):
        raise DataError(
            f"entry {number} holds half a surrogate pair, {half.group()!a}, as character "
            f"{half.start() + 1}; give the whole text, or leave that character out"
        )
    plain = tuple(str.__str__(part) for part in parts)  # numpy's texts are of a type of their own
    return plain[0] if texts == 1 else plain
