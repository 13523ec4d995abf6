"""Pairs that cannot be read: every kind of bad input, and nothing dropped in silence."""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilebert_matching.data import table_files as records
from mobilebert_matching.data.pairs import Columns, PairReader, Reason, read_pairs
from mobilebert_runtime.errors import DataError
from tests.helpers.pair_files import HEADER, outcome

# --- columns ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": "gold"}, r"no column 'gold' for --label; the file has label, question1, question2"),
        ({"text_a": "q", "text_b": "question2"}, "no column 'q' for --text-a"),
        ({"group": "qid"}, "no column 'qid' for --group"),
        ({"text_a": "question1"}, "name both"),
        ({"text_a": "question1", "text_b": "question1"}, "name two columns"),
    ],
)
def test_missing_column(tsv, arguments, message):
    with pytest.raises(DataError, match=message) as error:
        read_pairs(tsv(HEADER + "1\ta\tb\n"), Columns(**arguments))
    assert error.value.exit_code == 2


def test_a_file_without_a_header_names_what_it_saw(tsv):
    with pytest.raises(DataError, match=r"such as text_a and text_b; the file has 1, one text, another"):
        read_pairs(tsv("1\tone text\tanother\n0\tc\td\n"))


def test_a_column_named_twice(tsv):
    with pytest.raises(DataError, match="more than one column 'label'"):
        read_pairs(tsv("label\tlabel\ttext_a\ttext_b\n1\t1\ta\tb\n"), Columns(label="label"))


# --- rows that cannot be used ---


def test_every_bad_row_is_counted_under_its_line(tsv):
    lines = [
        b"label\tquestion1\tquestion2\tqid",
        b"1\tgood\tgood\tq",  # line 2
        b"1\tcaf\xe9\tlatin-1\tq",  # 3
        b"",  # 4
        b"0\tragged\tq",  # 5
        b"0\tragged\ttoo\tlong\tq",  # 6
        b"yes\ta\tb\tq",  # 7
        b"\ta\tb\tq",  # 8
        b"nan\ta\tb\tq",  # 9
        b"1\t\tb\tq",  # 10
        b"1\ta\t \xe3\x80\x80\tq",  # 11: only white space, one of it ideographic
        b"1\ta\tb\t",  # 12
        b"1\ta\0\tb\tq",  # 13
        "0\tmixed encodings, é\tin one file\tq".encode(),  # 14
        b"\t\t\t",  # 15: several faults, counted once
    ]
    table = PairReader(tsv(b"\n".join(lines) + b"\n"), Columns(group="qid")).read(skip_bad=True)
    assert table.lines.tolist() == [2, 14]
    assert outcome(table) == {
        Reason.ENCODING: [3],
        Reason.BLANK: [4],
        Reason.RAGGED: [5, 6],
        Reason.LABEL: [7, 8, 9],
        Reason.TEXT: [10, 11, 15],
        Reason.GROUP: [12],
        Reason.NUL: [13],
    }
    assert len(table) + len(table.problems) == len(lines) - 1
    said = table.problems.describe()
    assert any(one.startswith("1 × not valid UTF-8: line 3 (byte 0xe9 at 6)") for one in said)
    assert (
        "2 × wrong number of fields: line 5 (3 fields, the header has 4), line 6 (5 fields, the header has 4)"
        in said
    )
    assert table.problems.to_json()["by_reason"]["wrong number of fields"] == {"count": 2, "lines": [5, 6]}
    json.dumps(table.problems.to_json())


def test_labels_other_than_0_and_1_where_two_classes_are_asked_for(tsv):
    reader = PairReader(tsv(HEADER + "1\ta\tb\n2\ta\tb\n0.5\ta\tb\n0\ta\tb\n"), labels="binary")
    parts = list(reader.parts())
    assert [part.labels.tolist() for part in parts] == [[1, 0]]
    assert outcome(reader) == {Reason.NOT_BINARY: [3, 4]}


def test_bad_csv_records(tsv):
    content = (
        b'label,question1,question2\r\n1,"two\nlines",b\r\n0,"x"y,z\r\n'
        b"0,caf\xe9,z\r\n0,p,q\r\n\r\n1,r\r\n1,a\rb,c\r\n"
    )
    table = PairReader(tsv(content, "p.csv")).read(skip_bad=True)
    assert table.pairs == [("two\nlines", "b"), ("p", "q")]
    assert table.lines.tolist() == [2, 6]
    assert outcome(table) == {
        Reason.SYNTAX: [4, 9],
        Reason.ENCODING: [5],
        Reason.BLANK: [7],
        Reason.RAGGED: [8],
    }


def test_a_quotation_mark_never_closed_is_an_error_that_names_its_line(tsv):
    with pytest.raises(DataError, match="line 3: a quotation mark opens a field and none closes it"):
        read_pairs(tsv('label,text_a,text_b\n1,a,b\n1,"a,b\n0,c,d\n', "p.csv"))


