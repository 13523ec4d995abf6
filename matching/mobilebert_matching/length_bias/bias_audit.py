"""Audit a labelled file of pairs for length-divergence bias, in one pass and in bounded memory.

**The bias score** is Somers' D of the category with respect to the label, D = 2·AUC − 1 where AUC is the
chance that a random negative lies in a higher category than a random positive, ties counting one half: what
ranking by the category alone achieves. D > 0 is the paper's direction (positives thin out as the divergence
grows), 0 is no cue, ±1 gives the label away. It was preferred to the log odds ratio of CAT1 against CAT4
because it uses all four categories, is bounded, needs no correction for empty cells, and does not depend on
the share of positives.

Its 95% interval comes from the influence of each sampled unit on AUC (DeLong et al. 1988; for clustered data
Obuchowski 1997), with Student's t of as many degrees of freedom as the rarer label has units, less one, so
that a handful of positives gives a wide interval and a single one the whole scale. The unit is the pair, or
with the listwise definition the query, because the documents of a query share their category. A signed
score cannot see a bias that rises and falls again; the χ² test of equal ratios beside it does (pairs only,
since the rows of a query are not independent).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mobilebert_matching.data.pairs import ANY_COLUMNS, Columns, PairReader, PairTable, Problems
from mobilebert_matching.length_bias.length_divergence import (
    CATEGORIES,
    LARGE_NUMBER,
    Quartiles,
    QueryLists,
    pairwise,
    word_counts,
)
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import parse_json

Mode = Literal["pairwise", "listwise"]
MERGE_AT = 500_000  # distinct divergences held apart before they are merged


@dataclass(frozen=True)
class Category:
    """One bar group of Figure 1."""

    category: int  # 1 is the lowest length divergence
    positive: int
    negative: int

    @property
    def ratio(self) -> float | None:
        """Positives per negative; None without negatives."""
        return self.positive / self.negative if self.negative else None


@dataclass(frozen=True)
class BiasScore:
    """Somers' D with its 95% interval."""

    value: float
    low: float
    high: float
    unit: Literal["pair", "query"]
    units: int

    @property
    def biased(self) -> bool:
        """The interval does not contain zero."""
        return not self.low <= 0 <= self.high


@dataclass(frozen=True)
class Audit:
    """What a file looks like from the side of its text lengths."""

    path: str
    mode: Mode
    columns: Columns
    quartiles: Quartiles
    quartiles_from: str  # the file they were taken from: the audited one, or a training set
    categories: tuple[Category, ...]
    score: BiasScore
    fine_score: (
        BiasScore  # over distinct divergences instead of categories: includes the cue inside a category
    )
    homogeneity_p: float | None  # χ² test that all categories have one ratio; None when listwise
    queries: int | None  # listwise only
    undefined_queries: int | None  # of them, those set to the large number (in CAT4)
    problems: Problems

    @property
    def positive(self) -> int:
        """Positive pairs."""
        return sum(category.positive for category in self.categories)

    @property
    def negative(self) -> int:
        """Negative pairs."""
        return sum(category.negative for category in self.categories)

    def to_json(self) -> dict[str, Any]:
        """The audit as plain JSON."""
        return {
            "file": self.path,
            "mode": self.mode,
            "columns": self.columns.to_json(),
            "pairs": self.positive + self.negative,
            "positive": self.positive,
            "negative": self.negative,
            "ratio": self.positive / self.negative,
            "queries": self.queries,
            "undefined_queries": self.undefined_queries,
            "quartiles": self.quartiles.as_list(),
            "quartiles_from": self.quartiles_from,
            "categories": [
                {"category": c.category, "positive": c.positive, "negative": c.negative, "ratio": c.ratio}
                for c in self.categories
            ],
            "bias_score": _score_json(self.score),
            "fine_bias_score": _score_json(self.fine_score),
            "homogeneity_p": self.homogeneity_p,
            "problems": self.problems.to_json(),
        }


