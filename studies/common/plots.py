"""Plots of the studies: panels of one size, one set of colours, PNG files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from mobilebert_runtime.files import replacing

BLUE, RED, GREEN, PURPLE, GREY = "#4878a8", "#c44e30", "#5f9e5a", "#8a63a6", "#b0b0b0"
COLOURS = (BLUE, RED, GREEN, PURPLE)
CATEGORY_TICKS = [1, 2, 3, 4], ["CAT1", "CAT2", "CAT3", "CAT4"]


def panels(
    width: float, height: float, columns: int = 1, rows: int = 1, **options: Any
) -> tuple[Figure, Any]:
    """A figure of `rows` × `columns` panels, each so many inches; the axes as an array of that shape."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def save(figure: Figure, out: Path, dpi: int = 130) -> None:
    """Write a PNG whole or not at all, whatever its name ends in; what was there is replaced."""
    with replacing(out, force=True) as partial:
        figure.savefig(partial, dpi=dpi, format="png")
