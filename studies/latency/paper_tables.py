"""The latency tables of the MobileBERT paper, remade: ratios here beside ratios on the authors' phone.

Milliseconds of another machine mean nothing here, and a Pixel 4's nothing there; ratios within a table do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from android_bench.measuring import statistics
from android_bench.measuring.latency import BenchError, Comparison
from android_bench.measuring.latency_record import Record
from android_bench.measuring.latency_report import bench_markdown, write_files
from studies.common.markdown import table as markdown_table
from studies.common.markdown import with_interval
from studies.common.plots import panels, save

QUANTS = ("none", "int8")
SEQ_LEN = 128


@dataclass(frozen=True)
class PaperRow:
    """A network and the paper's latency of it."""

    name: str  # how `studies.latency.paper_models` calls it; its artefacts are NAME-none and NAME-int8
    label: str
    published_ms: float | None  # Pixel 4, 4 threads, 128 tokens, TensorFlow Lite of 2020; None: not given


@dataclass(frozen=True)
class PaperTable:
    """Networks that the paper compares, and the one that all are compared with here."""

    title: str
    base: str
    rows: tuple[PaperRow, ...]


TABLES = {
    "7": PaperTable(
        "MobileBERT Table 7: operational optimisations",
        "mobilebert",
        (
            PaperRow("layernorm-gelu", "LayerNorm & GELU", 192),
            PaperRow("layernorm-relu", "LayerNorm & ReLU", 167),
            PaperRow("nonorm-gelu", "NoNorm & GELU", 92),
            PaperRow("mobilebert", "NoNorm & ReLU", 62),
        ),
    ),
    "models": PaperTable(
        "Models of MobileBERT Table 4 and KroneckerBERT",
        "mobilebert",
        (
            PaperRow("bert-base", "BERT_BASE", 342),
            PaperRow("mobilebert", "MobileBERT", 62),
            PaperRow("mobilebert-tiny", "MobileBERT_TINY", 40),
            PaperRow("kroneckerbert-8", "KroneckerBERT_8", None),  # its paper counts FLOPs and times nothing
        ),
    ),
}


def find_table(name: str) -> PaperTable:
    """A table by the name `--table` gives it; an unknown one is a `BenchError`."""
    if name not in TABLES:
        raise BenchError(f"--table {name!r} is unknown; expected one of {', '.join(TABLES)}")
    return TABLES[name]


def artefact_names(table: PaperTable) -> list[str]:
    """The candidates of a table, in the order they are measured."""
    return [f"{row.name}-{quant}" for row in table.rows for quant in QUANTS]


def ratios(run: Comparison, table: PaperTable) -> list[dict[str, Any]]:
    """A row per network: time relative to the table's base, in the paper and here.

    Returns:
        `label`, `published_ms`, `published` (the paper's ratio, or None), and for each quantisation `ratio`,
        its 98% `interval` (None from fewer than five sessions or for the base itself) and `median_ms`.
    """
    published_base = next(row.published_ms for row in table.rows if row.name == table.base)
    found = []
    for row in table.rows:
        published = row.published_ms and published_base and row.published_ms / published_base
        here = {quant: time_ratio(run, f"{table.base}-{quant}", f"{row.name}-{quant}") for quant in QUANTS}
        found.append(
            {"label": row.label, "published_ms": row.published_ms, "published": published, "here": here}
        )
    return found


def paper_markdown(record: Record, table: PaperTable) -> str:
    """The paper's table with ours beside it, then the whole run."""
    rows = ratios(record.comparison, table)
    base = next(row.label for row in table.rows if row.name == table.base)
    threads = record.comparison.candidates[0].threads
    how = (
        f"Time relative to {base}, {SEQ_LEN} tokens, batch 1, random weights. The paper: a Pixel 4 with four "
        f"threads, TensorFlow Lite of 2020. Here: {record.comparison.machine['cpu']}, {threads} thread(s)."
    )
    head = ["", "Pixel 4 ms", "Pixel 4", "fp32", "int8", "fp32 ms", "int8 ms"]
    lines = []
    for row, entry in zip(rows, table.rows, strict=True):
        fp32, int8 = (row["here"][quant] for quant in QUANTS)
        lines.append(
            [
                row["label"],
                with_interval(row["published_ms"], None, 0),
                with_interval(row["published"], None, 2),
                with_interval(fp32["ratio"], fp32["interval"], 2),
                with_interval(int8["ratio"], int8["interval"], 2),
                f"{fp32['median_ms']:.1f}",
                f"{int8['median_ms']:.1f}",
                _outside(record.facts[f"{entry.name}-int8"]),
            ]
        )
    page = markdown_table([*head, "int8 operators outside XNNPACK"], lines)
    return "\n\n".join([f"# {table.title}", how, page, bench_markdown(record)])


def write_paper(record: Record, table: PaperTable, stem: Path, *, force: bool = False) -> list[Path]:
    """Write stem.json (the record and the table's ratios), stem.md and stem.png."""
    rows = ratios(record.comparison, table)
    data = {**record.to_json(), "paper": {"title": table.title, "base": table.base, "rows": rows}}
    page = paper_markdown(record, table)
    return write_files(stem, data, page, lambda path: plot(rows, table.title, path), force=force)


def plot(rows: list[dict[str, Any]], title: str, path: Path) -> None:
    """Bars of the ratios: the paper's, fp32 here, int8 here."""
    figure, ((axis,),) = panels(8, 4)
    place = np.arange(len(rows))
    series = (
        ("Pixel 4 (paper)", [row["published"] or 0 for row in rows]),
        ("fp32 here", [row["here"]["none"]["ratio"] for row in rows]),
        ("int8 here", [row["here"]["int8"]["ratio"] for row in rows]),
    )
    for shift, (label, heights) in zip((-0.27, 0, 0.27), series, strict=True):
        bars = axis.bar(place + shift, heights, 0.25, label=label)
        axis.bar_label(bars, [f"{height:.2f}" if height else "–" for height in heights], fontsize=8)
    axis.set_xticks(place, [row["label"] for row in rows])
    axis.axhline(1, color="grey", lw=0.8)
    axis.set(ylabel="time relative to the base", title=title)
    axis.legend()
    save(figure, path)


def time_ratio(run: Comparison, base: str, candidate: str) -> dict[str, Any]:
    """A candidate's time over another's: `ratio`, its 98% `interval` as in `ratios`, and `median_ms`."""
    before, after = run.medians(base), run.medians(candidate)
    low, high = statistics.ratio_interval(before, after)
    known = candidate != base and np.isfinite(high)
    return {
        "ratio": 1.0 if candidate == base else float(statistics.ratio(before, after)),
        "interval": [float(low), float(high)] if known else None,
        "median_ms": float(np.median(after)),
    }


def _outside(facts: Mapping[str, Any]) -> str:
    """What XNNPACK leaves to the interpreter: the reason for most of what differs between fp32 and int8."""
    if not (graph := facts.get("xnnpack")):
        return "–"
    left = graph["all_operators"] - graph["delegated_operators"]
    return f"{left} of {graph['all_operators']}, {graph['partitions']} partition(s)"
