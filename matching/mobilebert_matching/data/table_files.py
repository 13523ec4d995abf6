"""Rows of a TSV, CSV, JSON Lines or Parquet file, a block at a time, each with its line number."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import parse_json

# An empty last column of this name says that quotation marks are text: `_refuse_quoted` takes nothing amiss.
MARKS_ARE_TEXT = '"'
BLOCK_BYTES = 4 << 20  # what is held in memory at once, as raw text
BLOCK_ROWS = 20_000
SHEETS = (".xlsx", ".xls", ".ods")
# What separates the fields of a .csv file: the first of these that its header holds; Excel writes semicolons
# where a comma is the decimal sign.
DELIMITERS = ",;\t"
MAX_LINE_BYTES = 64 << 20  # no text pair is longer; keeps memory bounded on a file without newlines


class Reason(StrEnum):
    """Why a row was left out."""

    ENCODING = "not valid UTF-8"
    NUL = "a NUL byte"
    BLANK = "blank line"
    RAGGED = "wrong number of fields"
    SYNTAX = "malformed record"
    TEXT = "text is empty or missing"
    LONG = "text is too long to be one"
    LABEL = "label is not a number"
    NOT_BINARY = "label is neither 0 nor 1"
    GROUP = "group is empty or missing"


@dataclass(frozen=True)
class Problem:
    """One row left out."""

    line: int  # first line of the file is 1; in Parquet, which has no lines, the row
    reason: Reason
    detail: str


@dataclass(frozen=True)
class Block:
    """Some consecutive rows of a file."""

    lines: list[int]  # N line numbers
    values: list[list[Any]]  # one list of N values per wanted column
    bad: list[Problem]
    done: int  # how far the file has been read, in the unit of `TableFile.size`


class TableFile(Protocol):
    """What each format offers."""

    columns: list[str]
    size: int  # bytes; Parquet: rows

    def blocks(self, wanted: Sequence[str]) -> Iterator[Block]:
        """All rows, in order, reduced to the wanted columns."""

    def copy(self, keep: np.ndarray, out: Path) -> None:
        """Write the rows of the (ascending) line numbers `keep` to `out`, byte for byte, header included."""


def open_table(path: str | Path) -> TableFile:
    """The reader for a file, chosen by the ending of its name; the header is read and checked now.

    Raises:
        DataError: nothing there, a directory, empty, an unknown ending, or not a table of that kind.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path}: a directory; give one {' '.join(FORMATS)} file")
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    reader = FORMATS.get(path.suffix.lower())
    if reader is None:
        advice = "; save the sheet as CSV UTF-8" if path.suffix.lower() in SHEETS else ""
        raise DataError(
            f"{path}: unknown ending {path.suffix!r}; expected one of {' '.join(FORMATS)}{advice}"
        )
    try:
        if path.stat().st_size == 0:
            raise DataError(f"{path}: the file is empty; expected a header and at least one row")
        return reader(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error


class TsvFile:
    """Tab-separated, a header line, one row a line, no quoting: a quotation mark is an ordinary character."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size
        self.columns = _header_text(path).split("\t")
        _refuse_quoted(path)

    def blocks(self, wanted: Sequence[str]) -> Iterator[Block]:
        """All rows, in order, reduced to the wanted columns."""
        places = [self.columns.index(name) for name in wanted]
        width = len(self.columns)
        for first, raw, done in _line_blocks(self.path):
            lines, texts, bad = _decoded_lines(raw, first)
            if first == 1:
                lines, texts = lines[1:], texts[1:]
            rows = [text.split("\t") for text in texts]
            if any(len(row) != width for row in rows):
                bad += [
                    Problem(line, *_tsv_fault(row, width))
                    for line, row in zip(lines, rows, strict=True)
                    if len(row) != width
                ]
                lines = [line for line, row in zip(lines, rows, strict=True) if len(row) == width]
                rows = [row for row in rows if len(row) == width]
            bad.sort(key=lambda problem: problem.line)
            yield Block(lines, [[row[place] for row in rows] for place in places], bad, done)

    def copy(self, keep: np.ndarray, out: Path) -> None:
        """Write the rows of the line numbers `keep` to `out`, byte for byte, header included."""
        _copy_lines(self.path, np.union1d(keep, [1]), out)


class CsvFile:
    """A header and fields with commas between them, or others of `DELIMITERS`, quoted as in RFC 4180."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size
        # Not a text file at all: say so before the CSV parser trips over it.
        first = _header_text(path)
        self._delimiter = next((one for one in DELIMITERS if one in first), DELIMITERS[0])
        _, _, header = next(self._records())
        if not isinstance(header, list):
            raise DataError(f"{path}: the header is no CSV line ({header.detail}); expected column names")
        self.columns = header

    def blocks(self, wanted: Sequence[str]) -> Iterator[Block]:
        """All rows, in order, reduced to the wanted columns."""
        places = [self.columns.index(name) for name in wanted]
        lines: list[int] = []
        rows: list[list[str]] = []
        bad: list[Problem] = []
        done = pending = 0
        for line, raw, row in self._records():
            done += len(raw)
            pending += len(raw)
            if not isinstance(row, list):
                bad.append(row)
            elif line > 1:
                lines.append(line)
                rows.append(row)
            if len(rows) + len(bad) == BLOCK_ROWS or pending > BLOCK_BYTES:
                yield Block(lines, [[row[place] for row in rows] for place in places], bad, done)
                lines, rows, bad, pending = [], [], [], 0
        yield Block(lines, [[row[place] for row in rows] for place in places], bad, done)

    def copy(self, keep: np.ndarray, out: Path) -> None:
        """Write the rows of the line numbers `keep` to `out`, byte for byte, header included."""
        wanted = {1, *keep.tolist()}
        with out.open("wb") as target:
            target.writelines(raw for line, raw, _ in self._records() if line in wanted)

    def _records(self) -> Iterator[tuple[int, bytes, list[str] | Problem]]:
        """First line number, raw bytes, and the fields or the problem, of every record, header included."""
        csv.field_size_limit(MAX_LINE_BYTES)  # the parser's own limit of 128 KiB is global to the process
        taken: list[bytes] = []

        def source() -> Iterator[str]:
            for first, raw, _ in _line_blocks(self.path):
                for offset, line in enumerate(_split(raw)):
                    taken.append(line)
                    body = line.removeprefix(b"\xef\xbb\xbf") if first + offset == 1 else line
                    # Bytes that are not UTF-8 pass the parser as lone surrogates; `_csv_fault` names them.
                    yield body.decode("utf-8", "surrogateescape")

        reader = csv.reader(source(), strict=True, delimiter=self._delimiter)
        width = 0
        while True:
            first_line = reader.line_num + 1
            taken.clear()
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                if "end of data" in str(error) or "field limit" in str(error):
                    raise DataError(
                        f"{self.path}: line {first_line}: a quotation mark opens a field and none closes it; "
                        "close it, or save the file as .tsv where quotation marks are ordinary characters"
                    ) from error
                yield first_line, b"".join(taken), Problem(first_line, Reason.SYNTAX, str(error))
                continue
            raw = b"".join(taken)
            width = width or len(fields)
            yield first_line, raw, _csv_fault(first_line, raw, fields, width) or fields


class JsonLinesFile:
    """One JSON object a line; the columns are the names in the first object."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size
        try:
            first = parse_json(_header_text(path))
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}: line 1 is not JSON ({error}); expected an object a line") from error
        if not isinstance(first, dict):
            raise DataError(f"{path}: line 1 is a JSON {type(first).__name__}; expected an object a line")
        self.columns = list(first)

    def blocks(self, wanted: Sequence[str]) -> Iterator[Block]:
        """All rows, in order, reduced to the wanted columns; a name missing in one object is a null."""
        for first, raw, done in _line_blocks(self.path):
            lines, texts, bad = _decoded_lines(raw, first)
            kept: list[int] = []
            rows: list[dict[str, Any]] = []
            for line, text in zip(lines, texts, strict=True):
                row = _json_object(line, text)
                if isinstance(row, Problem):
                    bad.append(row)
                else:
                    kept.append(line)
                    rows.append(row)
            bad.sort(key=lambda problem: problem.line)
            yield Block(kept, [[row.get(name) for row in rows] for name in wanted], bad, done)

    def copy(self, keep: np.ndarray, out: Path) -> None:
        """Write the rows of the line numbers `keep` to `out`, byte for byte."""
        _copy_lines(self.path, keep, out)


class ParquetFile:
    """An Apache Parquet file; a row's number (from 1) stands for its line."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path = path
        try:
            self._file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError) as error:
            raise DataError(
                f"{path}: not a Parquet file ({_line_of(error)}); check how it was written"
            ) from error
        self.columns = list(self._file.schema_arrow.names)
        self.size = self._file.metadata.num_rows

    def blocks(self, wanted: Sequence[str]) -> Iterator[Block]:
        """All rows, in order, reduced to the wanted columns."""
        import pyarrow as pa

        done = 0
        try:
            for batch in self._file.iter_batches(batch_size=BLOCK_ROWS, columns=list(wanted)):
                lines = list(range(done + 1, done + 1 + len(batch)))
                done += len(batch)
                yield _arrow_block(lines, [batch.column(name) for name in wanted], done)
        except (pa.ArrowException, OSError) as error:
            raise DataError(
                f"{self.path}: row {done + 1}: cannot be read ({_line_of(error)}); write it again"
            ) from error

    def copy(self, keep: np.ndarray, out: Path) -> None:
        """Write the rows of the row numbers `keep` to `out` under the same schema."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        done = 0
        with pq.ParquetWriter(out, self._file.schema_arrow) as writer:
            for batch in self._file.iter_batches(batch_size=BLOCK_ROWS):
                inside = keep[(keep > done) & (keep <= done + len(batch))] - done - 1
                writer.write_batch(batch.take(pa.array(inside)))
                done += len(batch)


FORMATS: dict[str, Callable[[Path], TableFile]] = {
    ".tsv": TsvFile,
    ".csv": CsvFile,
    ".jsonl": JsonLinesFile,
    ".ndjson": JsonLinesFile,
    ".parquet": ParquetFile,
}


def _header_text(path: Path) -> str:
    """The first line without its byte-order mark and newline."""
    first = next(_line_blocks(path))[1].split(b"\n", 1)[0]
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}: UTF-16 text; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)")
    try:
        text = first.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: line 1 is not UTF-8 text; expected a UTF-8 text table; of Windows-1252: "
            "iconv -f WINDOWS-1252 -t UTF-8"
        ) from error
    if "\0" in text:
        raise DataError(f"{path}: line 1 holds NUL bytes; expected a UTF-8 text table")
    return text.rstrip("\r")


def _line_blocks(path: Path) -> Iterator[tuple[int, bytes, int]]:
    """Number of the first line, whole lines, and bytes read so far; only a line feed ends a line.

    Empty lines at the end of the file are no lines.
    """
    carry = b""
    line = 1
    done = 0
    with path.open("rb") as file:
        size = _end_of_last_line(file)
        while chunk := file.read(min(BLOCK_BYTES, size - done)):
            done += len(chunk)
            cut = chunk.rfind(b"\n") + 1
            if cut:
                block = carry + chunk[:cut]
                yield line, block, done
                line += block.count(b"\n")
                carry = chunk[cut:]
            else:
                carry += chunk
            if len(carry) > MAX_LINE_BYTES:
                raise DataError(
                    f"{path}: line {line} is longer than {MAX_LINE_BYTES >> 20} MiB; "
                    "expected one row a line, ended by a newline"
                )
    if carry:
        yield line, carry, done


def _end_of_last_line(file: BinaryIO) -> int:
    """Bytes up to the end of the last line that holds something; of a file without one, all of them."""
    size = file.seek(0, os.SEEK_END)
    end, tail = size, b""
    while end and not tail.rstrip(b"\r\n"):
        begin = max(0, end - BLOCK_BYTES)
        file.seek(begin)
        tail = file.read(end - begin) + tail
        end = begin
    file.seek(0)
    kept = len(tail.rstrip(b"\r\n"))
    if not kept:
        return size
    newline = tail.find(b"\n", kept)
    return end + (newline + 1 if newline >= 0 else len(tail))


def _refuse_quoted(path: Path) -> None:
    """Refuse a .tsv whose fields are quoted as in CSV, as pandas writes them: the quotes would be text.

    In such a file every field with a quotation mark stands in quotation marks, and those inside are doubled.
    One field that holds a mark otherwise, within the first block, shows that marks are ordinary characters;
    so does the column `MARKS_ARE_TEXT` of files that this project writes.

    Raises:
        DataError: naming the first such field.
    """
    first = 0
    for number, line in enumerate(next(_line_blocks(path))[1].split(b"\n"), 1):
        if b'"' not in line:
            continue
        for field in line.removesuffix(b"\r").split(b"\t"):
            inside = field[1:-1].replace(b'""', b"")
            if b'"' in field and not (
                len(field) > 1 and field[:1] == field[-1:] == b'"' and b'"' not in inside
            ):
                return
            if b'""' in field[1:-1]:
                first = first or number
    if first:
        raise DataError(
            f"{path}: line {first}: fields are quoted as in CSV, which .tsv does not know; "
            "rename it to .csv, or write it without quoting"
        )


def _split(raw: bytes) -> list[bytes]:
    """Lines with their newline; unlike `bytes.splitlines`, a carriage return alone does not end a line."""
    lines = [line + b"\n" for line in raw.split(b"\n")]
    last = lines.pop().removesuffix(b"\n")
    return [*lines, last] if last else lines


def _decoded_lines(raw: bytes, first: int) -> tuple[list[int], list[str], list[Problem]]:
    """Numbers and texts of the lines that are UTF-8 without NUL, and the problems of the others."""
    raw = raw.removesuffix(b"\n")
    bad: list[Problem] = []
    try:
        texts = raw.decode().split("\n")
        lines = list(range(first, first + len(texts)))
    except UnicodeDecodeError:
        lines, texts = [], []
        for line, piece in enumerate(raw.split(b"\n"), first):
            try:
                texts.append(piece.decode())
                lines.append(line)
            except UnicodeDecodeError as error:
                bad.append(Problem(line, Reason.ENCODING, _where(piece, error)))
    if first == 1 and texts:
        texts[0] = texts[0].removeprefix("\ufeff")
    if b"\r" in raw:
        texts = [text.removesuffix("\r") for text in texts]
    if b"\0" in raw:
        rows = list(zip(lines, texts, strict=True))
        bad += [Problem(line, Reason.NUL, "") for line, text in rows if "\0" in text]
        lines = [line for line, text in rows if "\0" not in text]
        texts = [text for text in texts if "\0" not in text]
    return lines, texts, bad


def _line_of(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _arrow_block(lines: list[int], columns: list[Any], done: int) -> Block:
    """The rows of some Arrow columns; those with a text that is not UTF-8, or has a NUL, are bad."""
    bad: list[Problem] = []
    try:
        values = [column.to_pylist() for column in columns]
    except UnicodeDecodeError:
        values = [[_arrow_value(cell) for cell in column] for column in columns]
    for row, line in enumerate(lines):
        cells = [column[row] for column in values]
        if any(isinstance(cell, UnicodeDecodeError) for cell in cells):
            bad.append(Problem(line, Reason.ENCODING, ""))
        elif any(isinstance(cell, str) and "\0" in cell for cell in cells):
            bad.append(Problem(line, Reason.NUL, ""))
    if bad:
        left_out = {problem.line for problem in bad}
        kept = [row for row, line in enumerate(lines) if line not in left_out]
        lines, values = [lines[row] for row in kept], [[column[row] for row in kept] for column in values]
    return Block(lines, values, bad, done)


def _arrow_value(cell: Any) -> Any:
    try:
        return cell.as_py()
    except UnicodeDecodeError as error:
        return error


def _where(raw: bytes, error: UnicodeDecodeError) -> str:
    return f"byte 0x{raw[error.start]:02x} at {error.start + 1}"


def _tsv_fault(row: list[str], width: int) -> tuple[Reason, str]:
    if row == [""]:
        return Reason.BLANK, ""
    return Reason.RAGGED, f"{len(row)} fields, the header has {width}"


def _csv_fault(line: int, raw: bytes, fields: list[str], width: int) -> Problem | None:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return Problem(line, Reason.ENCODING, _where(raw, error))
    if b"\0" in raw:
        return Problem(line, Reason.NUL, "")
    if not fields:
        return Problem(line, Reason.BLANK, "")
    if len(fields) != width:
        return Problem(line, Reason.RAGGED, f"{len(fields)} fields, the header has {width}")
    return None


def _json_object(line: int, text: str) -> dict[str, Any] | Problem:
    if not text or text.isspace():
        return Problem(line, Reason.BLANK, "")
    try:
        row = parse_json(text)
    except (ValueError, RecursionError) as error:
        return Problem(line, Reason.SYNTAX, str(error))
    if not isinstance(row, dict):
        return Problem(line, Reason.SYNTAX, f"a JSON {type(row).__name__}, not an object")
    if "\\u" in text:
        texts = [value for value in row.values() if isinstance(value, str)]
        if any("\0" in value for value in texts):
            return Problem(line, Reason.NUL, "")
        if not all(map(_encodable, texts)):
            return Problem(line, Reason.ENCODING, "half of a surrogate pair")
    return row


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _copy_lines(path: Path, keep: np.ndarray, out: Path) -> None:
    with out.open("wb") as target:
        for first, raw, _ in _line_blocks(path):
            lines = _split(raw)
            inside = keep[(keep >= first) & (keep < first + len(lines))] - first
            target.write(b"".join([lines[i] for i in inside.tolist()]))
