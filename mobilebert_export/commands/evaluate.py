"""`mobilebert evaluate`: figures of a model directory or an artefact on labelled pairs."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option


def evaluate(
    matcher: Annotated[str, Argument(help="Model directory, artefact folder, or 'shipped'.")],
    data: Annotated[Path, Option(help="Labelled pairs (TSV, CSV, JSON Lines, Parquet).")],
    train: Annotated[
        Path | None, Option(help="Training pairs that cut CAT1 to CAT4; default: the data itself.")
    ] = None,
    threads: Annotated[int, Option(help="CPU threads.")] = 2,
    json_file: Annotated[Path | None, Option("--json", help="Also write everything there.")] = None,
    force: Annotated[bool, Option("--force", help="Replace the JSON file.")] = False,
) -> None:
    """Evaluate a matcher on labelled pairs.

    Accuracy, balanced accuracy, F1, AUC, ECE with 95% intervals, and accuracy and true positive rate by
    length-divergence category. An artefact runs in its own runtime, at its own fixed length.
    """
    import numpy as np
    from rich.console import Console

    from matching.audit import load_quartiles
    from matching.evaluation import evaluate as figures
    from matching.output import check_output, write_json
    from matching.split import read_labelled
    from mobilebert_export.scoring import open_scorer

    if json_file:
        check_output(json_file, force=force)
    pairs, labels = read_labelled(data)
    quartiles = load_quartiles(train, "pairwise") if train else None
    scorer = open_scorer(matcher, threads)
    console = Console(stderr=True)
    parts = []
    with console.status("") as status:
        for start in range(0, len(pairs), 256):
            parts.append(scorer.score(pairs[start : start + 256]))
            status.update(f"{min(start + 256, len(pairs)):,} of {len(pairs):,} pairs")
    result = figures(pairs, labels, np.concatenate(parts), scorer.threshold, quartiles)
    # An absolute path says where one machine keeps the folder; its name is what the record is about.
    name = Path(matcher).name if Path(matcher).is_absolute() else matcher
    record = {"matcher": name, "runtime": scorer.runtime, "data": "/".join(data.parts[-2:])} | result
    _print(record, Console())
    if json_file:
        write_json(json_file, record)


def _print(record: dict[str, Any], console: Any) -> None:
    """The record as two small tables."""
    from rich.table import Table

    overall = Table("figure", "value", "95% interval", title=f"{record['matcher']} ({record['runtime']})")
    for name in ("accuracy", "balanced_accuracy", "f1_macro", "auc", "ece"):
        low, high = record.get(f"{name}_interval", (None, None))
        value = record[name]
        shown = "–" if value is None else f"{value:.4f}"
        overall.add_row(name.replace("_", " "), shown, "" if low is None else f"{low:.4f} – {high:.4f}")
    by_category = Table("category", "pairs", "accuracy", "true positive rate", title="by length divergence")
    for row in record["categories"]:
        rates = (row["accuracy"], row["true_positive_rate"])
        shown_rates = ("–" if rate is None else f"{rate:.4f}" for rate in rates)
        by_category.add_row(row["category"], f"{row['pairs']:,}", *shown_rates)
    console.print(overall)
    console.print(by_category)