def audit(
    path: str | Path,
    columns: Columns = ANY_COLUMNS,
    *,
    positive: str | None = None,
    quartiles_from: str | Path | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Audit:
    """Count positives and negatives per category and score the bias.

    Memory grows with the number of distinct divergences (pairwise) or queries (listwise), not of rows.

    Args:
        path: the file; see `mobilebert_matching.data.pairs.PairReader` for formats.
        columns: with one of the query key the listwise definition is used; labels are 0 or 1.
        positive: the label that counts as positive, all others as negative.
        quartiles_from: take the quartiles from this file (a training set, same columns), or from the JSON of
            an earlier audit or debias; without it, from the audited file itself.
        progress: called with what is read and the whole, in bytes (Parquet: rows).

    Raises:
        DataError: the file cannot be read as labelled pairs; or no positive or no negative pair.
    """
    reader = PairReader(path, columns, labels="binary", positive=positive)
    lists = columns.group is not None
    found = _Lists() if lists else _Histogram()
    for part in reader.parts(progress):
        found.add(part, divergence_of(part, path))
    values, counts = found.levels()
    if not counts.sum(axis=1).all():
        missing = "positive" if counts[0].sum() else "negative"
        left_out = "".join(f"; left out {line}" for line in reader.problems.describe())
        raise DataError(
            f"{path}: no {missing} pair among {counts.sum():,}, so there is no ratio to audit{left_out}"
        )
    mode: Mode = "listwise" if lists else "pairwise"
    if quartiles_from is None:
        quartiles, source = Quartiles.of(values, found.examples(counts)), str(path)
    else:
        quartiles = load_quartiles(quartiles_from, mode, columns, positive)
        source = str(quartiles_from)
    category = quartiles.category(values)
    table = np.array([np.bincount(category, row, 5)[1:] for row in counts]).astype(np.int64)  # (2, 4)
    return Audit(
        path=str(path),
        mode=mode,
        columns=reader.columns,
        quartiles=quartiles,
        quartiles_from=source,
        categories=tuple(Category(c, int(table[1, c - 1]), int(table[0, c - 1])) for c in CATEGORIES),
        score=somers_d(category, counts, clustered=lists),
        fine_score=somers_d(values, counts, clustered=lists),
        homogeneity_p=None if lists else _homogeneity(table),
        queries=len(values) if lists else None,
        undefined_queries=int((values >= LARGE_NUMBER).sum()) if lists else None,
        problems=reader.problems,
    )


def load_quartiles(
    path: str | Path, mode: Mode, columns: Columns = ANY_COLUMNS, positive: str | None = None
) -> Quartiles:
    """The quartiles an earlier audit or debias recorded as JSON, or those of a file of pairs.

    Raises:
        DataError: neither of the two, or quartiles of the other definition or out of order.
    """
    path = Path(path)
    if path.suffix.lower() != ".json":
        return audit(path, columns, positive=positive).quartiles
    try:
        report = parse_json(path.read_text(encoding="utf-8"))
        quartiles = Quartiles(*(float(cut) for cut in report["quartiles"]))
        recorded = report["mode"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}: no quartiles in it ({error}); give the JSON of an audit or a debias"
        ) from error
    if not 0 <= quartiles.first <= quartiles.second <= quartiles.third:
        raise DataError(
            f"{path}: quartiles {quartiles.as_list()} are not in order; give the JSON of an audit or a debias"
        )
    if recorded != mode:
        raise DataError(f"{path}: holds {recorded} quartiles, but this is a {mode} audit")
    return quartiles


def divergence_of(part: PairTable, path: str | Path) -> np.ndarray:
    """Eq. (1) of every pair, (N,).

    Raises:
        DataError: the file has no label column, so that there is nothing to audit.
    """
    if part.labels is None:
        raise DataError(f"{path}: no known label column, such as label; rename it").or_with(
            "name it", "--label"
        )
    return pairwise(word_counts(part.text_a), word_counts(part.text_b))


