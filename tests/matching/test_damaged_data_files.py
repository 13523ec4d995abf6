"""Promise: of a damaged file of pairs every row is read or counted as bad, or one line refuses the file.

Cases are drawn with fixed seeds, for every format. A traceback, a hang, or a text that was not in the file
fails.
"""

import csv
import io
import json
import random
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mobilebert_matching.data.labelled_pairs import read_labelled
from mobilebert_matching.data.pairs import PairReader
from mobilebert_runtime.errors import DataError

FORMATS = (".tsv", ".csv", ".jsonl", ".parquet")
HEADER = ("label", "text_a", "text_b")
ROWS = [(n % 2, f"ein Satz {n}", f"näher {n} 😀") for n in range(40)]
SECONDS = 20  # on a busy machine; a file takes milliseconds
# What stands in the place of a cell.
CELLS = (
    *(None, "", " ", "x" * 200_001, "nan", "inf", "1e400", "9" * 400, 10**400, -1, 1.5, 2, True, "\x00"),
    *("a\x00b", "\ud83d", "a\tb", "a\nb", '"', "\u00e9", [], {"a": 1}, b"\xff", "\u2028", "\ufeff"),
)
BYTES = (
    *(b"\x00", b"\xff", b"\n", b"\r", b"\t", b'"', b",", b"{", b"}", b"[" * 3000, b"\xef\xbb\xbf"),
    *(b"\\u0000", b"\xed\xa0\x80", b"\n\n\n", b'""', b"1" * 400, b'"label":'),
)
NAMES = ("label", "text_a", "text_b", "score", "sentence1", "", "\x1b[0m", "question1", "Label")


def rendered(ending, header, rows):
    """A file's bytes; a cell that the format does not have is written as its text."""
    if ending == ".parquet":
        return parquet(header, rows)
    if ending == ".jsonl":
        lines = []
        for row in rows:  # by hand, since an object of Python has no name twice
            members = zip(map(json.dumps, header), (json.dumps(v, default=repr) for v in row), strict=False)
            lines.append("{" + ", ".join(": ".join(member) for member in members) + "}\n")
        return "".join(lines).encode()
    text = io.StringIO()
    if ending == ".csv":
        csv.writer(text, lineterminator="\n").writerows([header, *rows])
    else:
        text.writelines("\t".join("" if c is None else str(c) for c in row) + "\n" for row in [header, *rows])
    return text.getvalue().encode("utf-8", "surrogatepass")


def parquet(header, rows):
    arrays = []
    for column in zip(*rows, strict=True):
        try:
            arrays.append(pa.array(column))
        except (pa.ArrowException, OverflowError, UnicodeError):
            cells = [str(c).encode("utf-8", "surrogatepass") if type(c) is not bytes else c for c in column]
            # Arrow does not look whether a text is UTF-8 when bytes are called one.
            arrays.append(pa.Array.from_buffers(pa.string(), len(cells), pa.array(cells).buffers()))
    out = io.BytesIO()
    pq.write_table(pa.table(arrays, names=list(header)), out)
    return out.getvalue()


def damaged(ending, draw):
    """The bytes of a file that is damaged in one way, and the way."""
    header, rows = list(HEADER), [list(row) for row in ROWS]
    how = draw.randrange(6)
    if how == 0:
        for _ in range(draw.randrange(1, 4)):
            rows[draw.randrange(len(rows))][draw.randrange(3)] = draw.choice(CELLS)
    elif how == 1:
        header[draw.randrange(3)] = draw.choice(NAMES)
    elif how == 2:
        header.append(draw.choice(NAMES))
        rows = [[*row, "more"] for row in rows]
    elif how == 3 and ending != ".parquet":
        del rows[draw.randrange(len(rows))][draw.randrange(3)]
    content = rendered(ending, header, rows)
    if how == 4:
        at = draw.randrange(len(content))
        content = content[:at] + draw.choice(BYTES) + content[at + draw.randrange(3) :]
    elif how == 5:
        content = content[: draw.randrange(len(content))]
    return content, f"way {how}"


def outcome(path, content):
    """How a file is taken: refused, or how many of its rows are usable."""
    try:
        table = PairReader(path).read(skip_bad=True)
    except DataError as error:
        with pytest.raises(DataError):
            read_labelled(path)
        return "refused" if "\n" not in str(error) else f"several lines: {error}"
    for text in (*table.text_a, *table.text_b):
        assert text.strip()
        assert "\0" not in text
        text.encode()
    if path.suffix in (".tsv", ".jsonl"):
        lines = content.rstrip(b"\r\n").count(b"\n") + 1 - (path.suffix == ".tsv")
        assert len(table) + len(table.problems) == lines
    try:
        read_labelled(path)
    except DataError:
        return "partly"
    return "accepted"


def run_cases(tmp_path, seeds):
    counts = {"refused": 0, "partly": 0, "accepted": 0}
    for seed in seeds:
        for ending in FORMATS:
            draw = random.Random(f"{seed} {ending}")
            content, said = damaged(ending, draw)
            path, started = tmp_path / f"data{ending}", time.monotonic()
            path.write_bytes(content)
            try:
                counts[outcome(path, content)] += 1
            except Exception as error:
                raise AssertionError(f"{ending} {seed}, {said}: {type(error).__name__}: {error}") from error
            assert time.monotonic() - started < SECONDS, f"{ending} {seed}, {said}"
    return counts


def test_some_damaged_files_are_refused_or_every_row_is_read_or_counted(tmp_path):
    for ending in FORMATS:
        path = tmp_path / f"whole{ending}"
        content = rendered(ending, HEADER, ROWS)
        path.write_bytes(content)
        assert outcome(path, content) == "accepted"
        assert len(read_labelled(path).pairs) == len(ROWS)
    counts = run_cases(tmp_path, range(30))
    assert min(counts.values()) > 10


@pytest.mark.slow
def test_damaged_files_are_refused_or_every_row_is_read_or_counted(tmp_path):
    counts = run_cases(tmp_path, range(1000, 1300))
    print(f"data files: {counts}")
    assert min(counts.values()) > 100


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("name", ["label", "text_a", "score", "sentence1"])
def test_a_column_of_a_known_name_that_is_there_twice_is_refused(tmp_path, ending, name):
    path = tmp_path / f"data{ending}"
    header = (*HEADER, name) if name in HEADER else (*HEADER, name, name)
    rows = [[*row, *("1" for _ in header[3:])] for row in ROWS]
    if ending == ".parquet":
        columns = [pa.array([str(row[n]) for row in rows]) for n in range(len(header))]
        pq.write_table(pa.table(columns, names=list(header)), path)
    else:
        path.write_bytes(rendered(ending, header, rows))
    with pytest.raises(DataError, match=f"more than one column '{name}'|names '{name}' twice"):
        PairReader(path).read()


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_bad_utf8_nul_and_huge_integers_are_named_with_their_row(tmp_path, ending):
    rows = [list(row) for row in ROWS[:6]]
    rows[1][1], rows[3][2], rows[4][1] = "a\0b", "half \ud83d", "\ud83d"
    path = tmp_path / f"data{ending}"
    path.write_bytes(rendered(ending, HEADER, rows))
    found = PairReader(path).read(skip_bad=True)
    said = "; ".join(found.problems.describe())
    assert len(found) == 3
    assert "1 × a NUL byte: line 2" in said
    assert "2 × not valid UTF-8: line 4" in said
