"""Reading pairs: four formats, their encodings, in parts and copied byte for byte."""

import csv
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilebert_matching.data import table_files as records
from mobilebert_matching.data.pairs import Columns, PairReader, Reason, read_pairs
from mobilebert_matching.data.table_files import open_table
from mobilebert_runtime.errors import DataError
from tests.helpers.pair_files import HEADER, outcome

# Anything a TSV field may hold: no tab, no line feed, no carriage return, no NUL, not only white space.
FIELD = st.text(
    st.characters(exclude_characters="\t\n\r\0", exclude_categories=["Cs"]), min_size=1, max_size=20
).filter(lambda text: not text.isspace())


# --- formats ---


def test_the_four_formats_read_alike(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = [(1, 'say "hi", you', "näive — 語", "q1"), (0, "a b", "c", "q1"), (1, "x", "y 😀", "q2")]
    names = ("label", "question1", "question2", "qid")
    (tmp_path / "p.tsv").write_text(
        "\n".join("\t".join(map(str, row)) for row in [names, *rows]) + "\n", encoding="utf-8"
    )
    with (tmp_path / "p.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    (tmp_path / "p.jsonl").write_text(
        "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows), encoding="utf-8"
    )
    pq.write_table(
        pa.Table.from_pylist([dict(zip(names, r, strict=True)) for r in rows]), tmp_path / "p.parquet"
    )
    for ending, first_line in ((".tsv", 2), (".csv", 2), (".jsonl", 1), (".parquet", 1)):
        table = read_pairs(tmp_path / f"p{ending}", Columns(group="qid"))
        assert table.pairs == [(a, b) for _, a, b, _ in rows], ending
        assert table.labels.tolist() == [1, 0, 1]
        assert table.labels.dtype == np.int64
        assert table.groups == ["q1", "q1", "q2"]
        assert table.lines.tolist() == [first_line, first_line + 1, first_line + 2]
        assert len(table.problems) == 0
        assert table.problems.describe() == []


@settings(deadline=None, max_examples=40)
@given(
    rows=st.lists(st.tuples(st.sampled_from("01"), FIELD, FIELD), min_size=1, max_size=8),
    block=st.integers(1, 60),
)
def test_tsv_equals_the_csv_module_without_quoting_whatever_the_block_size(tmp_path_factory, rows, block):
    path = tmp_path_factory.mktemp("t") / "p.tsv"
    path.write_text(HEADER + "".join("\t".join(row) + "\n" for row in rows), encoding="utf-8", newline="")
    with path.open(encoding="utf-8", newline="\n") as file:
        expected = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "BLOCK_BYTES", block)
        table = read_pairs(path)
    assert [[str(y), a, b] for y, (a, b) in zip(table.labels, table.pairs, strict=True)] == expected
    assert table.lines.tolist() == list(range(2, len(rows) + 2))


@settings(deadline=None, max_examples=40)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from("01"),
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1).map(
                "x{}".format
            ),
            FIELD,
        ),
        min_size=1,
        max_size=8,
    ),
    block=st.integers(1, 60),
)
def test_csv_equals_the_csv_module_with_newlines_and_quotes_in_fields(tmp_path_factory, rows, block):
    path = tmp_path_factory.mktemp("c") / "p.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("label", "text_a", "text_b"), *rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "BLOCK_BYTES", block)
        table = read_pairs(path)
    assert table.pairs == [(a, b) for _, a, b in rows]
    assert len(table.problems) == 0


def test_a_quotation_mark_is_an_ordinary_character_in_tsv(tsv):
    assert read_pairs(tsv(HEADER + '1\t"a\tb"\n0\t"\t""\n')).pairs == [('"a', 'b"'), ('"', '""')]


def test_real_numbers_stay_real_and_text_labels_need_a_positive(tsv):
    assert read_pairs(tsv("score\tsentence1\tsentence2\n3.8\ta\tb\n5\tc\td\n")).labels.tolist() == [3.8, 5.0]
    words = tsv("label\tpremise\thypothesis\nentailment\ta\tb\nneutral\tc\td\n\te\tf\n")
    table = PairReader(words, positive="entailment").read(skip_bad=True)
    assert table.labels.tolist() == [1, 0]
    assert outcome(table) == {Reason.LABEL: [4]}
    with pytest.raises(DataError, match="write the labels as 0 and 1"):
        read_pairs(words)
    assert len(read_pairs(words, labels="none")) == 3


def test_unlabelled_file(tsv):
    table = read_pairs(tsv("text_a\ttext_b\nx\ty\n"))
    assert table.labels is None
    assert table.groups is None


