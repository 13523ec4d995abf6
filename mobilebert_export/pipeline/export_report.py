"""report.json and report.md: what was verified, how large and fast it is, what the runtime makes of it."""

import importlib.metadata
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilebert_export.pipeline.recipe_choice import Chosen, Rejected
from mobilebert_export.verification.decision_changes import sentence
from mobilebert_runtime.card import ArtefactCard
from mobilebert_runtime.files import write_json

if TYPE_CHECKING:
    from mobilebert_quantize.kronecker_lowering import LoweredLayer

# Packages whose version decides what the files look like.
_WRITERS = (
    "torch",
    "litert-torch",
    "ai-edge-quantizer",
    "ai-edge-litert",
    "onnx",
    "onnxscript",
    "onnxruntime",
)

# Rows of the page's table of products that stay as the recipe has them; report.json has all.
WORST_PRODUCTS = 10


def write_report(
    folder: Path,
    plain: Path,
    *,
    card: ArtefactCard,
    model: dict[str, str],
    made: Chosen,
    left_out: Sequence[Rejected] = (),
    latency: dict[str, Any] | None,
    rewrites: dict[str, Any] | None = None,
    kronecker: "Sequence[LoweredLayer]" = (),
    rounding: dict[str, float] | None = None,
) -> dict[str, Any]:
    """Write report.json and report.md into an artefact folder.

    Args:
        folder: the artefact.
        plain: the float artefact it was quantised from; `folder` itself for a float export.
        card: the artefact's io.json.
        model: name and SHA-256 of the PyTorch weights.
        made: how it was quantised, how it compares with the PyTorch model, which recipes were not taken.
        left_out: recipes that were not tried.
        latency: from `exporter.measure_pair`, or None where there is no pair to measure.
        rewrites: from `exact_rewrites.rewrite`, or None where the network was converted as it was.
        kronecker: lowering of each Kronecker layer, from `kronecker_lowering.lower`; empty for a dense model.
        rounding: from `mobilebert_quantize.weight_rounding`, or None where weights are not in int8.

    Returns:
        The content of report.json.
    """
    report: dict[str, Any] = {
        "task": card.task,
        "target": card.target,
        "quant": card.quant,
        "seq_len": card.seq_len,
        "buckets": [bucket.seq_len for bucket in card.buckets],
        "model": model,
        "recipe": made.recipe.name,
        "recipes_not_tried": [one.to_json() for one in left_out],
        "recipes_tried": [one.to_json() for one in made.rejected],
        "minimum_runtime": card.minimum_runtime,
        "verification": made.checked.to_json(),
        "bytes": {"model": _size(folder, card), "float32": _size(plain, card), "folder": _total(folder)},
        "graph": describe_graph(folder / card.model_file, card.target),
        "float32_graph": describe_graph(plain / card.model_file, card.target) if plain != folder else None,
        "latency": latency,
        "products": [product.to_json() for product in made.written.products],
        "budget": made.written.budget and made.written.budget.to_json(),
        "rewrites": rewrites,
        "weight_rounding": rounding,
        "kronecker": [layer.to_json() for layer in kronecker],
        "made_with": {"python": platform.python_version()} | _versions(_WRITERS),
    }
    write_json(folder / "report.json", report)
    (folder / "report.md").write_text(to_markdown(report), encoding="utf-8")
    return report


def describe_graph(path: Path, target: str) -> dict[str, Any]:
    """Operators of a model file and, for TFLite, what XNNPACK takes over."""
    if target == "tflite":
        from mobilebert_export.tflite.writer import describe_tflite

        return describe_tflite(path)
    from mobilebert_export.onnx.writer import describe_onnx

    return describe_onnx(path)


