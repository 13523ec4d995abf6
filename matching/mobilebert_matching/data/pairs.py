"""Text pairs from TSV, CSV, JSON Lines and Parquet: every row is in the table or counted with its line."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mobilebert_matching.data.table_files import Problem, Reason, open_table
from mobilebert_runtime.errors import DataError

__all__ = [
    "KNOWN_LABELS",
    "KNOWN_TEXTS",
    "Columns",
    "DataError",
    "PairTable",
    "Problem",
    "Problems",
    "Reason",
    "find_columns",
    "read_pairs",
    "read_texts",
    "scan_pairs",
    "text_fault",
]

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

    def merge(self, other: Problems) -> None:
        """Count the rows of a later part of the same file."""
        for reason, lines in other.lines.items():
            room = NAMED_PER_REASON - len(self.lines.get(reason, ()))
            self.examples += [p for p in other.examples if p.reason == reason][: max(room, 0)]
            self.lines.setdefault(reason, array("q")).extend(lines)

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
    """Which column of a file plays which part."""

    text_a: str
    text_b: str
    label: str | None = None
    group: str | None = None


@dataclass(frozen=True)
class PairTable:
    """N text pairs, the usable rows of a file in its order."""

    text_a: list[str]
    text_b: list[str]
    labels: np.ndarray | None  # (N,) int64 when all are whole numbers, else float64
    groups: list[str] | None  # the query each pair belongs to
    lines: np.ndarray  # (N,) int64: line of the file (the header is line 1), or row of a Parquet file from 1
    columns: Columns
    problems: Problems = field(default_factory=Problems)

    def __len__(self) -> int:
        return len(self.text_a)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The texts as (a, b)."""
        return list(zip(self.text_a, self.text_b, strict=True))


def read_pairs(
    path: str | Path,
    text_a: str | None = None,
    text_b: str | None = None,
    label: str | None = None,
    group: str | None = None,
    *,
    positive: str | None = None,
    with_labels: bool = True,
    skip_bad: bool = False,
) -> PairTable:
    """Read a whole file of pairs, every row of it.

    The ending of the name gives the format: .tsv (no quoting), .csv, .jsonl or .ndjson, .parquet. Text is
    UTF-8; a byte-order mark and CRLF line ends are accepted.

    Args:
        path: the file.
        text_a: column of the first texts; without it the names of `KNOWN_TEXTS` are tried.
        text_b: column of the second texts.
        label: column of the labels; without it those of `KNOWN_LABELS` are tried and `labels` may be None.
        group: column of the query key, for ranked lists.
        positive: makes the labels 1 where the label column holds exactly this text and 0 elsewhere.
        with_labels: False looks at no label column, so that a file to be scored may hold any.
        skip_bad: leave unusable rows out and list them in `problems`.

    Raises:
        DataError: no file, not a table, a column is missing, no row is usable, or (without `skip_bad`)
            one is not.
    """
    parts = list(scan_pairs(path, text_a, text_b, label, group, positive=positive, with_labels=with_labels))
    problems = Problems()
    for part in parts:
        problems.merge(part.problems)
    if problems and not skip_bad:
        raise DataError(f"{path}: {'; '.join(problems.describe())}; mend or remove these rows")
    columns = parts[0].columns
    labels = None
    if columns.label is not None:
        labels = np.concatenate([part.labels for part in parts if part.labels is not None])
        if np.all(labels == np.round(labels)):
            labels = labels.astype(np.int64)
    return PairTable(
        text_a=[text for part in parts for text in part.text_a],
        text_b=[text for part in parts for text in part.text_b],
        labels=labels,
        groups=None if columns.group is None else [key for part in parts for key in part.groups or ()],
        lines=np.concatenate([part.lines for part in parts]),
        columns=columns,
        problems=problems,
    )


def read_texts(
    path: str | Path, text_a: str | None = None, text_b: str | None = None
) -> list[tuple[str, str]]:
    """The pairs of a file, whatever its labels; arguments and errors as in `read_pairs`."""
    return read_pairs(path, text_a, text_b, with_labels=False).pairs


def text_fault(text: str) -> str | None:
    """Why a text from a command line would not be a usable field of a file of pairs."""
    if not text or text.isspace():
        return "is empty"
    if len(text) > LONGEST_TEXT:
        return f"has {len(text):,} characters; at most {LONGEST_TEXT:,} make a text"
    # Bytes of the command line that are not UTF-8 arrive as lone surrogates.
    return "is not valid UTF-8" if any("\ud800" <= one <= "\udfff" for one in text) else None


