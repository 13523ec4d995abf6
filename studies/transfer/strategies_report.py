"""The rows of `studies.transfer.strategies_from_minilm`, and its records as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from mobilebert_training.distillation.losses import LAYER_TRANSFER, Weights
from mobilebert_training.pretraining.strategies import Phase, Strategy
from studies.common.markdown import NONE, table, with_interval
from studies.common.records import Json
from studies.common.verdicts import paired

FEATURE_MAPS = replace(LAYER_TRANSFER, attention=0.0)
_VECTORS = Phase("vectors", "pretraining", Weights(vectors=1.0))


class Row(NamedTuple):
    """A row of the paper's tables."""

    title: str
    table: str
    strategy: Strategy


# As `mobilebert_training.pretraining.strategies`, with sentence vectors in the place of masked words.
ROWS: dict[str, Row] = {
    "pd": Row("PD", "Table 9", Strategy((replace(_VECTORS, budget="both"),))),
    "pd-fmt": Row(
        "PD + FMT", "Table 9", Strategy((Phase("joint", "transfer", FEATURE_MAPS, "layers"), _VECTORS))
    ),
    "pd-fmt-at": Row(
        "PD + FMT + AT = JKT",
        "Tables 8 and 9",
        Strategy((Phase("joint", "transfer", LAYER_TRANSFER, "layers"), _VECTORS)),
    ),
    "akt": Row(
        "AKT", "Table 8", Strategy((Phase("auxiliary", "both", replace(LAYER_TRANSFER, vectors=1.0)),))
    ),
    "pkt": Row(
        "PKT", "Table 8", Strategy((Phase("layer", "transfer", LAYER_TRANSFER, "layer by layer"), _VECTORS))
    ),
}

# Better first, as the paper has them.
ORDERS: tuple[tuple[str, str, str], ...] = (
    ("Table 8", "pkt", "pd-fmt-at"),
    ("Table 8", "pd-fmt-at", "akt"),
    ("Table 9", "pd-fmt", "pd"),
    ("Table 9", "pd-fmt-at", "pd-fmt"),
)
FIGURES = {"cosine": "cosine", "order": "order of similarities", "sts": "STS-B dev"}


def summarise(records: Sequence[Json]) -> Json:
    """Means over seeds, and of each step of the paper's orders the differences paired by seed.

    A difference is positive where the row that the paper has ahead is ahead; see `verdict`.
    """
    by_cell: dict[str, dict[int, Json]] = {}
    for record in records:
        by_cell.setdefault(record["cell"], {})[record["seed"]] = record["figures"]
    means: Json = {}
    for cell in (row for row in ROWS if row in by_cell):
        runs = list(by_cell[cell].values())
        shared = [name for name in runs[0] if all(name in run for run in runs)]
        means[cell] = {name: np.mean([run[name] for run in runs], axis=0).tolist() for name in shared}
        means[cell]["seeds"] = sorted(by_cell[cell])
    orders = []
    for (paper_table, better, worse), figure in product(ORDERS, FIGURES):
        first, second = (
            {seed: run[figure] for seed, run in by_cell.get(cell, {}).items() if figure in run}
            for cell in (better, worse)
        )
        if lead := paired(first, second):
            orders.append({"table": paper_table, "better": better, "worse": worse, "figure": figure} | lead)
    return {"means": means, "orders": orders}


def page(records: Sequence[Json]) -> str:
    """Markdown: figures of every row, and the paper's orders."""
    summary = summarise(records)
    head = ["row", "table", *FIGURES.values(), "last feature map's error", "seeds", "updates"]
    rows = []
    for cell, mean in summary["means"].items():
        figures = [f"{mean[name]:.4f}" if name in mean else NONE for name in FIGURES]
        updates = next(r["updates"] for r in records if r["cell"] == cell)
        known = [f"{mean['feature_map'][-1]:.4f}", ", ".join(map(str, mean["seeds"])), f"{updates:,}"]
        rows.append([ROWS[cell].title, ROWS[cell].table, *figures, *known])
    orders = [
        [
            *(o["table"], ROWS[o["better"]].title, ROWS[o["worse"]].title, FIGURES[o["figure"]]),
            *(with_interval(o["difference"], o["interval"], 4, signed=True), o["verdict"]),
        ]
        for o in summary["orders"]
    ]
    parts = [table(head, rows)]
    if orders:
        heads = ["table", "better", "worse", "figure", "higher by (95%, paired by seed)", "verdict"]
        parts.append(table(heads, orders))
    return "\n\n".join(parts) + "\n"
