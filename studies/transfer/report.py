"""The records of `studies.transfer.ablation` as tables and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studies.transfer.ablation import CELLS, summarise

Record = dict[str, Any]
ROWS = {
    "bare": "bare",
    "pd": "+ PD",
    "pd-fmt": "+ PD + FMT",
    "pkt": "+ PD + FMT + AT = PKT",
    "jkt": "JKT",
    "akt": "AKT",
    "albert-nsp": "ALBERT, NSP",
    "albert-sop": "ALBERT, SOP",
}


def table(records: Sequence[Record]) -> str:
    """Markdown: development figures of every row, the papers' orders, and ALBERT's crossed questions."""
    summary = summarise(records)
    lines = ["| run | table | loss at masked tokens | their accuracy % | seeds | updates | sequences |"]
    lines.append("|---" * 7 + "|")
    for cell in _known(summary["means"]):
        mean = summary["means"][cell]
        first = next(r for r in records if r["cell"] == cell)
        seeds = ", ".join(map(str, mean["seeds"]))
        lines.append(
            f"| {ROWS[cell]} | {CELLS[cell][0]} | {mean['mlm_loss']:.3f} | "
            f"{100 * mean['mlm_accuracy']:.1f} | {seeds} | {first['updates']:,} | {first['sequences']:,} |"
        )
    if summary["orders"]:
        lines += ["", "| table | better | worse | loss lower by (95%, paired by seed) | verdict |"]
        lines.append("|---" * 5 + "|")
        lines += [
            f"| {step['table']} | {ROWS[step['better']]} | {ROWS[step['worse']]} | "
            f"{_with_interval(step, 3)} | {step['verdict']} |"
            for step in summary["orders"]
        ]
    if summary["pairs"]:
        lines += ["", "| trained and asked | accuracy % | above chance by, points | above chance |"]
        lines.append("|---" * 4 + "|")
        for question, said in summary["pairs"].items():
            points = {"difference": 100 * said["difference"], "interval": None}
            if said["interval"]:
                points["interval"] = [100 * end for end in said["interval"]]
            lines.append(
                f"| {question} | {100 * said['accuracy']:.1f} | {_with_interval(points, 1)} | "
                f"{said['verdict']} |"
            )
    return "\n".join(lines) + "\n"


def draw(records: Sequence[Record], out: Path) -> None:
    """Write a PNG: each run's development loss at masked tokens, and the way there of every row's first seed.

    A stage of layer-wise transfer has no such loss: its curve begins where distillation begins.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.3))
    rows = _known({r["cell"] for r in records if not r["cell"].startswith("albert")})
    for place, cell in enumerate(rows):
        mine = sorted((r for r in records if r["cell"] == cell), key=lambda r: r["seed"])
        losses = [r["development"]["mlm_loss"] for r in mine]
        left.plot(losses, [place] * len(losses), "o", ms=5, alpha=0.8, color=f"C{place}")
        steps, values = _words(mine[0])
        right.plot(steps, values, color=f"C{place}", lw=1.4, label=ROWS[cell])
    left.set_yticks(range(len(rows)), [ROWS[cell] for cell in rows])
    left.invert_yaxis()
    left.set_xlabel("development loss at masked tokens, a dot a seed")
    right.set(xlabel="update, transfer included", ylabel="training loss at masked tokens")
    right.legend(frameon=False, fontsize="small")
    for axis in (left, right):
        axis.grid(alpha=0.3)
    figure.savefig(out, dpi=130, format="png")


def _known(cells: Any) -> list[str]:
    return [cell for cell in CELLS if cell in cells]


def _words(record: Record) -> tuple[list[int], list[float]]:
    """Updates and loss at masked tokens over all stages of a run that ask for words."""
    steps: list[int] = []
    values: list[float] = []
    before = 0
    for curve in record["curves"].values():
        for point in curve:
            loss = point.get("mlm", point.get("words"))  # "words" in records of before
            if loss is not None:
                steps.append(before + point["step"])
                values.append(loss)
        before += curve[-1]["step"]
    return steps, values


def _with_interval(step: Record, digits: int) -> str:
    shown = f"{step['difference']:+.{digits}f}"
    if step["interval"] is None:
        return shown
    low, high = step["interval"]
    return f"{shown} ({low:+.{digits}f} to {high:+.{digits}f})"