def scan_pairs(
    path: str | Path,
    text_a: str | None = None,
    text_b: str | None = None,
    label: str | None = None,
    group: str | None = None,
    *,
    positive: str | None = None,
    with_labels: bool = True,
    binary: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[PairTable]:
    """Read a file of any size in parts of a few MiB; each part lists its own problems.

    Args:
        path: the file.
        text_a: this and the other columns as in `read_pairs`.
        text_b: column of the second texts.
        label: column of the labels.
        group: column of the query key.
        positive: the label that counts as 1, as in `read_pairs`.
        with_labels: False looks at no label column.
        binary: leave out rows whose label is neither 0 nor 1.
        progress: called after each part with what is read and the whole, in bytes (Parquet: rows).

    Raises:
        DataError: as `read_pairs`; "no usable row" comes at the end.
    """
    table = open_table(path)
    columns = find_columns(table.columns, path, Columns(text_a or "", text_b or "", label, group))
    if not with_labels:
        columns = replace(columns, label=None)
    parts = (columns.text_a, columns.text_b, columns.label, columns.group)
    wanted = list(dict.fromkeys(name for name in parts if name is not None))
    usable = 0
    problems = Problems()
    for block in table.blocks(wanted):
        values = dict(zip(wanted, block.values, strict=True))
        part = _part(block.lines, values, columns, block.bad, positive=positive, binary=binary)
        usable += len(part)
        if not usable:
            problems.merge(part.problems)
        yield part
        if progress is not None:
            progress(block.done, table.size)
    if not usable:
        what = f"{path}: no usable pair ({'; '.join(problems.describe()) or 'no rows'})"
        if Reason.LABEL in problems.lines:
            advice = "name the positive label", "--positive-label"
            raise DataError(f"{what}; write the labels as 0 and 1").or_with(*advice)
        raise DataError(what)


def find_columns(header: Sequence[str], path: str | Path, asked: Columns) -> Columns:
    """Resolve the columns asked for ("" and None: find one) against a header.

    Raises:
        DataError: a column is missing, named twice, or no known pair of text columns is there.
    """
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


def _part(
    lines: list[int],
    values: dict[str, list[Any]],
    columns: Columns,
    bad: list[Problem],
    *,
    positive: str | None,
    binary: bool,
) -> PairTable:
    """The usable rows of one block; a row with several faults is counted once, for the first of them."""
    faults: dict[int, tuple[Reason, str]] = {}
    for name in (columns.text_a, columns.text_b):
        for i, text in enumerate(values[name]):
            if type(text) is not str or not text or text.isspace():
                faults.setdefault(i, (Reason.TEXT, name))
            elif len(text) > LONGEST_TEXT:
                faults.setdefault(i, (Reason.LONG, f"{name}: {len(text):,} characters"))
    labels = None
    if columns.label is not None:
        labels, wrong = _labels(values[columns.label], positive, binary)
        for i, fault in wrong.items():
            faults.setdefault(i, fault)
    groups = None
    if columns.group is not None:
        groups = ["" if key is None else str(key).strip() for key in values[columns.group]]
        for i, key in enumerate(groups):
            if not key:
                faults.setdefault(i, (Reason.GROUP, columns.group))
    a, b = values[columns.text_a], values[columns.text_b]
    numbers = np.array(lines, np.int64)
    problems = Problems()
    found = [*bad, *(Problem(lines[i], *fault) for i, fault in faults.items())]
    for problem in sorted(found, key=lambda problem: problem.line):
        problems.add(problem)
    if faults:
        kept = [i for i in range(len(lines)) if i not in faults]
        a, b = [a[i] for i in kept], [b[i] for i in kept]
        labels = None if labels is None else labels[kept]
        groups = None if groups is None else [groups[i] for i in kept]
        numbers = numbers[kept]
    return PairTable(a, b, labels, groups, numbers, columns, problems)


def _labels(
    values: list[Any], positive: str | None, binary: bool
) -> tuple[np.ndarray, dict[int, tuple[Reason, str]]]:
    """Labels as float64 (NaN where there is none) and the faults by position."""
    if positive is not None:
        names = ["" if value is None else str(value).strip() for value in values]
        return np.array([name == positive for name in names], np.float64), {
            i: (Reason.LABEL, "empty") for i, name in enumerate(names) if not name
        }
    try:
        labels = np.array(values, np.float64)
    except (ValueError, TypeError):
        labels = np.array([_number(value) for value in values], np.float64)
    faults = {int(i): (Reason.LABEL, _shown(values[i])) for i in np.flatnonzero(~np.isfinite(labels))}
    if binary:
        off = np.isfinite(labels) & (labels != 0) & (labels != 1)
        faults |= {int(i): (Reason.NOT_BINARY, _shown(values[i])) for i in np.flatnonzero(off)}
    return labels, faults


def _number(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, TypeError):
        return math.nan


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…'"
