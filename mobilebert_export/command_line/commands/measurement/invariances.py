"""`mobilebert invariances`: how much a matcher reacts to changes that should not matter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from mobilebert_export.command_line import options as opt

if TYPE_CHECKING:
    from mobilebert_export.terminal import Terminal


def invariances(
    matcher: Annotated[str, opt.MODEL, Argument(help="Model directory, artefact folder, or 'shipped'.")],
    data: Annotated[
        Path, opt.INPUT_FILE, Option(help="Pairs (TSV, CSV, JSON Lines, Parquet); labels are not read.")
    ],
    pairs: Annotated[int, opt.COUNT, Option(help="So many of them, drawn at random.")] = 1000,
    text_a: opt.TextA = None,
    text_b: opt.TextB = None,
    seed: opt.Seed = 0,
    threads: opt.Threads = 2,
    symmetric: opt.Symmetric = False,
    json_file: opt.JsonFile = None,
    force: opt.Force = False,  # noqa: ARG001 (the check of options reads it)
) -> None:
    """Measure how far scores and decisions move when a pair changes but its meaning does not.

    The two texts swapped, neutral words appended, casing, punctuation, one misspelt word: the median and the
    95th percentile of |change of score| and the share of decisions that flip, with 95% intervals, over the
    pairs that the perturbation changes at all.
    """
    from mobilebert_export.evaluation.scoring import open_scorer, record_head
    from mobilebert_export.terminal import Terminal
    from mobilebert_matching.data.pairs import read_text_pairs
    from mobilebert_matching.evaluation.perturbations import invariances as measure
    from mobilebert_matching.evaluation.perturbations import sample
    from mobilebert_runtime.files import write_json

    chosen = sample(read_text_pairs(data, text_a, text_b), pairs, seed)
    scorer = open_scorer(matcher, threads, symmetric=symmetric)
    with Terminal(stderr=True).status(f"{len(chosen):,} pairs"):
        found = measure(scorer.score, chosen, scorer.threshold, seed=seed)
    record = {
        **record_head(matcher, scorer, data, symmetric=symmetric),
        **found,
    }
    _print(record, Terminal())
    if json_file:
        write_json(json_file, record)


def _print(record: dict[str, Any], console: Terminal) -> None:
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
