"""Models fine-tuned on one data set, asked about others (KroneckerBERT appendix A.2, Table 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from matching.evaluation import metrics


def figures(labels: np.ndarray, probabilities: np.ndarray, threshold: float) -> dict[str, Any]:
    """What one model says about one data set.

    Accuracy depends on a threshold that was chosen at home and on how many pairs are positive; the area under
    the ROC curve on neither, so it tells what a model knows from where it draws the line.

    Args:
        labels: (N,) 0 or 1.
        probabilities: (N,) of label 1.
        threshold: the prediction is 1 from this probability on.
    """
    predicted = (probabilities >= threshold).astype(np.int64)
    right = int((predicted == labels).sum())
    return {
        "pairs": len(labels),
        "positives": float(labels.mean()),
        "accuracy": right / len(labels),
        "interval": metrics.wilson(right, len(labels)),
        "balanced_accuracy": metrics.balanced_accuracy(labels, predicted),
        "auc": metrics.auc(labels, probabilities),
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A Markdown page: a row a model, a column a data set; accuracy, what the first model has more, AUC.

    Args:
        rows: of `figures`, each with `model` and `data`; every model on every data set.
    """
    names = list(dict.fromkeys(row["model"] for row in rows))
    data = list(dict.fromkeys(row["data"] for row in rows))
    found = {(row["model"], row["data"]): row for row in rows}
    lines = ["| model | " + " | ".join(data) + " |", "|---" * (1 + len(data)) + "|"]
    for name in names:
        cells = []
        for where in data:
            here, first = found[name, where], found[names[0], where]
            drop = 100 * (here["accuracy"] - first["accuracy"])
            change = "" if name == names[0] else f" ({drop:+.1f})"
            cells.append(f"{100 * here['accuracy']:.1f}{change}, AUC {here['auc']:.3f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    counts = ", ".join(
        f"{where}: {found[names[0], where]['pairs']:,} pairs, "
        f"{100 * found[names[0], where]['positives']:.0f}% positive"
        for where in data
    )
    note = (
        "Accuracy in per cent at each model's own threshold; in brackets the difference from the first model."
    )
    return "\n".join([*lines, "", f"{note} {counts}.", ""])
