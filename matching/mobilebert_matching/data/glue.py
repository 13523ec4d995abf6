"""GLUE-style tasks from local files: classification and regression of text pairs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mobilebert_matching.data.pairs import read_pairs
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import Pair

# Without a dev.tsv every tenth training row is held back: a fixed split, the same for every model.
HELD_BACK = 10


@dataclass(frozen=True)
class Task:
    """What a task's files hold and how it is scored.

    `labels` are the texts of its classes in the order of the logits; none: a regression of a number.
    `classes` are their names in GLUE, where a file has numbers. `figures` are its metrics in GLUE; the first
    one selects. `symmetric`: swapping the texts changes nothing, so that training may swap them.
    """

    labels: tuple[str, ...]
    figures: tuple[str, ...]
    symmetric: bool
    classes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the classes, in the order of the logits."""
        return self.classes or self.labels


TASKS: dict[str, Task] = {
    "mrpc": Task(("0", "1"), ("accuracy", "f1"), symmetric=True, classes=("not_equivalent", "equivalent")),
    "sts-b": Task((), ("spearman", "pearson"), symmetric=True),
    "mnli": Task(("entailment", "neutral", "contradiction"), ("accuracy",), symmetric=False),
}


class TaskData(NamedTuple):
    """Pairs, and (N,) int64 classes or float32 scores."""

    pairs: list[Pair]
    targets: np.ndarray


def find_task(name: str) -> Task:
    """Look up a task.

    Raises:
        DataError: no task has this name.
    """
    if name not in TASKS:
        raise DataError(f"task {name!r} is unknown; expected one of {', '.join(TASKS)}, squad")
    return TASKS[name]


def read_task(folder: Path, task: Task) -> dict[str, TaskData]:
    """`train`, `dev` and, where the folder has it, `test`: TSV files with a label column and two texts.

    Raises:
        DataError: a file is missing, damaged, or holds a label that the task does not have.
    """
    data = {"train": read_file(folder / "train.tsv", task)}
    if (folder / "dev.tsv").is_file():
        data["dev"] = read_file(folder / "dev.tsv", task)
    else:
        whole = data["train"]
        held = np.arange(len(whole.pairs)) % HELD_BACK == 0
        data["train"], data["dev"] = (
            TaskData([whole.pairs[i] for i in np.flatnonzero(part)], whole.targets[part])
            for part in (~held, held)
        )
    if (folder / "test.tsv").is_file():
        data["test"] = read_file(folder / "test.tsv", task)
    return data


def read_file(path: Path, task: Task) -> TaskData:
    """One file of a task; errors as `read_task`."""
    table = read_pairs(path, labels="text")
    if table.labels is None:
        raise DataError(f"{path}: no column of labels, such as label or score; add one")
    targets = [_target(*row, task, path) for row in zip(table.labels, table.lines, strict=True)]
    return TaskData(table.pairs, np.array(targets, np.int64 if task.labels else np.float32))


def _target(label: str, line: int, task: Task, path: Path) -> float:
    if task.labels:
        if label not in task.labels:
            raise DataError(f"{path}: line {line}: label {label!r}; this task has {', '.join(task.labels)}")
        return task.labels.index(label)
    try:
        return float(label)
    except ValueError as error:
        raise DataError(f"{path}: line {line}: score {label!r} is not a number") from error
