"""Figure 1 of Jiang et al. 2022: counts by label and their ratio over the four categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from mobilebert_matching.length_bias.bias_audit import Category

POSITIVE, NEGATIVE, RATIO = "#4878a8", "#c8c8c8", "#c44e30"


def draw(panels: Mapping[str, Sequence[Category]], out: Path) -> None:
    """Write a PNG with one panel per data set.

    Bars are the numbers of positive and negative pairs (left axis), the polyline is the ratio of the one to
    the other (right axis), as in the paper; a category without negatives has no point on the line.

    Args:
        panels: title → CAT1 to CAT4.
        out: the file; whatever its name ends in, it is a PNG.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import patheffects
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.4 * len(panels), 3.4), squeeze=False, layout="constrained"
    )
    for axis, (title, categories) in zip(axes[0], panels.items(), strict=True):
        places = [category.category for category in categories]
        width = 0.36
        axis.bar(
            [p - width / 2 for p in places],
            [c.positive for c in categories],
            width,
            color=POSITIVE,
            label="positive",
        )
        axis.bar(
            [p + width / 2 for p in places],
            [c.negative for c in categories],
            width,
            color=NEGATIVE,
            label="negative",
        )
        axis.set_xticks(places, [f"CAT{place}" for place in places])
        axis.set_ylabel("pairs")
        axis.yaxis.set_major_formatter("{x:,.0f}")
        axis.set_title(title, pad=26)
        right = axis.twinx()
        points = [(c.category, c.ratio) for c in categories if c.ratio is not None]
        right.plot(*zip(*points, strict=True), color=RATIO, marker="o", label="positive / negative")
        right.set_ylim(0, 1.25 * (max((ratio for _, ratio in points), default=0) or 1))
        for point in points:
            note = right.annotate(
                f"{point[1]:.2f}", point, (0, 6), textcoords="offset points", ha="center", color=RATIO
            )
            note.set_path_effects([patheffects.withStroke(linewidth=2.5, foreground="white")])
        right.set_ylabel("positive / negative", color=RATIO)
        right.tick_params(axis="y", colors=RATIO)
        handles = [*axis.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
        axis.legend(
            handles=handles,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=3,
            frameon=False,
            fontsize="small",
            columnspacing=1.0,
        )
    figure.savefig(out, dpi=150, format="png")
    plt.close(figure)
