"""A table of accuracy records and their latencies, as Markdown.

R=results/any_encoder; python -m studies.any_encoder.report $R/minilm.json --latency $R/latency.json
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option, echo

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
        echo("\n".join(table(read_json(record), times[record.stem])))


def table(record: dict[str, Any], times: dict[str, Any]) -> list[str]:
    """Lines of one table: a row for each file, times also as a share of our float TFLite file's."""
    sets = list(record["pairs"])
    names = [(of, figure) for of in sets for figure in next(iter(record["files"].values()))[of]]
    base = times["tflite-none"]["p50_ms"]
    heads = ["file", "recipe", "MB", *(f"{of}: {figure}" for of, figure in names), "p50 ms", "of float"]
    lines = [_row(heads), _row(["---"] * len(heads))]
    for name, facts in record["files"].items():
        p50 = times[name]["p50_ms"]
        lines.append(
            _row(
                [
                    name,
                    facts.get("recipe", ""),
                    f"{facts['bytes'] / UNIT:.1f}",
                    *(f"{facts[of][figure]:.4f}" for of, figure in names),
                    f"{p50:.2f}",
                    f"{p50 / base:.2f}",
                ]
            )
        )
    return lines


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    run(main)
