"""The figures of `evaluate` as Markdown, for the card of a matcher."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PAGE_FILE = "README.md"  # of an artefact whose figures are known
FIGURES = (("accuracy", "accuracy"), ("F1", "f1"), ("AUC", "auc"), ("calibration error", "ece"))

EXPLAINED = (
    "CAT1 to CAT4: from texts of like length to texts of very unlike length. The adversarial test is a part "
    "in which lengths say nothing of the label. The recall gap is the share of true matches found in CAT1 "
    "less that in CAT4."
)


def to_markdown(record: Mapping[str, Any]) -> str:
    """Two tables: the figures with 95% intervals, and accuracy and recall by length divergence.

    Args:
        record: of `mobilebert_export.evaluation.scoring.Evaluation.to_json`.
    """
    tests = {"all pairs": record} | ({"adversarial": record["adversarial"]} if record["adversarial"] else {})
    lines = [_row("", *tests), _row(*["---"] * (len(tests) + 1))]
    lines.append(_row("pairs", *(f"{found['pairs']:,}" for found in tests.values())))
    for name, key in FIGURES:
        lines.append(
            _row(name, *(_with(found[key], found.get(f"{key}_interval")) for found in tests.values()))
        )
    gaps = (found["tpr_gap"] for found in tests.values())
    lines.append(_row("recall gap, CAT1 − CAT4", *(_with(g["value"], (g["low"], g["high"])) for g in gaps)))
    lines += ["", _row("length divergence", "pairs", "accuracy", "recall"), _row(*["---"] * 4)]
    for found in record["categories"]:
        shown = (_with(found[key], found[f"{key}_interval"]) for key in ("accuracy", "true_positive_rate"))
        lines.append(_row(found["category"], f"{found['pairs']:,}", *shown))
    return "\n".join([*lines, "", EXPLAINED]) + "\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _with(value: float | None, interval: tuple[float | None, float | None] | None) -> str:
    if value is None or interval is None:
        return "–" if value is None else f"{value:.3f}"
    low, high = interval
    return f"{value:.3f} " + ("(too few pairs)" if low is None else f"({low:.3f} to {high:.3f})")
