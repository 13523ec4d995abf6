"""`mobilebert audit`: does the length divergence of the pairs in a file give their labels away?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_export.console import reading

if TYPE_CHECKING:
    from mobilebert_export.terminal import Terminal
    from mobilebert_matching.length_bias.bias_audit import Audit


def audit(
    *,
    file: Annotated[Path, opt.INPUT_FILE, Argument(help="TSV (no quoting), CSV, JSON Lines or Parquet.")],
    text_a: opt.TextA = None,
    text_b: opt.TextB = None,
    label: opt.Label = None,
    group: opt.Group = None,
    positive_label: opt.PositiveLabel = None,
    quartiles_from: opt.QuartilesFrom = None,
    json_file: opt.JsonFile = None,
    png: Annotated[Path | None, opt.OUTPUT_FILE, Option(help="Draw the paper's Figure 1 here.")] = None,
    force: opt.Force = False,
) -> None:
    """Audit a labelled file of pairs for length-divergence bias.

    Shows positives, negatives and their ratio in the four length-divergence categories, and a bias score with
    its 95% interval: Somers' D, 0 where the category says nothing about the label, above 0 where positives
    thin out as the divergence grows.
    """
    import json

    from mobilebert_export.terminal import Terminal
    from mobilebert_matching.data.pairs import Columns
    from mobilebert_matching.length_bias.bias_audit import audit as run
    from mobilebert_matching.length_bias.category_plot import draw
    from mobilebert_runtime.files import replacing

    with reading(f"reading {file.name}") as progress:
        columns = Columns(text_a, text_b, label, group)
        found = run(file, columns, positive=positive_label, quartiles_from=quartiles_from, progress=progress)
    if json_file is not None:
        with replacing(json_file, force=force) as partial:
            partial.write_text(
                json.dumps(found.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
            )
    if png is not None:
        with replacing(png, force=force) as partial:
            draw({f"{file.resolve().parent.name}/{file.name} ({found.mode})": found.categories}, partial)
    show(found, Terminal(highlight=False, soft_wrap=True))


def show(found: Audit, console: Terminal) -> None:
    """Print an audit as a table, the score in words, and the rows that were left out."""
    from rich.table import Table

    table = Table(title=f"{found.path} · {found.mode}", title_justify="left")
    for name in ("category", "divergence", "positive", "negative", "ratio"):
        table.add_column(name, justify="left" if name == "category" else "right")
    cuts = [f"{cut:.4g}" for cut in found.quartiles.as_list()]
    ranges = (f"≤ {cuts[0]}", f"≤ {cuts[1]}", f"≤ {cuts[2]}", f"> {cuts[2]}")
    for category, span in zip(found.categories, ranges, strict=True):
        ratio = "–" if category.ratio is None else f"{category.ratio:.3f}"
        table.add_row(
            f"CAT{category.category}", span, f"{category.positive:,}", f"{category.negative:,}", ratio
        )
    overall = f"{found.positive / found.negative:.3f}"
    table.add_row("all", "", f"{found.positive:,}", f"{found.negative:,}", overall, style="bold")
    console.print(table)
    score = found.score
    verdict = "biased" if score.biased else "no bias found: the interval contains 0"
    console.print(
        f"bias score (Somers' D) {score.value:+.4f}, 95% interval {score.low:+.4f} to {score.high:+.4f} "
        f"over {score.units:,} {'queries' if score.unit == 'query' else 'pairs'}: {verdict}"
    )
    if found.undefined_queries:
        console.print(
            f"{found.undefined_queries:,} of {found.queries:,} queries have no value by Eq. (3) "
            "(no positive, no negative, or a mean of zero) and count as CAT4"
        )
    if found.problems:
        console.print(f"{len(found.problems):,} rows left out", style="bold")
        for line in found.problems.describe():
            console.print(f"  {line}")