def test_bad_json_lines(tsv):
    lines = [
        '{"label": 1, "text_a": "a", "text_b": "b"}',
        "{",
        "[1, 2]",
        '{"label": true, "text_a": "a"}',
        '{"label": true, "text_a": 3, "text_b": "b"}',
        '{"label": null, "text_a": "a", "text_b": "b"}',
        '{"label": 0, "text_a": "\\ud800", "text_b": "b"}',
        "[" * 100_000,
        "",
        '{"label": false, "text_b": "\\u00e9", "text_a": "\\ud83d\\ude00"}',
    ]
    table = PairReader(tsv("\n".join(lines), "p.jsonl")).read(skip_bad=True)
    assert table.pairs == [("a", "b"), ("😀", "é")]
    assert table.labels.tolist() == [1, 0]
    assert outcome(table) == {
        Reason.SYNTAX: [2, 3, 8],
        Reason.TEXT: [4, 5],
        Reason.LABEL: [6],
        Reason.ENCODING: [7],
        Reason.BLANK: [9],
    }


def test_bad_parquet_rows(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    columns = {"label": [1, None, 0], "text_a": ["a", "b", None], "text_b": ["c", "d", "e"]}
    pq.write_table(pa.table(columns), tmp_path / "p.parquet")
    table = PairReader(tmp_path / "p.parquet").read(skip_bad=True)
    assert table.pairs == [("a", "c")]
    assert outcome(table) == {Reason.LABEL: [2], Reason.TEXT: [3]}


def test_many_bad_rows_are_all_counted_and_the_first_named(tsv):
    table = PairReader(tsv(HEADER + "1\ta\tb\n" + "x\ta\tb\n" * 1000)).read(skip_bad=True)
    assert len(table.problems) == 1000
    assert table.problems.lines[Reason.LABEL][-1] == 1002
    assert table.problems.describe()[0].endswith("line 7 ('x') …")


# --- not a table at all ---


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.tsv", b"", "the file is empty"),
        ("p.parquet", b"", "the file is empty"),
        ("p.tsv", b"label\ttext_a\ttext_b\n", r"no usable pair \(no rows\)"),
        ("p.tsv", b"\n\n\n", "no known text columns"),
        ("p.csv", b"\n", "no CSV line"),
        ("p.tsv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not UTF-8 text"),
        ("p.csv", b"PK\x03\x04\0\0\0\0", "NUL bytes"),
        ("p.jsonl", b"once upon a time\n", "line 1 is not JSON"),
        ("p.jsonl", b"[1, 2]\n", "line 1 is a JSON list"),
        ("p.parquet", b"label\ttext_a\ttext_b\n1\ta\tb\n", "not a Parquet file"),
        ("p.xlsx", b"PK", r"unknown ending '.xlsx'; expected one of .tsv .csv .jsonl .ndjson .parquet"),
        ("p", b"label\ttext_a\ttext_b\n", "unknown ending ''"),
        ("p.tsv", b"label\ttext_a\ttext_b\nx\ta\tb\ny\ta\tb\n", "no usable pair .*line 2 \\('x'\\), line 3"),
    ],
)
def test_not_a_table(tsv, name, content, message):
    with pytest.raises(DataError, match=message) as error:
        read_pairs(tsv(content, name))
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)


@settings(deadline=None, max_examples=60)
@given(
    body=st.lists(
        st.one_of(
            st.sampled_from(
                [b"1", b"a", b'"', b"\t", b",", b"\r", b"\r\n", b"\n", b"\0", b"\xff", b"\xe2\x80\xa8"]
            ),
            st.sampled_from(
                [b"{", b"}", b"[", b'{"label":1,"text_a":"x","text_b":"y"}\n', b"1,x,y\n", b"1\tx\ty\n"]
            ),
            st.binary(max_size=5),
        ),
        max_size=40,
    ).map(b"".join),
    ending=st.sampled_from([".tsv", ".csv", ".jsonl"]),
    block=st.integers(1, 80),
)
def test_whatever_the_bytes_every_row_is_accounted_for_or_the_file_is_refused(
    tmp_path_factory, body, ending, block
):
    header = {
        ".tsv": b"label\ttext_a\ttext_b\n",
        ".csv": b"label,text_a,text_b\n",
        ".jsonl": b'{"label":0,"text_a":"x","text_b":"y"}\n',
    }[ending]
    path = tmp_path_factory.mktemp("any") / f"p{ending}"
    path.write_bytes(header + body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "BLOCK_BYTES", block)
        try:
            table = PairReader(path).read(skip_bad=True)
        except DataError:
            return
    seen = [*table.lines.tolist(), *(line for lines in table.problems.lines.values() for line in lines)]
    last = (header + body).rstrip(b"\r\n").count(b"\n") + 1  # blank lines at the end are no rows
    assert len(seen) == len(set(seen))
    assert set(seen) <= set(range(1, (header + body).count(b"\n") + 2))
    if ending != ".csv":  # there a quoted record may span lines
        assert set(range(1 if ending == ".jsonl" else 2, last + 1)) <= set(seen)


def test_missing_path_and_directory(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_pairs(tmp_path / "none.tsv")
    (tmp_path / "folder.tsv").mkdir()
    with pytest.raises(DataError, match="a directory"):
        read_pairs(tmp_path / "folder.tsv")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission(tsv):
    path = tsv(HEADER)
    path.chmod(0)
    with pytest.raises(DataError, match="cannot be read"):
        read_pairs(path)
