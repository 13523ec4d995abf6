"""results/papers.md: `python -m studies.papers.report --force`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, get_args

from typer import Option

from mobilebert_runtime.files import check_output, replacing
from studies.common.markdown import NONE, table
from studies.common.script import Force, console, run
from studies.papers import albert, kroneckerbert, length_divergence, mobilebert
from studies.papers.row import RESULTS, Row, State

PAPERS = (mobilebert, kroneckerbert, length_divergence, albert)
HEAD = (
    "of the paper",
    "it says",
    "its figure",
    "here",
    "our figure",
    "our data and scale, or why there is none",
    "evidence",
)
INTRODUCTION = """# The four papers, row by row

`python -m studies.papers.report --force` writes this page from the records. *Remade*: the claim holds here, by proof or at a scale that
can tell. *In part*: at a smaller scale, on other data, or some of it. *Contradicted*: our measurement says otherwise. *Undecided*: it was
measured, and the difference is smaller than the data at hand can tell. *Not*: nothing was measured, and why. Evidence is a record, with the command that remakes it below the table, or the test that proves the row.
"""


def main(
    out: Annotated[Path, Option(help="Markdown file.")] = RESULTS / "papers.md",
    force: Force = False,
) -> None:
    """Write every table, figure and claim of the four papers beside what was found here."""
    check_output(out, force=force)
    with replacing(out, force=force) as partial:
        partial.write_text(page(), encoding="utf-8")
    console().print(out)


def page() -> str:
    """The whole page."""
    found = {paper.TITLE: paper.rows() for paper in PAPERS}
    parts = [INTRODUCTION, _summary(found)]
    for title, rows in found.items():
        commands = list(dict.fromkeys(row.command for row in rows if row.command))
        number = {command: f"[{k}]" for k, command in enumerate(commands, 1)}
        parts += [f"## {title}\n", table(HEAD, (_cells(row, number) for row in rows)) + "\n"]
        parts += ["\n".join(f"{number[command]} `{command}`  " for command in commands) + "\n"]
    return "\n".join(parts)


def _summary(found: dict[str, list[Row]]) -> str:
    states = get_args(State)
    counts = {title: Counter(row.state for row in rows) for title, rows in found.items()}
    counts["all"] = sum(counts.values(), Counter())
    lines = [(title, *(str(count[state]) for state in states)) for title, count in counts.items()]
    return table(("paper", *states), lines) + "\n"


def _cells(row: Row, number: dict[str, str]) -> tuple[str, ...]:
    evidence = f"`{row.evidence}`" + (f" {number[row.command]}" if row.command else "")
    return (row.item, row.claim, row.theirs, row.state, row.ours or NONE, row.why or NONE, evidence)


if __name__ == "__main__":
    run(main)
