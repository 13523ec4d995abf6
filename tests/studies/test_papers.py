"""Promise of results/papers.md: a row for everything in the papers, from the records, with evidence that exists."""

import pytest

from studies.papers.report import PAPERS, main, page
from studies.papers.row import RESULTS
from tests.conftest import ROOT

ROWS = [row for paper in PAPERS for row in paper.rows()]


def test_the_page_is_what_the_records_say(tmp_path):
    main(tmp_path / "papers.md")
    assert (tmp_path / "papers.md").read_text(encoding="utf-8") == page()
    assert (RESULTS / "papers.md").read_text(encoding="utf-8") == page(), (
        "run `python -m studies.papers.report --force`"
    )


def test_each_paper_has_its_tables():
    assert len(ROWS) >= 60
    tables = {(paper.TITLE, row.item) for paper in PAPERS for row in paper.rows()}
    for paper, last in zip(PAPERS, (9, 10, 3, 14), strict=True):
        said = " ".join(item for title, item in tables if title == paper.TITLE)
        missing = [k for k in range(1, last + 1) if f"Table {k}" not in said and str(k) not in said]
        assert not missing


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.item}: {row.claim}")
def test_a_row_has_evidence_and_what_is_missing_a_reason(row):
    assert (ROOT / row.evidence).is_file()
    assert row.ours or row.state == "not"
    assert row.why or row.state == "remade"
    assert "untested" not in row.why
