"""`mobilebert invariances`: what should not matter to a matcher, and how much it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

if TYPE_CHECKING:
    from rich.console import Console


def invariances(
    matcher: Annotated[str, Argument(help="Model directory, artefact folder, or 'shipped'.")],
    data: Annotated[Path, Option(help="Pairs (TSV, CSV, JSON Lines, Parquet); labels are not read.")],
    pairs: Annotated[int, Option(help="So many of them, drawn at random.", min=1)] = 1000,
    seed: Annotated[int, Option(help="Of the draw and of the perturbations.")] = 0,
    threads: Annotated[int, Option(help="CPU threads.")] = 2,
    symmetric: Annotated[
        bool, Option("--symmetric", help="Mean over both orders of a pair; twice the time.")
    ] = False,
    json_file: Annotated[Path | None, Option("--json", help="Also write everything there.")] = None,
    force: Annotated[bool, Option("--force", help="Replace the JSON file.")] = False,
) -> None:
    """Measure how far scores and decisions move when a pair changes but its meaning does not.

    The two texts swapped, neutral words appended, casing, punctuation, one misspelt word: the median and the
    95th percentile of |change of score| and the share of decisions that flip, with 95% intervals, over the
    pairs that the perturbation changes at all.
    """
    from rich.console import Console

    from matching.data.pairs import read_pairs
    from matching.evaluation.perturbations import invariances as measure
    from matching.evaluation.perturbations import sample
    from mobilebert_export.scoring import open_scorer, record_head
    from mobilebert_runtime.files import check_output, write_json

    if json_file:
        check_output(json_file, force=force)
    chosen = sample(read_pairs(data).pairs, pairs, seed)
    scorer = open_scorer(matcher, threads, symmetric=symmetric)
    with Console(stderr=True).status(f"{len(chosen):,} pairs"):
        found = measure(scorer.score, chosen, scorer.threshold, seed=seed)
    record = {
        **record_head(matcher, scorer, data, symmetric=symmetric),
        **found,
    }
    _print(record, Console())
    if json_file:
        write_json(json_file, record)


def _print(record: dict[str, Any], console: Console) -> None:
    from rich.table import Table

    table = Table(
        *("perturbation", "changed pairs", "median |Δ|", "p95 |Δ|", "mean Δ", "decisions flipped"),
        title=f"{record['matcher']} ({record['runtime']}), {record['pairs']:,} pairs",
    )
    for row in record["perturbations"]:
        figures = (
            [f"{row[name]:{form}}" for name, form in (("median", ".4f"), ("p95", ".4f"), ("shift", "+.4f"))]
            if row["changed"]
            else ["–"] * 3
        )
        flipped = (
            "{:.2%} [{:.2%}, {:.2%}]".format(row["flipped"], *row["flipped_interval"])
            if row["changed"]
            else "–"
        )
        table.add_row(row["name"], f"{row['changed']:,}", *figures, flipped)
    console.width = max(console.width, 110)  # a narrower terminal wraps the lines, but no figure is cut
    console.print(table)
