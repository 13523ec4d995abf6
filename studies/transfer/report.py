"""The records of `studies.transfer.ablation` as tables and a plot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from studies.common.markdown import table, with_interval
from studies.common.plots import panels, save
from studies.common.records import Json
from studies.common.verdicts import paired, verdict

ALBERT = "ALBERT Table 5"
WIDTHS, SHARING, BOTH = "ALBERT Table 3", "ALBERT Table 4", "ALBERT Tables 3 and 4"
DROPOUT, DEPTH, WIDTH, SMOOTHNESS = "ALBERT Table 8", "ALBERT Table 11", "ALBERT Table 12", "ALBERT Figure 1"


class Row(NamedTuple):
    """A row of a paper's table."""

    title: str
    table: str
    strategy: str
    pairs: str  # next sentence or sentence order
    sharing: str = "all"  # of an ALBERT: what its layers share
    embedding: float | None = None  # of an ALBERT: E as a share of the scale's H; None: as the scale has it
    depth: float = 1  # of an ALBERT: its layers as a share of the scale's
    width: int = 1  # of an ALBERT: its H by the scale's
    dropout: float = 0.0  # of an ALBERT

    @property
    def of_albert(self) -> bool:
        """Whether the network is an ALBERT."""
        return self.table.startswith("ALBERT")


# By the name of its runs.
ROWS: dict[str, Row] = {
    "bare": Row("bare", "Table 9", "bare", "nsp"),
    "pd": Row("+ PD", "Table 9", "pd", "nsp"),
    "pd-fmt": Row("+ PD + FMT", "Table 9", "pd-fmt", "nsp"),
    "pkt": Row("+ PD + FMT + AT = PKT", "Tables 8 and 9", "pkt", "nsp"),
    "jkt": Row("JKT", "Table 8", "jkt", "nsp"),
    "akt": Row("AKT", "Table 8", "akt", "nsp"),
    "albert-nsp": Row("ALBERT, NSP", ALBERT, "bare", "nsp"),
    "albert-sop": Row("ALBERT, SOP", ALBERT, "bare", "sop"),
    "albert-all": Row("all shared, E = H / 4", BOTH, "bare", "sop", "all", 1 / 4),
    "albert-attention": Row("attention shared, E = H / 4", SHARING, "bare", "sop", "attention", 1 / 4),
    "albert-ffn": Row("feed-forward shared, E = H / 4", SHARING, "bare", "sop", "ffn", 1 / 4),
    "albert-none": Row("nothing shared, E = H / 4", SHARING, "bare", "sop", "none", 1 / 4),
    "albert-eighth": Row("all shared, E = H / 8", WIDTHS, "bare", "sop", "all", 1 / 8),
    "albert-half": Row("all shared, E = H / 2", WIDTHS, "bare", "sop", "all", 1 / 2),
    "albert-whole": Row("all shared, E = H", WIDTHS, "bare", "sop", "all", 1),
    "albert-dropout": Row("the same, dropout .1", DROPOUT, "bare", "sop", "all", 1 / 4, dropout=0.1),
    "albert-depth-third": Row("a third of the layers", DEPTH, "bare", "sop", "all", 1 / 4, depth=1 / 3),
    "albert-depth-2": Row("twice the layers", DEPTH, "bare", "sop", "all", 1 / 4, depth=2),
    "albert-depth-4": Row("four times the layers", DEPTH, "bare", "sop", "all", 1 / 4, depth=4),
    "albert-depth-4-none": Row("the same, nothing shared", SMOOTHNESS, "bare", "sop", "none", 1 / 4, depth=4),
    "albert-width-2": Row("twice as wide, E the same", WIDTH, "bare", "sop", "all", 1 / 4, width=2),
    "albert-width-4": Row("four times as wide, E the same", WIDTH, "bare", "sop", "all", 1 / 4, width=4),
}

# Better first, by loss at masked tokens; pkt is the row "+ PD + FMT + AT".
ORDERS: tuple[tuple[str, str, str], ...] = (
    ("Table 8", "pkt", "jkt"),
    ("Table 8", "jkt", "akt"),
    ("Table 9", "pd", "bare"),
    ("Table 9", "pd-fmt", "pd"),
    ("Table 9", "pkt", "pd-fmt"),
    (WIDTHS, "albert-all", "albert-eighth"),
    (WIDTHS, "albert-all", "albert-half"),
    (WIDTHS, "albert-all", "albert-whole"),
    (SHARING, "albert-attention", "albert-all"),
    (SHARING, "albert-attention", "albert-none"),
    (SHARING, "albert-none", "albert-ffn"),
    (SHARING, "albert-ffn", "albert-all"),
    (DROPOUT, "albert-all", "albert-dropout"),
    (DEPTH, "albert-all", "albert-depth-third"),
    (DEPTH, "albert-depth-2", "albert-all"),
    (DEPTH, "albert-depth-4", "albert-depth-2"),
    (WIDTH, "albert-width-2", "albert-all"),
    (WIDTH, "albert-width-4", "albert-width-2"),
)


