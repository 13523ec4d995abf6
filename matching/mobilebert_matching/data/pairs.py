"""Text pairs from TSV, CSV, JSON Lines and Parquet: every row is in the table or counted with its line."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mobilebert_matching.data.table_files import Block, Problem, Reason, open_table
from mobilebert_runtime.errors import DataError

__all__ = [
    "KNOWN_LABELS",
    "KNOWN_TEXTS",
    "Columns",
    "DataError",
    "PairReader",
    "PairTable",
    "Problem",
    "Problems",
    "Reason",
    "find_columns",
    "read_pairs",
    "read_text_pairs",
    "text_fault",
]

LabelKind = Literal["number", "binary", "text", "none"]
Fault = tuple[Reason, str]
# Column names that public data sets use; the first row whose two names are both in a file is taken.
KNOWN_TEXTS = (
    ("question1", "question2"),
    ("sentence1", "sentence2"),
    ("text_a", "text_b"),
    ("question", "sentence"),
    ("query", "tweet"),
    ("premise", "hypothesis"),
    ("question", "context"),
)
KNOWN_LABELS = ("label", "is_duplicate", "score")
# No matcher reads so many characters; a longer field means that the file is something else.
LONGEST_TEXT = 100_000
NAMED_PER_REASON = 20  # problems kept with their detail; every line number is kept


class Problems:
    """Rows left out of a table: all counted, all by line number, the first few of each reason in detail."""

    def __init__(self) -> None:
        self.lines: dict[Reason, array[int]] = {}
        self.examples: list[Problem] = []

    def __len__(self) -> int:
        return sum(len(lines) for lines in self.lines.values())

    def add(self, problem: Problem) -> None:
        """Count one row."""
        lines = self.lines.setdefault(problem.reason, array("q"))
        lines.append(problem.line)
        if len(lines) <= NAMED_PER_REASON:
            self.examples.append(problem)

    def describe(self) -> list[str]:
        """One line of text per reason: how many rows, and the first of them by line number."""
        out = []
        for reason, lines in self.lines.items():
            named = [p for p in self.examples if p.reason == reason][:5]
            where = ", ".join(f"line {p.line}" + (f" ({p.detail})" if p.detail else "") for p in named)
            advice = "; of Windows-1252: iconv -f WINDOWS-1252 -t UTF-8" if reason == Reason.ENCODING else ""
            out.append(f"{len(lines):,} × {reason}: {where}{' …' if len(lines) > len(named) else ''}{advice}")
        return out

    def to_json(self) -> dict[str, Any]:
        """`{"total", "by_reason": {reason: {"count", "lines"}}, "examples"}`."""
        return {
            "total": len(self),
            "by_reason": {str(r): {"count": len(n), "lines": list(n)} for r, n in self.lines.items()},
            "examples": [
                {"line": p.line, "reason": str(p.reason), "detail": p.detail} for p in self.examples
            ],
        }


@dataclass(frozen=True)
class Columns:
    """Which column of a file plays which part; where the texts' or the label's is None, a known name is."""

    text_a: str | None = None  # first texts; of ranked lists: the query
    text_b: str | None = None  # second texts; of ranked lists: the document
    label: str | None = None
    group: str | None = None  # key of the query, which makes the pairs ranked lists

    def to_json(self) -> dict[str, str]:
        """The columns that are there."""
        return {name: column for name, column in vars(self).items() if column is not None}


ANY_COLUMNS = Columns()


@dataclass(frozen=True)
class PairTable:
    """N text pairs, the usable rows of a file in its order."""

    text_a: list[str]
    text_b: list[str]
    labels: np.ndarray | None  # (N,) int64 when all are whole numbers, else float64; str where asked for
    groups: list[str] | None  # the query each pair belongs to
    lines: np.ndarray  # (N,) int64: line of the file (the header is line 1), or row of a Parquet file from 1
    columns: Columns
    problems: Problems = field(default_factory=Problems)  # of a whole file; of a part see `PairReader`

    def __len__(self) -> int:
        return len(self.text_a)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The texts as (a, b)."""
        return list(zip(self.text_a, self.text_b, strict=True))


