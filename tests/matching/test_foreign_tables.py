"""Tables as Excel and pandas write them: read as meant, or refused in one line that says what to do."""

import csv

import numpy as np
import pytest

from mobilebert_matching.data.pairs import read_pairs
from mobilebert_matching.data.table_files import BLOCK_BYTES, open_table
from mobilebert_runtime.errors import DataError

ROWS = [("1", 'He said "no"', "He refused"), ("0", "a, b; c", "d"), ("1", "é", "e")]
HEADER = ("label", "text_a", "text_b")


def written(path, delimiter, quoting=csv.QUOTE_MINIMAL, encoding="utf-8", end="\r\n"):
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=end)
        writer.writerows([HEADER, *ROWS])
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_a_csv_of_any_usual_delimiter_is_read(tmp_path, delimiter, quoting):
    table = read_pairs(written(tmp_path / "pairs.csv", delimiter, quoting, encoding="utf-8-sig"))
    assert table.pairs == [(a, b) for _, a, b in ROWS]
    assert table.labels.tolist() == [1, 0, 1]


def test_a_tsv_with_the_quotes_of_csv_is_refused_and_as_csv_read(tmp_path):
    file = written(tmp_path / "pairs.tsv", "\t")
    with pytest.raises(DataError, match=r"line 2: fields are quoted as in CSV.*rename it to \.csv"):
        read_pairs(file)
    assert read_pairs(file.rename(tmp_path / "pairs.csv")).pairs == [(a, b) for _, a, b in ROWS]


@pytest.mark.parametrize(
    "rows",
    [
        'What is "x"?\tb\n"He said ""no"""\td',  # the first field shows that marks are ordinary
        '"a quotation"\tb\nc\td',
        '"\tb\nc\td',
        'a ""\tb\nc\td',
    ],
)
def test_ordinary_quotation_marks_stay_in_the_text(tmp_path, rows):
    file = tmp_path / "pairs.tsv"
    file.write_text("text_a\ttext_b\n" + rows + "\n")
    assert read_pairs(file).pairs == [tuple(row.split("\t")) for row in rows.split("\n")]


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.csv", "pairs.jsonl"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_empty_lines_at_the_end_are_no_rows(tmp_path, name, end):
    lines = {
        "pairs.tsv": ["text_a\ttext_b", "a\tb", "c\td"],
        "pairs.csv": ["text_a,text_b", "a,b", "c,d"],
        "pairs.jsonl": ['{"text_a": "a", "text_b": "b"}', '{"text_a": "c", "text_b": "d"}'],
    }[name]
    file = tmp_path / name
    plain = end.join(lines) + end
    file.write_bytes((plain + 3 * end).encode())
    assert read_pairs(file).pairs == [("a", "b"), ("c", "d")]
    out = tmp_path / ("copy-" + name)
    open_table(file).copy(np.arange(1, len(lines) + 1), out)
    assert out.read_bytes() == plain.encode()
    file.write_bytes((lines[0] + end + end + end.join(lines[1:]) + end).encode())
    with pytest.raises(DataError, match="line 2"):  # but not in the middle
        read_pairs(file)


def test_more_empty_lines_than_a_block_holds(tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_bytes(b"text_a\ttext_b\na\tb" + b"\n" * (BLOCK_BYTES + 10))
    assert read_pairs(file).pairs == [("a", "b")]


def test_what_is_not_read_says_what_to_do(tmp_path):
    sheet = tmp_path / "pairs.xlsx"
    sheet.write_bytes(b"PK\x03\x04")
    with pytest.raises(DataError, match="save the sheet as CSV UTF-8"):
        read_pairs(sheet)
    with pytest.raises(DataError, match="iconv -f UTF-16 -t UTF-8"):
        read_pairs(written(tmp_path / "wide.csv", ",", encoding="utf-16"))
    old = tmp_path / "old.csv"
    old.write_bytes("label,text_a,text_b\n1,café,b\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"line 2 .*iconv -f WINDOWS-1252 -t UTF-8"):
        read_pairs(old)
    old.write_bytes("größe,text_a,text_b\n1,a,b\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"line 1 is not UTF-8.*iconv -f WINDOWS-1252 -t UTF-8"):
        read_pairs(old)