def to_markdown(report: dict[str, Any]) -> str:
    """report.json as a page."""
    lengths = ", ".join(map(str, report["buckets"]))
    lines = [f"# {report['model']['name']}: {report['recipe']}, {lengths} tokens", ""]
    lines += _table(("", "value", "allowed"), verification_rows(report))
    if budget := report.get("budget"):
        lines += [_budget_sentence(budget), ""]
    lines += _choice_lines(report)
    lines += ["## Size and speed", ""]
    lines += _table(("", report["recipe"], f"{report['target']}-none"), _cost_rows(report))
    graph = report["graph"]
    lines += ["## Graph", ""]
    if "xnnpack" in graph:
        lines += [_xnnpack_sentence(graph["xnnpack"]), ""]
    before = (report["float32_graph"] or graph)["operators"]
    kinds = sorted(graph["operators"] | before, key=lambda kind: -graph["operators"].get(kind, 0))
    lines += _table(
        ("operator", report["recipe"], "float32"),
        ((kind, graph["operators"].get(kind, 0), before.get(kind, 0)) for kind in kinds),
    )
    lines += _rewrite_lines(report["rewrites"])
    if rounding := report["weight_rounding"]:
        lines += [
            f"Weights of {rounding['layers']:.0f} linear layers are rounded so that outputs change least.",
            f"Error over signal of a layer, on average: {rounding['noise']:.1e}",
            f"(to the nearest weights: {rounding['noise_nearest']:.1e}).",
            "",
        ]
    lines += _kronecker_lines(report["kronecker"])
    runtimes = ", ".join(f"{name} ≥ {version}" for name, version in report["minimum_runtime"].items())
    made = ", ".join(f"{name} {version}" for name, version in report["made_with"].items())
    return "\n".join([*lines, f"Runs in {runtimes}. Made with {made}.", ""])


def print_summary(report: dict[str, Any], out: Path) -> None:
    """The table a user sees at the end of an export, on stdout."""
    rows = [
        *((f"{one['recipe']} {one['outcome']}", one["failures"][0], "") for one in _not_taken(report)),
        *verification_rows(report),
        *((name, value, plain and f"float32: {plain}") for name, value, plain in _cost_rows(report)),
    ]
    if "xnnpack" in report["graph"]:
        found = report["graph"]["xnnpack"]
        rows.append(
            ("operators in XNNPACK", f"{found['delegated_operators']} of {found['all_operators']}", "")
        )
        rows.append(("XNNPACK partitions", str(found["partitions"]), ""))
    print_rows(f"{report['recipe']} → {out}", rows)


def print_rows(title: str, rows: Iterable[tuple[str, str, str]]) -> None:
    """A three-column table on stdout: what, value, what it is compared with."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, show_header=False, title_justify="left")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def verification_rows(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Name, value and tolerance of each figure of the comparison with PyTorch."""
    found = report["verification"]
    allowed = found["tolerance"]
    limit = allowed["max_abs_logit"]
    rows = [(f"{found['of']} compared with PyTorch", str(found["pairs"]), "")]
    for name, what, digits in (
        ("label_agreement", "label agreement", 4),
        ("rank_agreement", "rank agreement (Spearman)", 5),
        ("min_cosine", "smallest cosine", 6),
    ):
        if found[name] is not None:
            least = allowed["min_" + name.removeprefix("min_")]
            rows.append((what, f"{found[name]:.{digits}f}", "" if least is None else f"≥ {least}"))
    if found["expected_loss"] is not None:
        loss, most = (100 * share for share in (found["expected_loss"], allowed["max_expected_loss"]))
        rows.append(("expected loss of accuracy", f"{loss:.2f} points", f"≤ {most:.2f}"))
    rows.append(("max |Δlogit|", f"{found['max_abs_logit']:.2e}", "" if limit is None else f"≤ {limit:.0e}"))
    if changes := found.get("decisions"):
        said = sentence(changes, report.get("budget"))
        p99 = f"{changes['p99_logit']:.3f}"
        rows += [("quantising", said, ""), ("99th percentile of |Δlogit|", p99, "")]
    return rows


def _cost_rows(report: dict[str, Any]) -> Iterable[tuple[str, str, str]]:
    size = report["bytes"]
    yield "model file", f"{size['model'] / 1e6:.1f} MB", f"{size['float32'] / 1e6:.1f} MB"
    if latency := report["latency"]:
        fast, slow = latency["quantised"], latency["float32"]
        threads = latency["threads"]
        for key, what in (
            ("p50_ms", "median"),
            ("p90_ms", "90th percentile"),
            ("first_ms", "first inference"),
        ):
            yield (
                f"{what}, {threads} thread{'s' * (threads > 1)}",
                f"{fast[key]:.1f} ms",
                f"{slow[key]:.1f} ms",
            )
        yield "memory of the model", f"{fast['model_mib']:.0f} MiB", f"{slow['model_mib']:.0f} MiB"
        yield "time / float32, interleaved", f"{latency['ratio']:.2f}", "1"
        if latency["troubled_sessions"]:
            busy = f"{latency['troubled_sessions']} of {latency['sessions']} sessions"
            yield "rough times: machine was busy", busy, ""


