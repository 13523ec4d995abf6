"""Figure 2 of Jiang et al. 2022: the true positive rate of every matcher over the four categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from studies.common.plots import CATEGORY_TICKS, COLOURS, panels, save


class Point(NamedTuple):
    """The true positive rate of one category, as shares of 1."""

    category: int
    value: float
    low: float
    high: float


def draw(rates: Mapping[str, Mapping[str, Sequence[Sequence[Point]]]], out: Path) -> None:
    """Write a PNG with one panel per data set: rates against categories, whiskers their intervals.

    Args:
        rates: data set → matcher → the points of the matcher trained on the original set (solid) and, where
            there is one, on the adversarial set (dashed).
        out: the file; whatever its name ends in, it is a PNG.
    """
    figure, axes = panels(4.6, 3.8, len(rates))
    # One colour a matcher, the same in every panel.
    names = list(dict.fromkeys(name for matchers in rates.values() for name in matchers))
    for axis, (title, matchers) in zip(axes[0], rates.items(), strict=True):
        for matcher, lines in matchers.items():
            number = names.index(matcher)
            for line, (points, style) in enumerate(zip(lines, ("-", "--"), strict=False)):
                # Whiskers of different matchers stand beside each other, not on top of each other.
                places = [p.category + 0.06 * (number - (len(names) - 1) / 2) for p in points]
                axis.errorbar(
                    places,
                    [p.value for p in points],
                    [[p.value - p.low for p in points], [p.high - p.value for p in points]],
                    color=COLOURS[number % len(COLOURS)],
                    linestyle=style,
                    marker="o" if line == 0 else "s",
                    markersize=4,
                    elinewidth=0.8,
                    alpha=1.0 if line == 0 else 0.6,
                    label=matcher if line == 0 else f"{matcher}, adversarial training",
                )
        axis.set_xticks(*CATEGORY_TICKS)
        axis.set_ylabel("true positive rate")
        axis.set_title(title)
        axis.grid(axis="y", alpha=0.3)
        axis.legend(frameon=False, fontsize="x-small", loc="best")
    save(figure, out)
