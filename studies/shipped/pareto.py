"""The plot a deployer chooses from: accuracy against latency, a mark as large as the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from studies.common.plots import BLUE, GREY, panels, save
from studies.shipped.records import Cost, dominated


def draw(runs: Mapping[str, Sequence[Cost]], out: Path) -> None:
    """Write a PNG with one panel per latency run.

    Marks are artefacts, their area the megabytes of the model file, whiskers the 95% interval of the
    accuracy. Those that no other artefact beats in both figures are joined by a line.

    Args:
        runs: title → artefacts.
        out: the file; whatever its name ends in, it is a PNG.
    """
    figure, axes = panels(5.2, 4, len(runs))
    for axis, (title, costs) in zip(axes[0], runs.items(), strict=True):
        behind = dominated(list(costs))
        front = sorted((c for c in costs if c.name not in behind), key=lambda cost: cost.ms)
        axis.plot([c.ms for c in front], [100 * c.accuracy for c in front], color=BLUE, linewidth=1)
        for place, cost in enumerate(sorted(costs, key=lambda cost: cost.ms)):
            colour = GREY if cost.name in behind else BLUE
            whiskers = [[100 * (cost.accuracy - cost.low)], [100 * (cost.high - cost.accuracy)]]
            axis.errorbar([cost.ms], [100 * cost.accuracy], whiskers, color=colour, elinewidth=0.8)
            axis.scatter([cost.ms], [100 * cost.accuracy], s=12 * cost.megabytes, color=colour, alpha=0.7)
            axis.annotate(
                f"{cost.name}\n{cost.megabytes:.1f} MB",
                (cost.ms, 100 * cost.accuracy),
                (9, (6, -22)[place % 2]),  # neighbours are often close: above and below in turn
                textcoords="offset points",
                fontsize="x-small",
            )
        axis.margins(x=0.3, y=0.1)
        axis.set_xlabel("median latency, ms")
        axis.set_ylabel("accuracy on the QQP test, %")
        axis.set_title(title)
        axis.grid(alpha=0.3)
    save(figure, out)