def _not_taken(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The recipes that were not tried, and those that were and not taken."""
    return [*report["recipes_not_tried"], *report["recipes_tried"]]


def _choice_lines(report: dict[str, Any]) -> list[str]:
    """Which recipes were not taken, and what static ranges cost the products that cost most."""
    lines = []
    for one in _not_taken(report):
        lines += [f"{one['recipe']} {one['outcome']}: {'; '.join(one['failures'])}.", ""]
    if not (products := report["products"]):
        return lines
    worst = sorted(products, key=lambda product: product["sqnr_db"])
    shown = [one for one in worst if one["form"] != "static"]
    shown += [one for one in worst if one["form"] == "static"][:WORST_PRODUCTS]
    lines += ["## Products", "", f"Of {len(products)} products with int8 ranges from calibration:", ""]
    rows = ((one["name"], one["form"], f"{one['sqnr_db']:.1f}") for one in shown)
    return [*lines, *_table(("result", "ranges", "signal / noise of static ones, dB"), rows)]


def _budget_sentence(budget: dict[str, Any]) -> str:
    kept = "; ".join(budget["kept_float"]) or "nothing"
    return (
        f"Accuracy on {budget['pairs']} labelled pairs: {budget['float32_accuracy']:.2f}% in float, "
        f"{budget['accuracy_before']:.2f}% with every product in integers, {budget['accuracy']:.2f}% as "
        f"shipped; allowed is a drop of {budget['max_accuracy_drop']} points. Back in float: {kept}."
    )


def _rewrite_lines(rewrites: dict[str, Any] | None) -> list[str]:
    """The passes, what each is worth, and what is left to compute."""
    if rewrites is None:
        return []
    before, after = rewrites["work"]["before"], rewrites["work"]["after"]
    first, then = before["operators"], after["operators"]
    kinds = sorted(first | then, key=lambda kind: -first.get(kind, 0))
    lines = ["## Rewrites", "", "Exact: in float64 the outputs stay the same, measured after each pass.", ""]
    lines += _table(
        ("pass", "identity", "changed", "left", "relative difference"),
        (
            (
                done["name"],
                done["identity"],
                ", ".join(f"{count} {what}" for what, count in done["changed"].items() if count) or "nothing",
                "; ".join(done["skipped"]),
                f"{done['relative_difference']:.0e}",
            )
            for done in rewrites["passes"]
        ),
    )
    lines += _table(
        ("of one inference, in PyTorch", "before", "after"),
        (
            ("multiply-accumulates", f"{before['macs'] / 1e6:.1f} M", f"{after['macs'] / 1e6:.1f} M"),
            *((kind, first.get(kind, 0), then.get(kind, 0)) for kind in kinds),
        ),
    )
    if found := rewrites["equalisation"]:
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


def _kronecker_lines(layers: list[dict[str, Any]]) -> list[str]:
    """How each Kronecker layer was lowered, and what either way costs."""
    if not layers:
        return []
    times = [sum(layer[f"{kind}_us"] for layer in layers) for kind in ("factored", "materialised")]
    chosen = sum(layer[f"{layer['form']}_us"] for layer in layers)
    sentence = (
        "Times are the cost model's, one text of every length together: "
        f"{chosen / 1000:.1f} ms as exported, {times[0] / 1000:.1f} all factored, "
        f"{times[1] / 1000:.1f} all multiplied out."
    )
    return [
        "## Kronecker layers",
        "",
        sentence,
        "",
        *_table(
            ("layer", "factors", "form", "factored", "multiplied out", "weights", "multiplied out"),
            (
                (
                    layer["name"].removeprefix("encoder."),
                    f"{layer['rank']} · {layer['a'][0]}×{layer['a'][1]} ⊗ {layer['b'][0]}×{layer['b'][1]}",
                    layer["form"],
                    f"{layer['factored_us']:.0f} µs",
                    f"{layer['materialised_us']:.0f} µs",
                    f"{layer['factored_weights']:,}",
                    f"{layer['materialised_weights']:,}",
                )
                for layer in layers
            ),
        ),
    ]


def _xnnpack_sentence(found: dict[str, Any]) -> str:
    share = found["delegated_operators"] / found["all_operators"]
    left = ", ".join(f"{count} {kind}" for kind, count in found["left_out"].items()) or "nothing"
    return (
        f"XNNPACK runs {found['delegated_operators']} of {found['all_operators']} operators ({share:.0%}) in "
        f"{found['partitions']} partition{'s' * (found['partitions'] != 1)}; left to TFLite: {left}."
    )


def _table(header: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def _size(folder: Path, card: ArtefactCard) -> int:
    return (folder / card.model_file).stat().st_size


def _total(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _versions(packages: Iterable[str]) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
