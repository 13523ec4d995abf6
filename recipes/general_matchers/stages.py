"""A run folder, its inputs, and a training stage with a budget of seconds; the same call resumes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mobilebert_runtime.files import file_sha256
from mobilebert_training.checkpoint import save_whole
from mobilebert_training.run_directory import code_hash
from recipes.general_matchers.noise import MISSPELLINGS

WARM_UP = 60  # steps
NOTED, SAVED, MEASURED = 100, 150.0, 1200.0  # steps, seconds, seconds between two of each

Loss = Callable[[np.ndarray, int], tuple[Tensor, dict[str, float]]]  # of one batch at a step, and its parts
Draw = Callable[[int], list[np.ndarray]]  # the batches that begin at a step
Figures = Callable[[], dict[str, float]]


@dataclass(frozen=True)
class Settings:
    """Peak learning rate and seconds of training of one stage; loading and evaluation are not counted."""

    rate: float
    budget: float


def recipe_inputs(data: Path | None, *texts: Path | None) -> dict[str, Any]:
    """What decides every run of these recipes, besides its options and models, for `run_directory.claim`.

    Args:
        data: data sets with real misspellings, or None.
        texts: files that are read, or None for one that is not given.
    """
    return {
        "texts": [file_sha256(path) if path else None for path in texts],
        "misspellings": file_sha256(data / MISSPELLINGS) if data else None,
        "recipe": code_hash(("recipes",)),
    }


class Run:
    """A run folder: checkpoint.pt, which is written in one move, and record.jsonl.

    Args:
        out: the folder; where it holds a checkpoint, `model` takes up its weights.
        model: what is trained.
        progress: called with each line of the record.
    """

    def __init__(self, out: Path, model: nn.Module, progress: Callable[[str], None] = lambda _: None) -> None:
        self.out, self.model, self.progress = out, model, progress
        self.stage, self.step, self.used = "", 0, 0.0
        self.optimiser: torch.optim.Optimizer
        self.state: dict[str, Any] = {}
        out.mkdir(parents=True, exist_ok=True)
        if (out / "checkpoint.pt").is_file():
            self.state = torch.load(out / "checkpoint.pt", weights_only=True)
            model.load_state_dict(self.state["model"])
            self.stage = self.state["stage"]

    def begin(self, stage: str, rate: float, decay: float = 0.01) -> None:
        """Make the stage's optimiser, or take up the one that was interrupted."""
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in parameters if p.ndim > 1], "weight_decay": decay},
            {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
        ]
        self.optimiser = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)
        self.step, self.used = 0, 0.0
        if self.stage == stage and self.state:
            self.optimiser.load_state_dict(self.state["optimiser"])
            self.step, self.used = self.state["step"], self.state["used"]
        self.stage, self.state = stage, {}

    def save(self) -> None:
        """Write the checkpoint."""
        values: dict[str, Any] = {"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict()}
        values |= {"stage": self.stage, "step": self.step, "used": self.used}
        save_whole(values, self.out / "checkpoint.pt")

    def note(self, **values: Any) -> None:
        """Add a line to the record."""
        values = {"stage": self.stage, "step": self.step, "seconds": round(self.used, 1)} | values
        note(self.out, self.progress, **values)


def note(out: Path, progress: Callable[[str], None], **values: Any) -> None:
    """Add a line to the record.jsonl of a run folder, and say it."""
    line = json.dumps(values)
    with (out / "record.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    progress(line)


def run_stage(run: Run, name: str, settings: Settings, draw: Draw, loss: Loss, figures: Figures) -> None:
    """Train until the budget is used up; a stage whose budget is used up already is left as it is.

    The rate warms up over `WARM_UP` steps, then falls to nothing with what is left of the budget.
    """
    run.begin(name, settings.rate)
    if run.used >= settings.budget:
        return
    last_save = last_figures = run.used
    sums: dict[str, list[float]] = {}
    seen, texts = 0, 0
    batches: list[np.ndarray] = []
    run.model.train()
    while run.used < settings.budget:
        began = time.monotonic()
        batches = batches or draw(run.step)
        index = batches.pop()
        for group in run.optimiser.param_groups:
            group["lr"] = rate_at(run.used / settings.budget, run.step, settings.rate)
        value, parts = loss(index, run.step)
        run.optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)
        run.optimiser.step()
        run.step += 1
        run.used += time.monotonic() - began
        seen, texts = seen + 1, texts + len(index)
        for key, part in parts.items():
            sums.setdefault(key, []).append(part)
        if seen == NOTED:
            run.note(texts=texts, **{key: round(float(np.mean(part)), 5) for key, part in sums.items()})
            sums, seen, texts = {}, 0, 0
        if run.used - last_save > SAVED:
            run.save()
            last_save = run.used
        if run.used - last_figures > MEASURED:
            run.note(dev=figures())
            last_figures = run.used
    run.save()
    run.note(finished=True, dev=figures())


def rate_at(share: float, step: int, peak: float) -> float:
    """The learning rate when `share` of the budget is used."""
    return peak * min(1.0, (step + 1) / WARM_UP) * max(0.0, 1.0 - share)
