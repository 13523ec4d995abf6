"""`mobilebert models`: the presets with parameters by part, MACs and bytes."""

import json
import sys
from typing import Annotated

from typer import Option


def models(as_json: Annotated[bool, Option("--json", help="Everything, as JSON.")] = False) -> None:
    """List the shipped matchers and the model presets: parameters, MACs, bytes.

    Encoders without a task head; MACs of one sequence of 128 tokens. int8 counts one byte per matrix entry;
    "weights" is the size of the weights that come with this program, in eight and four bits and word codes:
    the .tflite file of a shipped matcher is about as large.
    """
    from mobilebert_models import PRESETS, SHIPPED_MATCHERS, find_directory, inventory, read_config

    shipped = {name: find_directory(name) for name in SHIPPED_MATCHERS}
    configs = {name: read_config(folder) for name, folder in shipped.items()} | PRESETS
    found = {name: inventory(config) for name, config in configs.items()}
    for name, folder in shipped.items():
        found[name]["bytes"]["weights"] = (folder / "model.safetensors").stat().st_size
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from mobilebert_export.terminal import Terminal

    parts = list(
        dict.fromkeys(part for row in found.values() for part in row["parameters"] if part != "total")
    )
    table = Table(title="Parameters and MACs in millions, bytes in MB", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("preset", no_wrap=True)
    for column in ("total", *(part.replace("_", "\n") for part in parts), "MACs", "fp32", "int8", "weights"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, row in found.items():
        counts = [row["parameters"].get(part, 0) for part in ("total", *parts)]
        sizes = row["macs"], row["bytes"]["fp32"], row["bytes"]["int8"]
        kept = row["bytes"].get("weights")
        cells = [*(f"{n / 1e6:,.1f}" for n in counts), *(f"{n / 1e6:,.0f}" for n in sizes)]
        table.add_row(name, *cells, f"{kept / 1e6:,.1f}" if kept else "")
    # A narrower terminal wraps the lines, but no figure is cut.
    Terminal(width=max(Terminal().width, 150)).print(table)
