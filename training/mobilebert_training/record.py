"""The record of a run: settings, loss curve and development figures as JSON, and scalars for TensorBoard."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from mobilebert_runtime.files import write_json


class Record:
    """What a run writes down.

    Args:
        out: directory of NAME.json and of TensorBoard's files.
        name: of the run.
        values: what is known at the start.
        writes: False in all processes but one.
    """

    def __init__(self, out: Path, name: str, values: dict[str, Any], *, writes: bool) -> None:
        self._path, self._writes = out / f"{name}.json", writes
        self.values: dict[str, Any] = {"stage": name} | values
        self.values |= {"curve": [], "evaluations": [], "seconds": 0.0}
        self.sums: dict[str, float] = {}  # of the losses since the last point of the curve
        self.count = 0
        self._events = _event_writer(out / "tensorboard" / name) if writes else None

    @property
    def has_events(self) -> bool:
        """Whether the package that writes TensorBoard's files is there."""
        return self._events is not None

    def add(self, parts: dict[str, float]) -> None:
        """The losses of a step."""
        for key, value in parts.items():
            self.sums[key] = self.sums.get(key, 0.0) + value
        self.count += 1

    def point(self, step: int, learning_rate: float) -> None:
        """A point of the curve: means since the last one."""
        means = {key: value / self.count for key, value in self.sums.items()}
        self.values["curve"].append({"step": step} | means)
        self._scalars(step, means | {"learning_rate": learning_rate})
        self.sums, self.count = {}, 0

    def evaluated(self, step: int, figures: dict[str, float]) -> str:
        """Keep development figures after a step; them as text."""
        self.values["evaluations"].append({"step": step} | figures)
        self._scalars(step, figures)
        return ", ".join(f"{name} {value:.4f}" for name, value in figures.items())

    def best(self, select: str | None) -> dict[str, float]:
        """The evaluation with the highest figure; of equals the first."""
        return max(self.values["evaluations"], key=lambda figures: figures[select])

    def gives_up(self, patience: int, select: str | None) -> bool:
        """Whether the last `patience` evaluations were none better than one before them."""
        if not patience or not self.values["evaluations"]:
            return False
        steps = [figures["step"] for figures in self.values["evaluations"]]
        return len(steps) - 1 - steps.index(self.best(select)["step"]) >= patience

    def close(self) -> None:
        """Write it."""
        if self._writes:
            write_json(self._path, self.values)
        if self._events is not None:
            self._events.close()

    def _scalars(self, step: int, values: dict[str, float]) -> None:
        if self._events is not None:
            for name, value in values.items():
                self._events.add_scalar(name, value, step)
            self._events.flush()


def _event_writer(folder: Path) -> Any:
    # TensorBoard imports TensorFlow for its file system where it is installed, which takes seconds, unless it
    # finds this module.
    sys.modules.setdefault("tensorboard.compat.notf", ModuleType("tensorboard.compat.notf"))
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder))
