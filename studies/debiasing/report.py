"""The records of `studies.debiasing.runs` as one table and one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studies.debiasing.methods import METHODS

Record = dict[str, Any]
COLUMNS = (
    "method",
    "seed",
    "accuracy %, original test",
    "accuracy %, adversarial test",
    "points won over `original`, adversarial test",
    "AUC, original",
    "AUC, adversarial",
    "TPR %, CAT1",
    "CAT2",
    "CAT3",
    "CAT4",
    "gap CAT1 − CAT4, points",
    "AUC of the length-only probe",
    "half the gap, no loss",
)


def table(records: Sequence[Record]) -> str:
    """Markdown: a row a record, in the order of the methods' table.

    True positive rates, gap and probe (is an error a false negative?) are of the adversarial test. The last
    column asks for both halves of a good bargain: at most half the gap of `original`, and an accuracy on the
    original test within the interval of `original`.
    """
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    baselines = {r["seed"]: r["test"] for r in records if r["method"] == "original"}
    for record in _ordered(records):
        whole, fair = record["test"], record["test"]["adversarial"]
        gap, probe, won = fair["tpr_gap"], fair["length_probe"]["false_negative"], None
        if record["accuracy_won_over_original"]:
            won = record["accuracy_won_over_original"]["adversarial"]
        cells = [
            record["method"],
            str(record["seed"]),
            _percent(whole["accuracy"], whole["accuracy_interval"]),
            _percent(fair["accuracy"], fair["accuracy_interval"]),
            _points(won["value"], (won["low"], won["high"])) if won else "–",
            f"{whole['auc']:.3f}",
            f"{fair['auc']:.3f}",
            *(_share(row["true_positive_rate"]) for row in fair["categories"]),
            _points(gap["value"], (gap["low"], gap["high"])) if gap["value"] is not None else "–",
            _probe(probe),
            _bargain(record, baselines.get(record["seed"])),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def draw(records: Sequence[Record], out: Path) -> None:
    """Write a PNG: accuracy on both tests, and the true positive rate of each category (adversarial test)."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    ordered = _ordered(records)
    several = len({r["seed"] for r in ordered}) > 1
    names = [r["method"] + (f", seed {r['seed']}" if several else "") for r in ordered]
    colours = plt.get_cmap("tab10").colors  # type: ignore[attr-defined]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 1.6 + 0.42 * max(len(names), 5)), layout="constrained"
    )
    for row, record in enumerate(ordered):
        tests = record["test"], record["test"]["adversarial"]
        for test, marker, place in zip(tests, "os", (row - 0.12, row + 0.12), strict=True):
            low, high = test["accuracy_interval"]
            value = test["accuracy"]
            label = ("original test" if marker == "o" else "adversarial test") if row == 0 else None
            whisker = [[100 * (value - low)], [100 * (high - value)]]
            colour = "#4878a8" if marker == "o" else "#c44e30"
            left.errorbar(100 * value, place, xerr=whisker, color=colour, fmt=marker, ms=5, lw=1, label=label)
        categories = tests[1]["categories"]
        known = [c for c in range(4) if categories[c]["true_positive_rate"] is not None]
        right.plot(
            [c + 1 for c in known],
            [categories[c]["true_positive_rate"] for c in known],
            marker="o",
            ms=4,
            lw=2.2 if record["method"] == "original" else 1.2,
            color="black" if record["method"] == "original" else colours[row % len(colours)],
            label=names[row],
        )
    left.set_yticks(range(len(names)), names)
    left.invert_yaxis()
    left.set_xlabel("accuracy, % (95% intervals)")
    left.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    right.set_xticks([1, 2, 3, 4], ["CAT1", "CAT2", "CAT3", "CAT4"])
    right.set_ylabel("true positive rate, adversarial test")
    right.legend(frameon=False, fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    for axis in (left, right):
        axis.grid(alpha=0.3)
    figure.savefig(out, dpi=130, format="png")
    plt.close(figure)


def _ordered(records: Sequence[Record]) -> list[Record]:
    return sorted(records, key=lambda r: (list(METHODS).index(r["method"]), r["seed"]))


def _bargain(record: Record, baseline: Record | None) -> str:
    """Whether the gap is at most half of `original`'s without loss on the original test."""
    if baseline is None or record["method"] == "original":
        return "–"
    gap, of_original = (test["adversarial"]["tpr_gap"]["value"] for test in (record["test"], baseline))
    if gap is None or of_original is None:
        return "–"
    half = abs(gap) <= abs(of_original) / 2
    kept = record["test"]["accuracy"] >= baseline["accuracy_interval"][0]
    return f"{'yes' if half else 'no'}, {'yes' if kept else 'no'}"


def _percent(value: float, interval: Sequence[float]) -> str:
    return f"{100 * value:.1f} ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})"


def _points(value: float, interval: Sequence[float]) -> str:
    return f"{100 * value:+.1f} ({100 * interval[0]:+.1f} to {100 * interval[1]:+.1f})"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _probe(probe: Record) -> str:
    if probe["auc"] is None:
        return "–"
    low, high = probe["interval"]
    return f"{probe['auc']:.2f} ({low:.2f}–{high:.2f})" + (", at chance" if probe["at_chance"] else "")
