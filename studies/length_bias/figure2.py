"""Figure 2 of Jiang et al. 2022: the true positive rate of every matcher over the four categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

# One colour a matcher, the same whichever of them were run.
COLOURS = ("#4878a8", "#c44e30", "#5f9e5a", "#8a63a6")


class Point(NamedTuple):
    """The true positive rate of one category, as shares of 1."""

    category: int
    value: float
    low: float
    high: float


def draw(panels: Mapping[str, Mapping[str, Sequence[Sequence[Point]]]], out: Path) -> None:
    """Write a PNG with one panel per data set: rates against categories, whiskers their intervals.

    Args:
        panels: data set → matcher → the points of the matcher trained on the original set (solid) and, where
            there is one, on the adversarial set (dashed).
        out: the file; whatever its name ends in, it is a PNG.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.6 * len(panels), 3.8), squeeze=False, layout="constrained"
    )
    names = list(dict.fromkeys(name for matchers in panels.values() for name in matchers))
    for axis, (title, matchers) in zip(axes[0], panels.items(), strict=True):
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
        axis.set_xticks([1, 2, 3, 4], ["CAT1", "CAT2", "CAT3", "CAT4"])
        axis.set_ylabel("true positive rate")
        axis.set_title(title)
        axis.grid(axis="y", alpha=0.3)
        axis.legend(frameon=False, fontsize="x-small", loc="best")
    figure.savefig(out, dpi=150, format="png")
    plt.close(figure)