def somers_d(level: np.ndarray, counts: np.ndarray, *, clustered: bool) -> BiasScore:
    """Somers' D of an ordered level with respect to the label, with its 95% interval.

    Args:
        level: (K,) category or divergence of each unit.
        counts: (2, K) negatives and positives of each unit.
        clustered: each unit is one cluster (a query); else each of its counts is an independent pair.
    """
    from scipy.special import stdtrit

    _, place = np.unique(level, return_inverse=True)
    negative, positive = (np.bincount(place, row) for row in counts)  # per distinct level
    negatives, positives = negative.sum(), positive.sum()
    # Placement values: the share of negatives above a positive, and of positives below a negative.
    above = (negatives - np.cumsum(negative) + 0.5 * negative) / negatives
    below = (np.cumsum(positive) - 0.5 * positive) / positives
    area = float(positive @ above / positives)
    pull = np.stack([(below - area) / negatives, (above - area) / positives])[:, place]  # of one pair, (2, K)
    if clustered:
        units, smaller = counts.shape[1], int((counts > 0).sum(axis=1).min())
        variance = ((counts * pull).sum(axis=0) ** 2).sum() * units / max(units - 1, 1)
    else:
        units, smaller = int(counts.sum()), int(min(positives, negatives))
        totals = counts.sum(axis=1)
        variance = ((counts * pull**2).sum(axis=1) * totals / np.maximum(totals - 1, 1)).sum()
    score, low, high = 2 * area - 1, -1.0, 1.0
    if smaller > 1:  # a variance cannot be estimated from one
        reach = 2 * float(stdtrit(smaller - 1, 0.975) * np.sqrt(variance))
        low, high = max(score - reach, -1.0), min(score + reach, 1.0)
    return BiasScore(score, low, high, "query" if clustered else "pair", units)


class _Histogram:
    """Negatives and positives per distinct pairwise divergence."""

    def __init__(self) -> None:
        self._values = np.zeros(0)
        self._counts = np.zeros((2, 0), np.int64)
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, part: PairTable, divergence: np.ndarray) -> None:
        self._waiting.append(_counted(divergence, _one_hot(part)))
        if sum(len(values) for values, _ in self._waiting) > MERGE_AT:
            self.levels()

    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Distinct divergences (K,) and their counts (2, K)."""
        parts = [(self._values, self._counts), *self._waiting]
        self._values, self._counts = _counted(
            *(np.concatenate(side, axis=-1) for side in zip(*parts, strict=True))
        )
        self._waiting = []
        return self._values, self._counts

    @staticmethod
    def examples(counts: np.ndarray) -> np.ndarray:
        """How many examples stand behind each level: its pairs."""
        return counts.sum(axis=0)


class _Lists:
    """Irrelevant and relevant documents per query, with the query's listwise divergence."""

    def __init__(self) -> None:
        self._lists = QueryLists()

    def add(self, part: PairTable, divergence: np.ndarray) -> None:
        self._lists.add(part.groups or [], part.labels, divergence)  # type: ignore[arg-type]

    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Divergence (G,) and counts (2, G) of each query."""
        return self._lists.divergence(), self._lists.counts

    @staticmethod
    def examples(counts: np.ndarray) -> np.ndarray:
        """How many examples stand behind each level: one query."""
        return np.ones(counts.shape[1], np.int64)


def _one_hot(part: PairTable) -> np.ndarray:
    labels = np.asarray(part.labels)
    return np.stack([labels == 0, labels == 1]).astype(np.int64)


def _counted(values: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    distinct, place = np.unique(values, return_inverse=True)
    return distinct, np.array([np.bincount(place, row, len(distinct)) for row in counts]).astype(np.int64)


def _homogeneity(table: np.ndarray) -> float | None:
    from scipy.stats import chi2_contingency

    filled = table[:, table.sum(axis=0) > 0]
    return float(chi2_contingency(filled, correction=False).pvalue) if filled.shape[1] > 1 else None


def _score_json(score: BiasScore) -> dict[str, Any]:
    return {
        "name": "Somers' D",
        "value": score.value,
        "interval": [score.low, score.high],
        "confidence": 0.95,
        "contains_zero": not score.biased,
        "unit": score.unit,
        "units": score.units,
    }