# --- encodings and line ends ---


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".jsonl"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_byte_order_mark_crlf_and_no_last_newline(tsv, ending, newline, last):
    if ending == ".jsonl":
        lines = ['{"label": 1, "text_a": "a", "text_b": "b"}', '{"label": 0, "text_a": "c", "text_b": "d"}']
    else:
        mark = "\t" if ending == ".tsv" else ","
        lines = [mark.join(row) for row in (("label", "text_a", "text_b"), ("1", "a", "b"), ("0", "c", "d"))]
    table = read_pairs(tsv("\ufeff" + newline.join(lines) + (newline if last else ""), f"p{ending}"))
    assert table.pairs == [("a", "b"), ("c", "d")]
    assert table.labels.tolist() == [1, 0]
    assert len(table.problems) == 0


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_refused(tsv, encoding):
    with pytest.raises(DataError, match="UTF-"):
        read_pairs(tsv((HEADER + "1\ta\tb\n").encode(encoding)))


@pytest.mark.parametrize(("name", "row"), [("p.tsv", "1\t{}\tshort"), ("p.csv", '1,"{}",short')])
def test_a_text_of_ten_megabytes_is_refused_by_its_line(tsv, name, row):
    header = HEADER if name == "p.tsv" else "label,text_a,text_b\n"
    rows = header + row.format("word " * 2_100_000) + "\n" + row.format("a") + "\n"
    with pytest.raises(DataError, match=r"too long to be one: line 2 \(\w+: 10,500,000 characters\)"):
        read_pairs(tsv(rows, name))
    table = PairReader(tsv(rows, name)).read(skip_bad=True)
    assert table.lines.tolist() == [3]


def test_a_line_beyond_the_limit_is_refused_before_it_fills_the_memory(tsv, monkeypatch):
    monkeypatch.setattr(records, "BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(records, "MAX_LINE_BYTES", 1 << 20)
    with pytest.raises(DataError, match="line 2 is longer than 1 MiB"):
        read_pairs(tsv(HEADER + "1\t" + "x" * (2 << 20)))


# --- parts, copies, outputs ---


def test_parts_are_small_and_progress_reaches_the_end(tsv, monkeypatch):
    monkeypatch.setattr(records, "BLOCK_BYTES", 10_000)
    path = tsv(HEADER + "1\tsome words here\tand some there\n" * 5_000)
    seen = []
    parts = list(PairReader(path).parts(lambda done, whole: seen.append((done, whole))))
    assert sum(len(part) for part in parts) == 5_000
    assert max(len(part) for part in parts) <= 10_000 // 32
    assert seen == sorted(seen)
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


@pytest.mark.parametrize("name", ["p.tsv", "p.csv", "p.jsonl"])
def test_copies_are_byte_for_byte(tsv, tmp_path, name, monkeypatch):
    rows = {
        "p.tsv": [
            "\ufefflabel\ttext_a\ttext_b\r\n",
            '1\t"a\tb \r\n',
            "bad\r\n",
            "0\tc\t\u2028d\r\n",
            "1\te\tf",
        ],
        "p.csv": ["\ufefflabel,text_a,text_b\r\n", '1,"a\n,""",b \r\n', "bad\r\n", "0,c,d\r\n", "1,e,f"],
        "p.jsonl": [
            '{"label":1,"text_a":"z","text_b":"y"}\n',
            ' {"text_b":"b","label":1,"text_a":"a"}\n',
            "bad\n",
            '{"label":0,"text_a":"c","text_b":"d"}\n',
            '{"label":1,"text_a":"e","text_b":"f"}',
        ],
    }[name]
    path = tsv("".join(rows), name)
    monkeypatch.setattr(records, "BLOCK_BYTES", 11)
    table = PairReader(path).read(skip_bad=True)
    assert len(table.problems) == 1
    every = tmp_path / f"all-{name}"
    open_table(path).copy(table.lines, every)
    assert every.read_bytes().decode() == "".join(row for row in rows if not row.startswith("bad"))
    two = tmp_path / f"two-{name}"
    open_table(path).copy(table.lines[[-3, -1]], two)
    assert read_pairs(two).pairs == [table.pairs[-3], table.pairs[-1]]


def test_copy_of_parquet(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table(
        {"label": [1, 0, 1, 0], "text_a": list("abcd"), "text_b": list("efgh"), "x": [[1], [], [2], [3]]}
    )
    pq.write_table(table, tmp_path / "p.parquet")
    monkeypatch.setattr(records, "BLOCK_ROWS", 3)
    open_table(tmp_path / "p.parquet").copy(np.array([2, 4]), tmp_path / "q.parquet")
    assert pq.read_table(tmp_path / "q.parquet").equals(table.take([1, 3]))
