"""The records of `studies.debiasing.compare` as one table and one plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import colormaps

from studies.common.markdown import NONE, table, with_interval, yes_no
from studies.common.plots import BLUE, CATEGORY_TICKS, RED, panels, save
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


def page(records: Sequence[Record]) -> str:
    """Markdown: a row a record, in the order of the methods' table.

    True positive rates, gap and probe (is an error a false negative?) are of the adversarial test. The last
    column asks for both halves of a good bargain: at most half the gap of `original`, and an accuracy on the
    original test within the interval of `original`.
    """
    rows = []
    baselines = {r["seed"]: r["test"] for r in records if r["method"] == "original"}
    for record in _ordered(records):
        whole, fair = record["test"], record["test"]["adversarial"]
        gap, probe, won = fair["tpr_gap"], fair["length_probe"]["false_negative"], None
        if record["accuracy_won_over_original"]:
            won = record["accuracy_won_over_original"]["adversarial"]
        row = [
            record["method"],
            str(record["seed"]),
            with_interval(whole["accuracy"], whole["accuracy_interval"], 1, scale=100),
            with_interval(fair["accuracy"], fair["accuracy_interval"], 1, scale=100),
            _points(won),
            f"{whole['auc']:.3f}",
            f"{fair['auc']:.3f}",
            *(with_interval(c["true_positive_rate"], None, 1, scale=100) for c in fair["categories"]),
            _points(gap),
            _probe(probe),
            _bargain(record, baselines.get(record["seed"])),
        ]
        rows.append(row)
    return table(COLUMNS, rows) + "\n"


def draw(records: Sequence[Record], out: Path) -> None:
    """Write a PNG: accuracy on both tests, and the true positive rate of each category (adversarial test)."""
    ordered = _ordered(records)
    several = len({r["seed"] for r in ordered}) > 1
    names = [r["method"] + (f", seed {r['seed']}" if several else "") for r in ordered]
    colours = colormaps["tab10"].colors  # type: ignore[attr-defined]
    figure, ((left, right),) = panels(5.5, 1.6 + 0.42 * max(len(names), 5), 2)
    for row, record in enumerate(ordered):
        tests = record["test"], record["test"]["adversarial"]
        for test, marker, place in zip(tests, "os", (row - 0.12, row + 0.12), strict=True):
            low, high = test["accuracy_interval"]
            value = test["accuracy"]
            label = ("original test" if marker == "o" else "adversarial test") if row == 0 else None
            whisker = [[100 * (value - low)], [100 * (high - value)]]
            colour = BLUE if marker == "o" else RED
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
    right.set_xticks(*CATEGORY_TICKS)
    right.set_ylabel("true positive rate, adversarial test")
    right.legend(frameon=False, fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    for axis in (left, right):
        axis.grid(alpha=0.3)
    save(figure, out)


def _ordered(records: Sequence[Record]) -> list[Record]:
    return sorted(records, key=lambda r: (list(METHODS).index(r["method"]), r["seed"]))


def _bargain(record: Record, baseline: Record | None) -> str:
    """Whether the gap is at most half of `original`'s without loss on the original test."""
    if baseline is None or record["method"] == "original":
        return NONE
    gap, of_original = (test["adversarial"]["tpr_gap"]["value"] for test in (record["test"], baseline))
    if gap is None or of_original is None:
        return NONE
    half = abs(gap) <= abs(of_original) / 2
    kept = record["test"]["accuracy"] >= baseline["accuracy_interval"][0]
    return f"{yes_no(half)}, {yes_no(kept)}"


def _points(found: Record | None) -> str:
    return (
        NONE
        if found is None
        else with_interval(found["value"], (found["low"], found["high"]), 1, scale=100, signed=True)
    )


def _probe(probe: Record) -> str:
    return with_interval(probe["auc"], probe["interval"], 2) + (", at chance" if probe["at_chance"] else "")
