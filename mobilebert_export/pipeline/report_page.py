"""A report for people: report.md, and the tables that a command prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mobilebert_export.pipeline.exact_rewrites import Rewrites
from mobilebert_export.pipeline.recipe_choice import Rejected
from mobilebert_export.pipeline.report import Report
from mobilebert_export.tflite.writer import Delegation
from mobilebert_export.verification.accuracy_budget import Budget
from mobilebert_export.verification.decision_changes import sentence
from mobilebert_export.verification.verify import Verification

if TYPE_CHECKING:
    from mobilebert_quantize.kronecker_lowering import LoweredLayer

Row = tuple[str, str, str]
# Rows of the table of products that stay as the recipe has them; report.json has all.
WORST_PRODUCTS = 10


def to_markdown(report: Report) -> str:
    """report.json as a page."""
    lengths = ", ".join(map(str, report.buckets))
    lines = [f"# {report.model['name']}: {report.recipe}, {lengths} tokens", ""]
    lines += _table(("", "value", "allowed"), verification_rows(report.verification, report.budget))
    if report.budget:
        lines += [_budget_sentence(report.budget), ""]
    lines += [_reference_sentence(report), ""]
    if report.not_read:
        lines += [f"Not read in the model directory: {', '.join(report.not_read)}.", ""]
    lines += _choice_lines(report)
    lines += ["## Size and speed", ""]
    lines += _table(("", report.recipe, f"{report.target}-none"), _cost_rows(report))
    graph = report.graph
    lines += ["## Graph", ""]
    if graph.xnnpack:
        lines += [_xnnpack_sentence(graph.xnnpack), ""]
    before = (report.float32_graph or graph).operators
    kinds = sorted(graph.operators | before, key=lambda kind: -graph.operators.get(kind, 0))
    lines += _table(
        ("operator", report.recipe, "float32"),
        ((kind, graph.operators.get(kind, 0), before.get(kind, 0)) for kind in kinds),
    )
    if report.rewrites:
        lines += _rewrite_lines(report.rewrites)
    if rounding := report.weight_rounding:
        lines += [
            f"Weights of {rounding['layers']:.0f} linear layers are rounded so that outputs change least.",
            f"Error over signal of a layer, on average: {rounding['noise']:.1e}",
            f"(to the nearest weights: {rounding['noise_nearest']:.1e}).",
            "",
        ]
    if report.kronecker:
        lines += _kronecker_lines(report.kronecker)
    runtimes = ", ".join(f"{name} ≥ {version}" for name, version in report.minimum_runtime.items())
    made = ", ".join(f"{name} {version}" for name, version in report.made_with.items())
    return "\n".join([*lines, f"Runs in {runtimes}. Made with {made}.", ""])


def print_summary(report: Report, out: Path) -> None:
    """The table a user sees at the end of an export, on stdout."""
    rows = [
        *((f"{one.recipe} {one.outcome}", one.failures[0], "") for one in _not_taken(report)),
        *verification_rows(report.verification, report.budget),
        *((name, value, plain and f"float32: {plain}") for name, value, plain in _cost_rows(report)),
    ]
    if found := report.graph.xnnpack:
        delegated = f"{found.delegated_operators} of {found.all_operators}"
        rows += [("operators in XNNPACK", delegated, ""), ("XNNPACK partitions", str(found.partitions), "")]
    print_rows(f"{report.recipe} → {out}", rows)


def print_rows(title: str, rows: Iterable[Row]) -> None:
    """A three-column table on stdout: what, value, what it is compared with."""
    from rich.table import Table

    from mobilebert_export.terminal import Terminal

    table = Table(title=title, show_header=False, title_justify="left")
    for row in rows:
        table.add_row(*row)
    Terminal().print(table)


def verification_rows(found: Verification, budget: Budget | None = None) -> list[Row]:
    """Name, value and tolerance of each figure of the comparison with PyTorch."""
    allowed = found.tolerance
    rows = [(f"{found.of} compared with PyTorch", str(found.pairs), "")]
    for value, least, what, digits in (
        (found.label_agreement, allowed.min_label_agreement, "label agreement", 4),
        (found.rank_agreement, allowed.min_rank_agreement, "rank agreement (Spearman)", 5),
        (found.min_cosine, allowed.min_cosine, "smallest cosine", 6),
    ):
        if value is not None:
            rows.append((what, f"{value:.{digits}f}", "" if least is None else f"≥ {least}"))
    if found.expected_loss is not None:
        loss, most = (100 * share for share in (found.expected_loss, allowed.max_expected_loss))
        rows.append(("expected loss of accuracy", f"{loss:.2f} points", f"≤ {most:.2f}"))
    limit = allowed.max_abs_logit
    rows.append(("max |Δlogit|", f"{found.max_abs_logit:.2e}", "" if limit is None else f"≤ {limit:.0e}"))
    if changes := found.decisions:
        p99 = f"{changes.p99_logit:.3f}"
        rows += [("quantising", sentence(changes, budget), ""), ("99th percentile of |Δlogit|", p99, "")]
    return rows


def _cost_rows(report: Report) -> Iterable[Row]:
    size = report.bytes
    yield "model file", f"{size.model / 1e6:.1f} MB", f"{size.float32 / 1e6:.1f} MB"
    if latency := report.latency:
        fast, slow = latency.quantised, latency.float32
        threads = f"{latency.threads} thread{'s' * (latency.threads > 1)}"
        for key, what in (
            ("p50_ms", "median"),
            ("p90_ms", "90th percentile"),
            ("first_ms", "first inference"),
        ):
            yield f"{what}, {threads}", f"{fast[key]:.1f} ms", f"{slow[key]:.1f} ms"
        yield "memory of the model", f"{fast['model_mib']:.0f} MiB", f"{slow['model_mib']:.0f} MiB"
        yield "time / float32, interleaved", f"{latency.ratio:.2f}", "1"
        if latency.troubled_sessions:
            busy = f"{latency.troubled_sessions} of {latency.sessions} sessions"
            yield "rough times: machine was busy", busy, ""


def _not_taken(report: Report) -> tuple[Rejected, ...]:
    """The recipes that were not tried, and those that were and not taken."""
    return (*report.recipes_not_tried, *report.recipes_tried)


def _choice_lines(report: Report) -> list[str]:
    """Which recipes were not taken, and what static ranges cost the products that cost most."""
    lines = []
    for one in _not_taken(report):
        lines += [f"{one}.", ""]
    if not report.products:
        return lines
    worst = sorted(report.products, key=lambda product: product.sqnr_db)
    shown = [one for one in worst if one.form != "static"]
    shown += [one for one in worst if one.form == "static"][:WORST_PRODUCTS]
    lines += ["## Products", "", f"Of {len(worst)} products with int8 ranges from calibration:", ""]
    rows = ((one.name, one.form, f"{one.sqnr_db:.1f}") for one in shown)
    return [*lines, *_table(("result", "ranges", "signal / noise of static ones, dB"), rows)]


def _budget_sentence(budget: Budget) -> str:
    kept = "; ".join(budget.kept_float) or "nothing"
    return (
        f"Accuracy on {budget.pairs} labelled pairs: {budget.float32_accuracy:.2f}% in float, "
        f"{budget.accuracy_before:.2f}% with every product in integers, {budget.accuracy:.2f}% as "
        f"shipped; allowed is a drop of {budget.max_accuracy_drop} points. Back in float: {kept}."
    )


def _reference_sentence(report: Report) -> str:
    found = report.library
    if found is None:
        return "The reference is this project's own network: no other library loads this model."
    cut = f"; texts are cut to {report.seq_len} tokens" if found.limit is None else ""
    if found.limit is not None and found.limit > report.seq_len:
        cut = f"; texts are cut to {report.seq_len} tokens, where the library reads {found.limit}"
    return (
        f"From text to answer the float model equals {found.library} on {found.texts} texts that make "
        f"settings matter: the largest difference is {found.largest:.1e} (allowed: {found.allowed:.0e}){cut}."
    )


def _rewrite_lines(rewrites: Rewrites) -> list[str]:
    """The passes, what each is worth, and what is left to compute."""
    before, after = rewrites.before, rewrites.after
    kinds = sorted(before.operators | after.operators, key=lambda kind: -before.operators.get(kind, 0))
    lines = ["## Rewrites", "", "Exact: in float64 the outputs stay the same, measured after each pass.", ""]
    lines += _table(
        ("pass", "identity", "changed", "left", "relative difference"),
        (
            (
                done.name,
                done.identity,
                ", ".join(f"{count} {what}" for what, count in done.changed.items() if count) or "nothing",
                "; ".join(done.skipped),
                f"{done.relative_difference:.0e}",
            )
            for done in rewrites.passes
        ),
    )
    lines += _table(
        ("of one inference, in PyTorch", "before", "after"),
        (
            ("multiply-accumulates", f"{before.macs / 1e6:.1f} M", f"{after.macs / 1e6:.1f} M"),
            *((kind, before.operators.get(kind, 0), after.operators.get(kind, 0)) for kind in kinds),
        ),
    )
    if found := rewrites.equalisation:
        lines += [
            "Equalised for int8; predicted noise over signal, summed over the tensors' readers:",
            "",
        ]
        lines += _table(
            ("tensors", "groups", "before", "after"),
            (
                (kind, one["groups"], f"{one['noise_before']:.2e}", f"{one['noise_after']:.2e}")
                for kind, one in found.items()
            ),
        )
    return lines


def _kronecker_lines(layers: Sequence[LoweredLayer]) -> list[str]:
    """How each Kronecker layer was lowered, and what either way costs."""
    factored = sum(layer.factored_us for layer in layers)
    multiplied = sum(layer.materialised_us for layer in layers)
    chosen = sum(one.factored_us if one.form == "factored" else one.materialised_us for one in layers)
    times = (
        "Times are the cost model's, one text of every length together: "
        f"{chosen / 1000:.1f} ms as exported, {factored / 1000:.1f} all factored, "
        f"{multiplied / 1000:.1f} all multiplied out."
    )
    rows = (
        (
            layer.name.removeprefix("encoder."),
            f"{layer.rank} · {layer.a[0]}×{layer.a[1]} ⊗ {layer.b[0]}×{layer.b[1]}",
            layer.form,
            f"{layer.factored_us:.0f} µs",
            f"{layer.materialised_us:.0f} µs",
            f"{layer.factored_weights:,}",
            f"{layer.materialised_weights:,}",
        )
        for layer in layers
    )
    header = ("layer", "factors", "form", "factored", "multiplied out", "weights", "multiplied out")
    return ["## Kronecker layers", "", times, "", *_table(header, rows)]


def _xnnpack_sentence(found: Delegation) -> str:
    share = found.delegated_operators / found.all_operators
    left = ", ".join(f"{count} {kind}" for kind, count in found.left_out.items()) or "nothing"
    return (
        f"XNNPACK runs {found.delegated_operators} of {found.all_operators} operators ({share:.0%}) in "
        f"{found.partitions} partition{'s' * (found.partitions != 1)}; left to TFLite: {left}."
    )


def _table(header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]
