"""Training curves from the records that every training run of this project leaves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mobilebert_runtime.errors import DataError


def read_curve(path: Path) -> dict[str, Any]:
    """The record of one stage: `stage`, `curve` and `evaluations`.

    Raises:
        DataError: see there.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file; give a record such as OUT/finetune.json")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        steps = [(point["step"], point["loss"]) for point in record["curve"]]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: not a training record ({type(error).__name__}: {error})") from error
    if not steps:
        raise DataError(f"{path}: its curve has no point")
    return record


def draw(paths: Sequence[Path], out: Path) -> None:
    """Write a PNG: a panel a record, its losses over the steps and, on the right axis, its evaluations.

    Args:
        paths: records, such as the stages of one distillation in order.
        out: the file.

    Raises:
        DataError: as `read_curve`, or no record.
    """
    if not paths:
        raise DataError("no record given; give one or more, such as OUT/layerwise.json OUT/joint.json")
    records = [read_curve(path) for path in paths]
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        1, len(records), figsize=(4.6 * len(records), 3.4), squeeze=False, layout="constrained"
    )
    for axis, record, path in zip(axes[0], records, paths, strict=True):
        curve, evaluations = record["curve"], record.get("evaluations", [])
        steps = [point["step"] for point in curve]
        names = [name for name in curve[0] if name != "step"]
        for name in names:
            axis.plot(
                steps, [point[name] for point in curve], label=name, linewidth=2 if name == "loss" else 1
            )
        axis.set_title(record.get("stage", path.stem))
        axis.set_xlabel("step")
        axis.set_ylabel("loss")
        handles, labels = axis.get_legend_handles_labels()
        if evaluations:
            right = axis.twinx()
            places = [point["step"] for point in evaluations]
            for name in (n for n in evaluations[0] if n != "step"):
                values = [point[name] for point in evaluations]
                right.plot(places, values, marker="o", linestyle="--", color="#444444", label=name)
            right.set_ylabel("development")
            more = right.get_legend_handles_labels()
            handles, labels = handles + more[0], labels + more[1]
        axis.legend(handles, labels, fontsize="small", frameon=False)
    figure.savefig(out, dpi=130, format="png")
    plt.close(figure)
