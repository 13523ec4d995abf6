"""Training curves from the records that every training run of this project leaves.

python -m studies.transfer.curves results/matcher/student.joint.json --out curves.png
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_runtime.errors import DataError
from studies.common.plots import panels, save
from studies.common.records import Json, check_outputs, read_json
from studies.common.script import Force, run


def main(
    records: Annotated[list[Path], Argument(help="Records of training runs, a panel each.")],
    out: Annotated[Path, Option(help="PNG to make.")],
    force: Force = False,
) -> None:
    """Draw the training curves of one or more runs, such as the stages of a distillation in order."""
    check_outputs(out, force=force)
    draw([read_curve(path) for path in records], out)


def read_curve(path: Path) -> Json:
    """The record of one stage: `stage`, `curve` and `evaluations`.

    Raises:
        DataError: the file is missing, or is not the record of a training run.
    """
    try:
        record = read_json(path)
        steps = [(point["step"], point["loss"]) for point in record["curve"]]
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file; give a record such as OUT/finetune.json") from error
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: not a training record ({type(error).__name__}: {error})") from error
    if not steps:
        raise DataError(f"{path}: its curve has no point")
    return {"stage": path.stem} | record


def draw(records: Sequence[Json], out: Path) -> None:
    """Write a PNG: a panel a record, its losses over the steps and, on the right axis, its evaluations."""
    figure, axes = panels(4.6, 3.4, len(records))
    for axis, record in zip(axes[0], records, strict=True):
        curve, evaluations = record["curve"], record.get("evaluations", [])
        steps = [point["step"] for point in curve]
        names = [name for name in curve[0] if name != "step"]
        for name in names:
            axis.plot(
                steps, [point[name] for point in curve], label=name, linewidth=2 if name == "loss" else 1
            )
        axis.set_title(record["stage"])
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
    save(figure, out)


if __name__ == "__main__":
    run(main)
