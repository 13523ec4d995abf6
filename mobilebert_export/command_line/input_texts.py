"""Reads the inputs of `mobilebert run`: texts or pairs from arguments, a table, or standard input."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from mobilebert_matching.data.pairs import read_text_pairs, text_fault
from mobilebert_matching.data.table_files import Problem, Reason, open_table
from mobilebert_runtime.errors import DataError, OptionError

Input = str | tuple[str, str]
# Column names of single texts; the first that a file has is taken.
KNOWN_TEXTS = ("text", "sentence", "question", "content", "query", "tweet")


def read_correction(words: Path | None, *, no_spelling: bool) -> dict[str, Any]:
    """What --words and --no-spelling change of an artefact's correction, as arguments of `load`.

    Raises:
        OptionError: both are given.
        DataError: the file is empty, or is not UTF-8.
    """
    if words is not None and no_spelling:
        raise OptionError("--words: says what is not corrected, and --no-spelling turns correction off")
    if words is None:
        return {"spelling": False} if no_spelling else {}
    return {"words": [str(line) for line in _lines_of(words.read_bytes(), 1, str(words))]}


def given_inputs(words: Sequence[str], texts: int) -> list[Input]:
    """Arguments as inputs of one text or two.

    Raises:
        OptionError: there are none, or an odd number of texts for pairs.
    """
    if not words or len(words) % texts:
        needed = "a text" if texts == 1 else "two texts for each pair"
        raise OptionError(f"{len(words)} texts; this artefact reads {needed}; or give a file with --file")
    return list(words) if texts == 1 else list(zip(words[::2], words[1::2], strict=True))


def read_file(path: Path, texts: int, text_a: str | None, text_b: str | None) -> list[Input]:
    """The rows of a table or the lines of a .txt file; "-" is standard input.

    Raises:
        DataError: a column or a text is missing, or a row is damaged.
    """
    if str(path) == "-":
        return _lines_of(standard_input().read(), texts, "standard input")
    if path.suffix.lower() == ".txt":
        return _lines_of(path.read_bytes(), texts, str(path))
    if texts == 2:
        return list(read_text_pairs(path, text_a, text_b))
    table = open_table(path)
    name = text_a or next((one for one in KNOWN_TEXTS if one in table.columns), None)
    if name is None and len(table.columns) == 1:
        name = table.columns[0]
    has = ", ".join(table.columns[:30])
    if name is None:
        known = f"no known text column, such as {KNOWN_TEXTS[0]}"
        raise DataError(f"{path}: {known}; name it with --text-a; the file has {has}")
    if table.columns.count(name) != 1:
        fault = "more than one column" if name in table.columns else "no column"
        raise DataError(f"{path}: {fault} {name!r} for --text-a; the file has {has}")
    found: list[Input] = []
    for block in table.blocks([name]):
        bad = block.bad or [
            Problem(line, Reason.TEXT, wrong)
            for line, text in zip(block.lines, block.values[0], strict=True)
            if (wrong := text_fault(text) if isinstance(text, str) else f"{name} is no text")
        ]
        if bad:
            first = bad[0]
            detail = f" ({first.detail})" if first.detail else ""
            raise DataError(f"{path}: line {first.line}: {first.reason}{detail}; fix or remove this row")
        found += block.values[0]
    if not found:
        raise DataError(f"{path}: no row below the header; give at least one text")
    return found


def standard_input() -> BinaryIO:
    """The bytes of standard input; raises `DataError` where it is closed."""
    if sys.stdin is None:
        raise DataError("standard input: is closed; give a file, or texts")
    return sys.stdin.buffer


def _lines_of(raw: bytes, texts: int, source: str) -> list[Input]:
    """A text on each line, or two with a tab between them; blank lines at the end are none."""
    try:
        lines = raw.decode("utf-8-sig").rstrip("\r\n").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{source}: not valid UTF-8 ({error.reason})") from None
    if lines == [""]:
        raise DataError(f"{source}: is empty; give a text on each line")
    found: list[Input] = []
    for number, line in enumerate(lines, 1):
        parts = line.removesuffix("\r").split("\t") if texts == 2 else [line.removesuffix("\r")]
        if len(parts) != texts:
            raise DataError(f"{source}: line {number} has {len(parts)} fields, not two texts and a tab")
        for part in parts:
            if fault := text_fault(part):
                raise DataError(f"{source}: line {number}: text {fault}")
        found.append(parts[0] if texts == 1 else (parts[0], parts[1]))
    return found
