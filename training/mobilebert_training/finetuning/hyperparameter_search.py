"""The search over batch size, learning rate and epochs that MobileBERT fine-tunes with (section 4.2)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from mobilebert_runtime.files import write_json
from mobilebert_training.run_directory import claim
from mobilebert_training.training_config import ResumeError, TrainingConfig


@dataclass(frozen=True)
class Cell:
    """One fine-tuning run of the search."""

    batch_size: int
    learning_rate: float
    epochs: float

    @property
    def name(self) -> str:
        """Name of its folder and record."""
        return f"b{self.batch_size}-lr{self.learning_rate:g}-e{self.epochs:g}"

    def loop(self, seed: int, dtype: str = "float32") -> TrainingConfig:
        """How to optimise it; `dtype` as in `TrainingConfig`."""
        return TrainingConfig(self.epochs, self.batch_size, self.learning_rate, seed=seed, dtype=dtype)


BATCH_SIZES = (16, 32, 48)
LEARNING_RATES = tuple(round(n * 1e-5, 6) for n in range(1, 11))
EPOCHS = tuple(range(2, 11))


def grid(
    batch_sizes: Sequence[int] = BATCH_SIZES,
    learning_rates: Sequence[float] = LEARNING_RATES,
    epochs: Sequence[float] = EPOCHS,
) -> list[Cell]:
    """Every combination; without arguments the paper's 270."""
    return [Cell(*values) for values in product(batch_sizes, learning_rates, epochs)]


def search(
    cells: Sequence[Cell],
    run: Callable[[Cell, Path], tuple[Any, dict[str, Any]]],
    keep: Callable[[Any], None],
    out: Path,
    *,
    select: str,
    metadata: dict[str, Any],
    inputs: dict[str, Any],
    force: bool = False,
    callback: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run every cell that has no record yet and return the best by a development figure.

    A record appears only after its model is safe, so an interrupted search goes on where it was: finished
    cells are read, the interrupted one resumes from its checkpoint.

    Args:
        cells: what to run, in order.
        run: fine-tunes a cell in a folder of its own; gives the model and its record with `dev` figures.
        keep: saves the best model so far.
        out: gets cells/NAME.json, one a cell, and best.json.
        select: name of the `dev` figure that decides; of equals the earlier cell.
        metadata: what every record says.
        inputs: what every cell depends on, see `claim`.
        force: begin anew where `out` holds a search with other inputs.
        callback: progress, a line at a time.

    Raises:
        ResumeError: no cell, or `out` holds a search with other inputs.
    """
    if not cells:
        raise ResumeError("the search has no cell; give at least one value of each")
    claim(out, "search", inputs, force=force)
    folder = out / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    best: dict[str, Any] | None = None
    for number, cell in enumerate(cells, start=1):
        path = folder / f"{cell.name}.json"
        if path.is_file():
            record = json.loads(path.read_text(encoding="utf-8"))
            better = best is None or record["dev"][select] > best["dev"][select]
        else:
            model, found = run(cell, folder / cell.name)
            record = {"cell": asdict(cell), "metadata": metadata} | found
            better = best is None or record["dev"][select] > best["dev"][select]
            if better:
                keep(model)
            write_json(path, record)
        if better:
            best = record
        callback(f"{number} of {len(cells)}: {cell.name} {select} {record['dev'][select]:.4f}")
    assert best is not None
    best |= {"cells": len(cells), "selected_by": select}
    write_json(out / "best.json", best)
    return best