class PairReader:
    """A file of text pairs, whole or in parts of a few MiB.

    The ending of the name gives the format: .tsv (no quoting), .csv, .jsonl or .ndjson, .parquet. Text is
    UTF-8; a byte-order mark and CRLF line ends are accepted.

    Attributes:
        columns: those found in the header.
        problems: the rows left out of what has been read so far.
    """

    def __init__(
        self,
        path: str | Path,
        columns: Columns = ANY_COLUMNS,
        *,
        labels: LabelKind = "number",
        positive: str | None = None,
    ) -> None:
        """Open a file and find its columns.

        Args:
            path: the file.
            columns: those asked for; without them the names of `KNOWN_TEXTS` and `KNOWN_LABELS` are tried.
            labels: what the label column holds; a row with another label is left out. "none" looks at no
                label column, so that a file to be scored may hold any.
            positive: makes the labels 1 where the label column holds exactly this text and 0 elsewhere.

        Raises:
            DataError: no file, not a table, or a column is missing.
        """
        self._path, self._label_kind, self._positive = path, labels, positive
        self._table = open_table(path)
        self.columns = find_columns(self._table.columns, path, columns)
        if labels == "none":
            self.columns = replace(self.columns, label=None)
        self.problems = Problems()

    def parts(self, progress: Callable[[int, int], None] = lambda *_: None) -> Iterator[PairTable]:
        """The usable rows, in order; `progress` gets what is read and the whole, in bytes (Parquet: rows).

        Raises:
            DataError: no row is usable, at the end.
        """
        columns = self.columns
        parts = (columns.text_a, columns.text_b, columns.label, columns.group)
        wanted = list(dict.fromkeys(name for name in parts if name is not None))
        usable = 0
        for block in self._table.blocks(wanted):
            part = self._usable(block, dict(zip(wanted, block.values, strict=True)))
            usable += len(part)
            yield part
            progress(block.done, self._table.size)
        if not usable:
            problems = self.problems
            what = f"{self._path}: no usable pair ({'; '.join(problems.describe()) or 'no rows'})"
            if Reason.LABEL in problems.lines:
                advice = "name the positive label", "--positive-label"
                raise DataError(f"{what}; write the labels as 0 and 1").or_with(*advice)
            raise DataError(what)

    def read(self, *, skip_bad: bool = False) -> PairTable:
        """The whole file; `skip_bad` leaves unusable rows out and lists them in `problems`.

        Raises:
            DataError: no row is usable, or (without `skip_bad`) one is not.
        """
        parts = list(self.parts())
        if self.problems and not skip_bad:
            raise DataError(f"{self._path}: {'; '.join(self.problems.describe())}; mend or remove these rows")
        labels = None
        if self.columns.label is not None:
            labels = np.concatenate([part.labels for part in parts if part.labels is not None])
            if self._label_kind != "text" and np.all(labels == np.round(labels)):
                labels = labels.astype(np.int64)
        return PairTable(
            text_a=[text for part in parts for text in part.text_a],
            text_b=[text for part in parts for text in part.text_b],
            labels=labels,
            groups=None if self.columns.group is None else [k for part in parts for k in part.groups or ()],
            lines=np.concatenate([part.lines for part in parts]),
            columns=self.columns,
            problems=self.problems,
        )

    def _usable(self, block: Block, values: dict[str, list[Any]]) -> PairTable:
        """The usable rows of a block; one with several faults is counted once, for the first of them."""
        columns, lines = self.columns, block.lines
        a, b = values[columns.text_a or ""], values[columns.text_b or ""]
        faults: dict[int, Fault] = {}
        for name, texts in ((columns.text_a, a), (columns.text_b, b)):
            for i, text in enumerate(texts):
                if type(text) is not str or not text or text.isspace():
                    faults.setdefault(i, (Reason.TEXT, name or ""))
                elif len(text) > LONGEST_TEXT:
                    faults.setdefault(i, (Reason.LONG, f"{name}: {len(text):,} characters"))
        labels = None
        if columns.label is not None:
            labels, wrong = _labels(values[columns.label], self._label_kind, self._positive)
            for i, fault in wrong.items():
                faults.setdefault(i, fault)
        groups = None
        if columns.group is not None:
            groups = ["" if key is None else str(key).strip() for key in values[columns.group]]
            for i, key in enumerate(groups):
                if not key:
                    faults.setdefault(i, (Reason.GROUP, columns.group))
        found = [*block.bad, *(Problem(lines[i], *fault) for i, fault in faults.items())]
        for problem in sorted(found, key=lambda problem: problem.line):
            self.problems.add(problem)
        numbers = np.array(lines, np.int64)
        if faults:
            kept = [i for i in range(len(lines)) if i not in faults]
            a, b = [a[i] for i in kept], [b[i] for i in kept]
            labels = None if labels is None else labels[kept]
            groups = None if groups is None else [groups[i] for i in kept]
            numbers = numbers[kept]
        return PairTable(a, b, labels, groups, numbers, columns)


