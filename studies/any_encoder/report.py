"""A table of accuracy records and their latencies, as Markdown.

R=results/any_encoder; python -m studies.any_encoder.report $R/minilm.json --latency $R/latency.json
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option, echo

from studies.common.markdown import table
from studies.common.records import read_json
from studies.common.script import run

UNIT = 1e6  # bytes in a megabyte


def main(
    records: Annotated[list[Path], Argument(help="Records of studies.any_encoder.accuracy.")],
    latency: Annotated[Path, Option(help="Record of studies.any_encoder.latency with the same models.")],
) -> None:
    """Print a table for each record."""
    times = read_json(latency)["models"]
    for record in records:
        echo(f"\n**{record.stem}**\n")
        echo(accuracy_and_latency(read_json(record), times[record.stem]))


def accuracy_and_latency(record: dict[str, Any], times: dict[str, Any]) -> str:
    """One table: a row for each file, times also as a share of our float TFLite file's."""
    sets = list(record["pairs"])
    names = [(of, figure) for of in sets for figure in next(iter(record["files"].values()))[of]]
    base = times["tflite-none"]["p50_ms"]
    heads = ["file", "recipe", "MB", *(f"{of}: {figure}" for of, figure in names), "p50 ms", "of float"]
    rows = []
    for name, facts in record["files"].items():
        p50 = times[name]["p50_ms"]
        scores = [f"{facts[of][figure]:.4f}" for of, figure in names]
        size = f"{facts['bytes'] / UNIT:.1f}"
        rows.append([name, facts.get("recipe", ""), size, *scores, f"{p50:.2f}", f"{p50 / base:.2f}"])
    return table(heads, rows)


if __name__ == "__main__":
    run(main)
