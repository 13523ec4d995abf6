"""The metrics of GLUE-style tasks."""

from __future__ import annotations

import numpy as np
from scipy.stats import pearsonr, spearmanr

from mobilebert_matching.data.glue import Task
from mobilebert_matching.evaluation import metrics
from mobilebert_runtime.errors import DataError


def task_figures(task: Task, targets: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
    """The task's metrics by name, as fractions of 1.

    Args:
        task: which metrics.
        targets: (N,) classes or scores.
        outputs: (N, C) logits, or (N, 1) predicted scores.

    Raises:
        DataError: a correlation of constant predictions.
    """
    if task.labels:
        found = outputs.argmax(1)
        values = {"accuracy": metrics.accuracy(targets, found)}
        if "f1" in task.figures:
            values["f1"] = metrics.f1(targets, found)
        return values
    predicted = outputs[:, 0].astype(np.float64)
    if np.ptp(predicted) == 0 or np.ptp(targets) == 0:
        raise DataError("all predicted scores are equal; their correlation is undefined: train longer")
    return {
        "spearman": float(spearmanr(targets, predicted).statistic),
        "pearson": float(pearsonr(targets, predicted).statistic),
    }
