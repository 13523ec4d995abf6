"""Measure the networks of a paper's latency table and set the ratios beside the printed ones.

python -m studies.latency.paper_table --table 7 --out results/bench/paper-table-7
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.markdown import Markdown
from typer import Option

from android_bench.measuring.latency import measure, name_candidates
from android_bench.measuring.latency_record import Record
from android_bench.measuring.latency_report import check_free
from android_bench.measuring.progress import session_progress
from mobilebert_export.console import progress_console
from studies.common.script import Force, run
from studies.latency.paper_models import export_table
from studies.latency.paper_tables import find_table, paper_markdown, write_paper


def main(
    table: Annotated[str, Option(help="7 (norms and activations) or models.")] = "7",
    threads: Annotated[int, Option(help="Threads of the runtime.")] = 1,
    sessions: Annotated[int, Option(help="Interleaved sessions per network, a process each.")] = 7,
    seconds: Annotated[float, Option(help="Steady measurement per session, after warm-up.")] = 2.0,
    retries: Annotated[int, Option(help="Repeat a session this often while the machine is troubled.")] = 2,
    cache: Annotated[Path, Option(help="Where the networks are, or are made.")] = Path("artefacts/paper"),
    out: Annotated[Path | None, Option(help="Write OUT.json, OUT.md, OUT.png.")] = None,
    force: Force = False,
) -> None:
    """Export a table's networks with random weights (minutes, once), measure them in one interleaved run."""
    chosen = find_table(table)
    if out:
        check_free(out, force=force)
    folders = export_table(chosen, cache, progress_console())
    candidates = name_candidates([str(folder) for folder in folders], threads)
    with session_progress() as begin:
        measured = measure(
            candidates, sessions=sessions, seconds=seconds, retries=retries, progress=begin("sessions")
        )
    record = Record.of(measured)
    if out:
        write_paper(record, chosen, out, force=force)
    console = Console()
    console.width = max(console.width, 110)  # a narrower terminal wraps the lines, but no figure is cut
    console.print(Markdown(paper_markdown(record, chosen)))


if __name__ == "__main__":
    run(main)