def page(records: Sequence[Json]) -> str:
    """Markdown: development figures of every row, the papers' orders, and ALBERT's crossed questions."""
    summary = summarise(records)
    head = ["run", "table", "loss at masked tokens", "their accuracy %", "seeds", "updates", "sequences"]
    parts = [
        table(head, (_figures(name, summary["means"][name], records) for name in _known(summary["means"])))
    ]
    if summary["orders"]:
        head = ["table", "better", "worse", "loss lower by (95%, paired by seed)", "verdict"]
        parts.append(
            table(
                head,
                (
                    [o["table"], ROWS[o["better"]].title, ROWS[o["worse"]].title, _gain(o, 3), o["verdict"]]
                    for o in summary["orders"]
                ),
            )
        )
    if summary["pairs"]:
        head = ["trained and asked", "accuracy %", "above chance by, points", "above chance"]
        parts.append(
            table(
                head,
                (
                    [question, f"{100 * said['accuracy']:.1f}", _gain(said, 1, 100), said["verdict"]]
                    for question, said in summary["pairs"].items()
                ),
            )
        )
    return "\n\n".join(parts) + "\n"


def _figures(name: str, mean: Json, records: Sequence[Json]) -> list[str]:
    first = next(record for record in records if record["cell"] == name)
    return [
        *(ROWS[name].title, ROWS[name].table),
        *(f"{mean['mlm_loss']:.3f}", f"{100 * mean['mlm_accuracy']:.1f}", ", ".join(map(str, mean["seeds"]))),
        *(f"{first['updates']:,}", f"{first['sequences']:,}"),
    ]


def _gain(found: Json, digits: int, scale: int = 1) -> str:
    return with_interval(found["difference"], found["interval"], digits, scale=scale, signed=True)


def summarise(records: Sequence[Json]) -> Json:
    """Means over seeds, and for each step of the papers' orders the paired difference with its 95% interval.

    "Better" is what the paper says; see `verdict`.
    """
    by_cell: dict[str, dict[int, dict[str, float]]] = {}
    for record in records:
        by_cell.setdefault(record["cell"], {})[record["seed"]] = record["development"]
    means = {
        cell: {
            name: float(np.mean([run[name] for run in runs.values()])) for name in next(iter(runs.values()))
        }
        | {"seeds": sorted(runs)}
        for cell, runs in by_cell.items()
    }
    orders = []
    for paper_table, better, worse in ORDERS:
        # Positive: the better one has the lower loss.
        first, second = (
            {seed: -run["mlm_loss"] for seed, run in by_cell.get(cell, {}).items()}
            for cell in (better, worse)
        )
        if lead := paired(first, second):
            orders.append({"table": paper_table, "better": better, "worse": worse} | lead)
    return {"means": means, "orders": orders, "pairs": _cross(by_cell)}


def _cross(by_cell: dict[str, dict[int, dict[str, float]]]) -> Json:
    """ALBERT Table 5: accuracy of each model on both kinds of pairs, and how far above chance it is."""
    out: Json = {}
    for cell, asked in (
        ("albert-sop", "nsp"),
        ("albert-nsp", "sop"),
        ("albert-sop", "sop"),
        ("albert-nsp", "nsp"),
    ):
        if runs := by_cell.get(cell):
            values = [run[f"{asked}_accuracy"] for run in runs.values()]
            out[f"{cell} asked {asked}"] = {"accuracy": float(np.mean(values))} | verdict(
                [value - 0.5 for value in values]
            )
    return out


def draw(records: Sequence[Json], out: Path) -> None:
    """Write a PNG: each run's development loss at masked tokens, and the way there of every row's first seed.

    A stage of layer-wise transfer has no such loss: its curve begins where distillation begins.
    """
    figure, ((left, right),) = panels(5.5, 4.2, 2, width_ratios=(1, 1.3))
    rows = _known({r["cell"] for r in records if not r["cell"].startswith("albert")})
    for place, name in enumerate(rows):
        of_row = sorted((r for r in records if r["cell"] == name), key=lambda r: r["seed"])
        losses = [r["development"]["mlm_loss"] for r in of_row]
        left.plot(losses, [place] * len(losses), "o", ms=5, alpha=0.8, color=f"C{place}")
        right.plot(*mlm_curve(of_row[0]), color=f"C{place}", lw=1.4, label=ROWS[name].title)
    left.set_yticks(range(len(rows)), [ROWS[name].title for name in rows])
    left.invert_yaxis()
    left.set_xlabel("development loss at masked tokens, a dot a seed")
    right.set(xlabel="update, transfer included", ylabel="training loss at masked tokens")
    right.legend(frameon=False, fontsize="small")
    for axis in (left, right):
        axis.grid(alpha=0.3)
    save(figure, out)


def mlm_curve(record: Json) -> tuple[list[int], list[float]]:
    """Updates and loss at masked tokens over all stages of a run that have it."""
    steps: list[int] = []
    values: list[float] = []
    before = 0
    for curve in record["curves"].values():
        for point in curve:
            loss = point.get("mlm", point.get("words"))  # "words": records of older programs
            if loss is not None:
                steps.append(before + point["step"])
                values.append(loss)
        before += curve[-1]["step"]
    return steps, values


def _known(names: Iterable[str]) -> list[str]:
    return [name for name in ROWS if name in set(names)]
