"""Length divergence of text pairs: Eq. (1)–(4) and the categories CAT1–CAT4 of Jiang et al. 2022, Section 3.

The paper's readings that it leaves open are settled here, each in one place:

- a *word* is a maximal run of characters that are not white space (Python's `str.split`);
- Eq. (1) has no value for an empty text, so that is an error: the reader has left such rows out;
- the *large number* of the listwise definition is `LARGE_NUMBER`, and such a query is always in CAT4;
- the *quarters* are cut at the quartiles (linear interpolation) of one value per example: a pair, or with the
  listwise definition a query ("each example consists of a query Q and a list of documents D");
- a value equal to a quartile belongs to the category below it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mobilebert_runtime.errors import DataError

LARGE_NUMBER = 1e9  # Δ of a query for which Eq. (3) has no value; far above any ratio of real text lengths
CATEGORIES = (1, 2, 3, 4)


def word_counts(texts: Iterable[str]) -> np.ndarray:
    """Eq. (2): the number of words of each text, (N,) int64."""
    # Counting in Python is faster than pyarrow's utf8_split_whitespace (0.7 against 1.2 µs a text) and agrees
    # with str.split on every kind of Unicode white space.
    return np.fromiter((len(text.split()) for text in texts), np.int64)


def pairwise(words_a: np.ndarray, words_b: np.ndarray) -> np.ndarray:
    """Eq. (1): | L₁ − L₂ | / min(L₁, L₂) of each pair, (N,) float64.

    Equal fractions give equal doubles (IEEE division rounds correctly), so that ties are exact.

    Raises:
        DataError: a text without words.
    """
    words_a, words_b = np.asarray(words_a, np.int64), np.asarray(words_b, np.int64)
    shorter = np.minimum(words_a, words_b)
    if shorter.size and shorter.min() < 1:
        raise DataError(
            f"pair {int(np.argmin(shorter))} has a text without words; Eq. (1) divides by it: leave it out"
        )
    return np.abs(words_a - words_b) / shorter


class QueryLists:
    """Eq. (3) and (4) over queries, fed row by row in any number of parts.

    Memory grows with the number of queries, not of rows. The sums run in the order of the rows, so the result
    does not depend on how the rows were cut into parts.
    """

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._sums = np.zeros((2, 0))  # of Δ(Q, d) over irrelevant and relevant d, per query
        self._counts = np.zeros((2, 0), np.int64)

    def add(self, groups: list[str], labels: np.ndarray, divergence: np.ndarray) -> np.ndarray:
        """Add rows: query keys, labels (N,) 0 or 1, Δ(Q, d) (N,) of Eq. (1). Returns query numbers (N,)."""
        number = self._number
        query = np.fromiter((number.setdefault(key, len(number)) for key in groups), np.int64, len(groups))
        grown = len(number) - self._counts.shape[1]
        if grown:
            room = ((0, 0), (0, max(grown, self._counts.shape[1])))
            self._sums, self._counts = np.pad(self._sums, room), np.pad(self._counts, room)
        relevant = np.asarray(labels).astype(np.int64)
        np.add.at(self._sums, (relevant, query), divergence)
        np.add.at(self._counts, (relevant, query), 1)
        return query

    @property
    def counts(self) -> np.ndarray:
        """(2, G): irrelevant and relevant documents of each query, in order of first appearance."""
        return self._counts[:, : len(self._number)]

    def divergence(self) -> np.ndarray:
        """Eq. (3) of each query, (G,); `LARGE_NUMBER` where a mean of Eq. (4) does not exist or is zero."""
        sums, counts = self._sums[:, : len(self._number)], self.counts
        means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)  # Eq. (4)
        smaller = means.min(axis=0, initial=np.inf)
        gap = np.abs(means[1] - means[0])
        out = np.full(sums.shape[1], LARGE_NUMBER)
        return np.divide(gap, smaller, out=out, where=smaller > 0)


def listwise(divergence: np.ndarray, labels: np.ndarray, groups: list[str]) -> np.ndarray:
    """Eq. (3) and (4) for a table in memory: each query's value, repeated for its rows, (N,) float64."""
    lists = QueryLists()
    query = lists.add(groups, labels, divergence)
    return lists.divergence()[query]


@dataclass(frozen=True)
class Quartiles:
    """The three cuts between CAT1, CAT2, CAT3 and CAT4."""

    first: float
    second: float
    third: float

    @classmethod
    def of(cls, values: np.ndarray, counts: np.ndarray | None = None) -> Quartiles:
        """The quartiles, by linear interpolation, of `values`, each taken `counts` times (once without).

        Raises:
            DataError: no values.
        """
        values = np.asarray(values, np.float64)
        counts = np.ones(len(values), np.int64) if counts is None else np.asarray(counts, np.int64)
        if not counts.sum():
            raise DataError("no examples; quartiles need at least one")
        order = np.argsort(values, kind="stable")
        last = np.cumsum(counts[order])  # one past the sorted position of each value's last copy
        cuts = []
        for share in (0.25, 0.5, 0.75):
            place = share * (last[-1] - 1)
            below, above = values[order][
                np.searchsorted(last, [np.floor(place), np.ceil(place)], side="right")
            ]
            cuts.append(float(below + (above - below) * (place - np.floor(place))))
        return cls(*cuts)

    def category(self, divergence: np.ndarray) -> np.ndarray:
        """1 to 4 for each value, (N,) int64: CAT1 up to and including the first quartile, and so on.

        A query whose divergence is `LARGE_NUMBER` is in CAT4 even where the third quartile is as large.
        """
        divergence = np.asarray(divergence, np.float64)
        category = 1 + np.searchsorted(self.as_list(), divergence, side="left")
        return np.where(divergence >= LARGE_NUMBER, 4, category)

    def as_list(self) -> list[float]:
        """First, second and third quartile."""
        return [self.first, self.second, self.third]
