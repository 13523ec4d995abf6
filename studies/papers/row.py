"""One row of results/papers.md, and how its figure is read from a record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from studies.common.records import read_json

RESULTS = Path(__file__).resolve().parents[2] / "results"
# remade: the claim holds here, at the paper's scale or by proof; in part: at a smaller scale, or some of it;
# contradicted: our measurement says otherwise; undecided: it was measured, and the data at hand cannot tell;
# not: nothing was measured, `why` says why.
State = Literal["remade", "in part", "contradicted", "undecided", "not"]


@dataclass(frozen=True)
class Row:
    """A table, figure or claim of a paper beside what was found here."""

    item: str  # of the paper: "Table 1", "Eq. 14", "section 3.3"
    claim: str  # what it says
    theirs: str  # its figure
    state: State
    ours: str  # our figure; empty where nothing was measured
    why: str  # data and scale of our figure, or why there is none
    evidence: str  # record below results/, or the test that proves it, relative to the project
    command: str = ""  # what remakes the record


def record(name: str) -> Any:
    """A record below results/, packed or not."""
    return read_json(RESULTS / name)


def percent(value: float, digits: int = 1) -> str:
    """A share as per cent."""
    return f"{100 * value:.{digits}f}"
