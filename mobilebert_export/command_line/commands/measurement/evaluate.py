"""`mobilebert evaluate`: measure a model directory or an artefact on labelled pairs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_export.command_line.named_columns import ColumnNames, known_columns

if TYPE_CHECKING:
    from mobilebert_export.terminal import Terminal

SHOWN = ("accuracy", "balanced_accuracy", "f1", "f1_macro", "auc", "ece")


def evaluate(
    matcher: Annotated[str, opt.MODEL, Argument(help="Model directory, artefact folder, or 'shipped'.")],
    data: Annotated[Path, opt.INPUT_FILE, Option(help="Labelled pairs (TSV, CSV, JSON Lines, Parquet).")],
    train: Annotated[
        Path | None,
        opt.INPUT_FILE,
        Option(
            help="Training pairs: they cut CAT1 to CAT4 (default: the data itself); tested pairs that are "
            "among them are reported."
        ),
    ] = None,
    text_a: opt.TextA = None,
    text_b: opt.TextB = None,
    label: opt.Label = None,
    positive_label: opt.PositiveLabel = None,
    threads: opt.Threads = 2,
    symmetric: opt.Symmetric = False,
    positive: opt.PositiveClass = None,
    max_recall_gap: Annotated[
        float | None,
        opt.POINTS,
        Option(help="Exit 1 where TPR CAT1 − CAT4 is further from 0 than so many points."),
    ] = None,
    json_file: opt.JsonFile = None,
    force: opt.Force = False,  # noqa: ARG001 (the check of options reads it)
) -> None:
    """Evaluate a matcher on labelled pairs.

    Accuracy, balanced accuracy, F1, AUC, ECE with 95% intervals on all pairs and on the adversarial test: the
    pairs that stay when every length-divergence category is down-sampled to the overall ratio of positives.
    Accuracy and true positive rate by category, the gap of that rate between CAT1 and CAT4, and whether a
    classifier that sees lengths alone can predict the errors. An artefact runs in its own runtime, at its own
    fixed length.

    With --max-recall-gap a gate: the gap on all pairs is judged once everything is printed and recorded.
    Fewer than ten pairs of label 1 in CAT1 or in CAT4 fail it too.
    """
    from mobilebert_export.evaluation import scoring
    from mobilebert_export.terminal import Terminal
    from mobilebert_matching.evaluation.bias_measures import require_recall_gap
    from mobilebert_runtime.files import write_json

    names = ColumnNames(text_a, text_b, label, positive_label)
    with (
        known_columns(data, names) as pairs,
        known_columns(train, names) if train else nullcontext() as cut_by,
        Terminal(stderr=True).status("") as status,
    ):
        found = scoring.evaluate(
            matcher,
            pairs,
            cut_by,
            threads=threads,
            symmetric=symmetric,
            positive=positive,
            progress=lambda done, whole: status.update(f"{done:,} of {whole:,} pairs"),
        )
    record = found.to_json()
    _print(record, Terminal())
    if json_file:
        write_json(json_file, record)
    if found.seen_in_training:
        said = f"{found.seen_in_training:,} of {found.pairs:,} pairs were trained on, as they are or swapped"
        Terminal(stderr=True).print(f"warning: {said}; these figures are too good", soft_wrap=True)
    if max_recall_gap is not None:
        first, *_, last = (category["positives"] for category in record["categories"])
        require_recall_gap(record["tpr_gap"]["value"], max_recall_gap, (first, last))


def _print(record: dict[str, Any], console: Terminal) -> None:
    """The record as two small tables and what the lengths have to do with it."""
    from rich.table import Table

    tests = {"all pairs": record} | ({"adversarial": record["adversarial"]} if record["adversarial"] else {})
    overall = Table("figure", *tests, title=f"{record['matcher']} ({record['runtime']}), [95% interval]")
    overall.add_row("pairs", *(f"{found['pairs']:,}" for found in tests.values()))
    for name in SHOWN:
        cells = (_set(found[name], found.get(f"{name}_interval")) for found in tests.values())
        overall.add_row(name.replace("_", " "), *cells)
    gaps = (found["tpr_gap"] for found in tests.values())
    overall.add_row("TPR CAT1 − CAT4", *(_set(gap["value"], (gap["low"], gap["high"])) for gap in gaps))
    by_category = Table("category", title="by length divergence")
    for test in tests:
        for heading in ("pairs", "accuracy", "TPR"):
            by_category.add_column(f"{heading}, {test}")
    for rows in zip(*(found["categories"] for found in tests.values()), strict=True):
        cells = (
            cell
            for row in rows
            for cell in (f"{row['pairs']:,}", _set(row["accuracy"]), _set(row["true_positive_rate"]))
        )
        by_category.add_row(rows[0]["category"], *cells)
    probe = Table("what lengths alone predict", *tests, title="length-only probe, AUC (chance 0.5)")
    for question, meaning in (
        ("error", "which pairs are errors"),
        ("false_negative", "which errors are false negatives"),
        ("length_blind", "... of errors that lengths have no part in"),
        ("label", "the labels themselves"),
    ):
        answers = (found["length_probe"][question] for found in tests.values())
        probe.add_row(meaning, *(_set(answer["auc"], answer["interval"]) for answer in answers))
    console.width = max(console.width, 110)  # a narrower terminal wraps the lines, but no figure is cut
    for table in (overall, by_category, probe):
        console.print(table)
    source = record["quartiles_from"] or "the data itself"
    console.print(f"cuts of CAT1 to CAT4: from {source}", soft_wrap=True)
    if not record["adversarial"]:
        console.print(f"no adversarial test: {record['adversarial_missing']}")


def _set(value: float | None, interval: tuple[float | None, float | None] | None = None) -> str:
    shown = "–" if value is None else f"{value:.4f}"
    if interval is None:
        return shown
    low, high = interval
    return f"{shown} [too few pairs]" if low is None else f"{shown} [{low:.4f}, {high:.4f}]"