def read_pairs(
    path: str | Path, columns: Columns = ANY_COLUMNS, *, labels: LabelKind = "number"
) -> PairTable:
    """A whole file of pairs, every row of it usable; see `PairReader`."""
    return PairReader(path, columns, labels=labels).read()


def read_text_pairs(
    path: str | Path, text_a: str | None = None, text_b: str | None = None
) -> list[tuple[str, str]]:
    """The pairs of a file, whatever its labels; see `PairReader`."""
    return read_pairs(path, Columns(text_a, text_b), labels="none").pairs


def text_fault(text: str) -> str | None:
    """Why a text from a command line would not be a usable field of a file of pairs."""
    if not text or text.isspace():
        return "is empty"
    if len(text) > LONGEST_TEXT:
        return f"has {len(text):,} characters; at most {LONGEST_TEXT:,} make a text"
    # Bytes of the command line that are not UTF-8 arrive as lone surrogates.
    return "is not valid UTF-8" if any("\ud800" <= one <= "\udfff" for one in text) else None


def find_columns(header: Sequence[str], path: str | Path, asked: Columns) -> Columns:
    """Resolve the columns asked for against a header.

    Raises:
        DataError: a column is missing, named twice, or no known pair of text columns is there.
    """
    known_texts = () if asked.text_a else (name for names in KNOWN_TEXTS for name in names)
    for name in (*known_texts, *(() if asked.label else KNOWN_LABELS)):
        if header.count(name) > 1:
            raise DataError(f"{path}: more than one column {name!r}; rename or delete all but one")
    has = f"the file has {', '.join(header)}" if len(header) <= 30 else f"the file has {len(header)} columns"
    for name, flag in (
        (asked.text_a, "--text-a"),
        (asked.text_b, "--text-b"),
        (asked.label, "--label"),
        (asked.group, "--group"),
    ):
        if name and header.count(name) != 1:
            fault = "no column" if name not in header else "more than one column"
            raise DataError(f"{path}: {fault} {name!r} for {flag}; {has}")
    text_a, text_b = asked.text_a, asked.text_b
    if bool(text_a) != bool(text_b):
        raise DataError(f"{path}: only one text column is named; name both; {has}")
    if not text_a:
        known = [pair for pair in KNOWN_TEXTS if header.count(pair[0]) == header.count(pair[1]) == 1]
        if not known:
            known_names = " and ".join(KNOWN_TEXTS[2])
            error = DataError(
                f"{path}: no known text columns, such as {known_names}; {has}; rename two of them"
            )
            raise error.or_with("name them", "--text-a", "--text-b")
        text_a, text_b = known[0]
    if text_a == text_b:
        raise DataError(f"{path}: column {text_a!r} is asked for as both texts; name two columns; {has}")
    label = asked.label or next((name for name in KNOWN_LABELS if header.count(name) == 1), None)
    return Columns(text_a, text_b, label, asked.group or None)


def _labels(values: list[Any], kind: LabelKind, positive: str | None) -> tuple[np.ndarray, dict[int, Fault]]:
    """Labels, float64 (NaN where there is none) or text, and the faults by position."""
    if kind == "text" or positive is not None:
        names = np.array(["" if value is None else str(value).strip() for value in values], object)
        faults = {int(i): (Reason.LABEL, "empty") for i in np.flatnonzero(names == "")}
        return (names if positive is None else (names == positive).astype(np.float64)), faults
    try:
        labels = np.array(values, np.float64)
    except (ValueError, TypeError, OverflowError):
        labels = np.array([_number(value) for value in values], np.float64)
    faults = {int(i): (Reason.LABEL, _shown(values[i])) for i in np.flatnonzero(~np.isfinite(labels))}
    if kind == "binary":
        off = np.isfinite(labels) & (labels != 0) & (labels != 1)
        faults |= {int(i): (Reason.NOT_BINARY, _shown(values[i])) for i in np.flatnonzero(off)}
    return labels, faults


def _number(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return math.nan


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…'"
