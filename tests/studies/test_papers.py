"""Promise of results/papers.md: a row for each table of the papers, from the records, with evidence."""

import re

import pytest

from studies.papers.length_divergence import Move, _state
from studies.papers.report import PAPERS, page
from studies.papers.row import RESULTS
from tests.conftest import ROOT

LAST_TABLE = {"MobileBERT": 9, "KroneckerBERT": 10, "Length": 3, "ALBERT": 14}


@pytest.fixture(scope="module")
def rows():
    return {paper.TITLE.split()[0]: paper.rows() for paper in PAPERS}


def test_the_page_is_what_the_records_say():
    told = "run `python -m studies.papers.report --force`"
    assert (RESULTS / "papers.md").read_text(encoding="utf-8") == page(), told


def test_each_paper_has_all_its_tables(rows):
    assert sum(map(len, rows.values())) >= 60
    for title, last in LAST_TABLE.items():
        assert set(range(1, last + 1)) <= set().union(*(tables(row.item) for row in rows[title]))


def tables(item):
    """The numbers of "Table 5", "Tables 9, 10" and "Tables 11–13"."""
    for part in re.findall(r"Tables? ([\d–, ]+)", item):
        for low, high in re.findall(r"(\d+)(?:–(\d+))?", part):
            yield from range(int(low), int(high or low) + 1)


def test_a_row_has_evidence_and_what_is_missing_a_reason(rows):
    for row in [row for found in rows.values() for row in found]:
        assert (ROOT / row.evidence).is_file(), row
        assert row.ours or row.state == "not", row
        assert row.why or row.state == "remade", row
        assert "untested" not in row.why, row


@pytest.mark.parametrize(
    ("moves", "state"),
    [
        ([(1.5, 1.2, 1.0)], "in part"),
        ([(1.5, 0.9, 1.0)], "undecided"),
        ([(1.5, -1.2, 1.0), (0.4, 0.9, 1.0)], "contradicted"),
        ([(1.5, -1.2, 1.0), (0.4, 1.1, 1.0)], "in part"),
        ([(-0.5, -1.2, 1.0)], "in part"),  # an exception in the paper, and here
    ],
)
def test_a_move_counts_where_it_is_larger_than_what_the_test_leaves_open(moves, state):
    assert _state([Move("accuracy", *move) for move in moves]) == state
