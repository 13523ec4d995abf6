"""The records of `studies.kronecker.table6` together: means over seeds, the order of Table 6, a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from studies.common.plots import panels, save
from studies.common.records import Json
from studies.common.verdicts import paired

# Table 6: better first.
ORDERS = (("two-stage", "no-pretraining"), ("two-stage", "no-task-kd"))


def summarise(records: Sequence[Json]) -> Json:
    """Means over seeds of every run and data set, and the steps of Table 6 with paired 95% intervals."""
    found: dict[tuple[str, str], dict[int, Json]] = {}
    for record in records:
        found.setdefault((record["data"], record["cell"]), {})[record["seed"]] = record
    rows = []
    for (data, cell), runs in sorted(found.items()):
        first = next(iter(runs.values()))
        shared = {k: first[k] for k in ("form", "schedule", "parameters", "times_fewer_parameters", "flops")}
        means = {
            "accuracy": float(np.mean([run["test"]["accuracy"] for run in runs.values()])),
            "f1": float(np.mean([run["test"]["f1"] for run in runs.values()])),
            "kept": float(np.mean([run["kept"] for run in runs.values()])),
            "teacher_accuracy": first["teacher_test"]["accuracy"],
        }
        rows.append({"data": data, "cell": cell, "seeds": sorted(runs)} | shared | means)
    orders = []
    for data, form in sorted({(r["data"], r["form"]) for r in rows}):
        for better, worse in ORDERS:
            first_runs, second_runs = (
                {s: run["test"]["accuracy"] for s, run in found.get((data, f"{form}.{schedule}"), {}).items()}
                for schedule in (better, worse)
            )
            if lead := paired(first_runs, second_runs):
                orders.append({"data": data, "form": form, "better": better, "worse": worse} | lead)
    return {"rows": rows, "orders": orders}


def draw(summary: Json, path: Path) -> None:
    """Test accuracy over encoder parameters, a line a family and schedule; the teacher as a dashed line."""
    datasets = sorted({row["data"] for row in summary["rows"]})
    figure, (row_of_axes,) = panels(5.5, 4, len(datasets))
    for axes, data in zip(row_of_axes, datasets, strict=True):
        rows = [row for row in summary["rows"] if row["data"] == data]
        lines = sorted({(_family(row["form"]), row["schedule"]) for row in rows})
        for family, schedule in lines:
            points = sorted(
                (row["parameters"] / 1e6, 100 * row["accuracy"])
                for row in rows
                if (_family(row["form"]), row["schedule"]) == (family, schedule)
            )
            axes.plot(*zip(*points, strict=True), marker="o", label=f"{family}, {schedule}")
        axes.axhline(100 * rows[0]["teacher_accuracy"], color="0.4", linestyle="--", label="teacher")
        axes.set(title=data, xlabel="encoder parameters, millions", ylabel="test accuracy, %")
        axes.set_xlim(0, 1.1e-6 * max(row["parameters"] for row in rows))
        axes.legend(fontsize="small")
    save(figure, path)


def _family(factorisation: str) -> str:
    """kronecker-8 → kronecker; the last part of a name without a number is kept."""
    return "-".join(part for part in factorisation.split("-") if not part.isdigit())
