"""The training loop of this project: seeded, length-bucketed, resumable after a kill at any step."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from mobilebert_runtime.errors import UserError
from mobilebert_runtime.files import write_json

# A batch is drawn from a window of this many batches sorted by length: little padding, still shuffled.
_WINDOW = 50


class ResumeError(UserError):
    """The output directory holds a run of another configuration, or a finished one."""


@dataclass(frozen=True)
class LoopConfig:
    """How to optimise: AdamW, linear warm-up, linear decay to zero."""

    epochs: float = 2.0
    batch_size: int = 64
    learning_rate: float = 8e-5
    warmup: float = 0.1  # share of all steps
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    seed: int = 0
    checkpoint_every: int = 200  # steps
    evaluate_every: int = 0  # steps; 0 = at the end only
    patience: int = 0  # stop after so many evaluations without a better one, keep the best weights; 0 = off


@dataclass(frozen=True)
class Batch:
    """Which examples to train on in one step."""

    index: np.ndarray  # (B,) positions in the training set
    epoch: int


def batches(lengths: Sequence[int], config: LoopConfig) -> Iterator[Batch]:
    """Endless batches of similar length; the order follows from the seed alone, so a resumed run agrees."""
    lengths_array, epoch = np.asarray(lengths), 0
    while True:
        rng = np.random.default_rng((config.seed, epoch))
        order = rng.permutation(len(lengths_array))
        window = _WINDOW * config.batch_size
        chunks = []
        for start in range(0, len(order), window):
            part = order[start : start + window]
            part = part[np.argsort(lengths_array[part], kind="stable")]
            chunks += [part[i : i + config.batch_size] for i in range(0, len(part), config.batch_size)]
        for i in rng.permutation(len(chunks)):
            yield Batch(chunks[i], epoch)
        epoch += 1


def total_steps(examples: int, config: LoopConfig) -> int:
    """Steps of a whole run over `examples` examples."""
    return max(1, round(config.epochs * -(-examples // config.batch_size)))


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Trainable parameters in two groups: matrices decay, biases and norms do not."""
    trainable = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trainable if p.dim() > 1], "weight_decay": weight_decay},
        {"params": [p for p in trainable if p.dim() <= 1], "weight_decay": 0.0},
    ]


def train(
    model: nn.Module,
    lengths: Sequence[int],
    loss: Callable[[Batch], tuple[Tensor, dict[str, float]]],
    config: LoopConfig,
    out: Path,
    *,
    name: str,
    evaluate: Callable[[], dict[str, float]] | None = None,
    select: str | None = None,
    facts: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Optimise `model` in place and return the record, also written to `out`/`name`.json.

    A checkpoint in `out` is taken up where it stopped: weights, optimiser, random state and step, so that a
    killed run ends with the same weights as an uninterrupted one. The checkpoint goes when the run is done.

    Args:
        model: its parameters with `requires_grad` are trained.
        lengths: tokens of each training example.
        loss: the mean loss of a batch and named parts of it for the record.
        config: the optimisation.
        out: directory for record and checkpoint.
        name: of this stage.
        evaluate: development figures, called every `evaluate_every` steps and at the end.
        select: with `patience`, the figure whose highest value marks the best weights; these are left in
            `model`, and `best_step` of the record says where they are from.
        facts: what else the record shall say about the run.

    Raises:
        ResumeError: `out` holds a checkpoint of another configuration.
    """
    out.mkdir(parents=True, exist_ok=True)
    steps = total_steps(len(lengths), config)
    warm = max(1, round(config.warmup * steps))
    optimiser = torch.optim.AdamW(parameter_groups(model, config.weight_decay), lr=config.learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda s: min((s + 1) / warm, max(0.0, (steps - s) / max(1, steps - warm)))
    )
    record: dict[str, Any] = {
        "stage": name,
        "config": asdict(config),
        "steps": steps,
        "examples": len(lengths),
    }
    record |= {"facts": facts or {}, "curve": [], "evaluations": [], "seconds": 0.0}
    checkpoint = out / f"{name}.checkpoint"
    torch.manual_seed(config.seed)
    step, sums, best = _resume(checkpoint, model, optimiser, schedule, record)
    stream = batches(lengths, config)
    for _ in range(step):
        next(stream)
    started = time.monotonic() - record["seconds"]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task(name, total=steps, completed=step)
        model.train()
        while step < steps and not _given_up(record, config, select):
            value, parts = loss(next(stream))
            optimiser.zero_grad(set_to_none=True)
            value.backward()
            nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], config.max_grad_norm)
            optimiser.step()
            schedule.step()
            step += 1
            for key, part in ({"loss": value.item()} | parts).items():
                sums[key] = sums.get(key, 0.0) + part
            progress.update(bar, completed=step, description=f"{name} loss {value.item():.4f}")
            if step % 50 == 0 or step == steps:
                count = step % 50 or 50
                record["curve"].append({"step": step} | {k: v / count for k, v in sums.items()})
                sums = {}
            if evaluate and (step == steps or (config.evaluate_every and step % config.evaluate_every == 0)):
                record["evaluations"].append({"step": step} | evaluate())
                progress.console.print(f"{name} step {step}: {record['evaluations'][-1]}")
                if config.patience and _best(record, select)["step"] == step:
                    best = {k: v.detach().clone() for k, v in model.state_dict().items()}
                model.train()
            if step % config.checkpoint_every == 0 and step < steps:
                record["seconds"] = time.monotonic() - started
                _save(checkpoint, model, optimiser, schedule, record, step, sums, best)
    record["seconds"] = time.monotonic() - started
    if best:
        model.load_state_dict(best)
        record |= {"steps_run": step, "best_step": _best(record, select)["step"]}
    model.eval()
    write_json(out / f"{name}.json", record)
    checkpoint.unlink(missing_ok=True)
    return record


def _best(record: dict[str, Any], select: str | None) -> dict[str, float]:
    """The evaluation with the highest figure; of equals the first."""
    return max(record["evaluations"], key=lambda figures: figures[select])


def _given_up(record: dict[str, Any], config: LoopConfig, select: str | None) -> bool:
    """Whether the last `patience` evaluations were none better than one before them."""
    if not config.patience or not record["evaluations"]:
        return False
    since = [figures["step"] for figures in record["evaluations"]].index(_best(record, select)["step"])
    return len(record["evaluations"]) - 1 - since >= config.patience


def _save(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    schedule: Any,
    record: dict[str, Any],
    step: int,
    sums: dict[str, float],
    best: dict[str, Tensor],
) -> None:
    partial = path.with_name(f".{path.name}.partial")
    state = {
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "schedule": schedule.state_dict(),
        "random": torch.get_rng_state(),
        "record": json.dumps(record),
        "step": step,
        "sums": sums,
        "best": best,
    }
    with partial.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _resume(
    path: Path, model: nn.Module, optimiser: Any, schedule: Any, record: dict[str, Any]
) -> tuple[int, dict[str, float], dict[str, Tensor]]:
    """Restore all of a checkpoint, if there is one.

    Returns:
        Its step, the sums since the last curve point, and the best weights so far.
    """
    if not path.is_file():
        return 0, {}, {}
    state = torch.load(path, weights_only=True)
    old = json.loads(state["record"])
    if (old["config"], old["steps"]) != (record["config"], record["steps"]):
        raise ResumeError(
            f"{path}: holds a run with {old['config']}, this one has {record['config']}; "
            "use the same settings to resume it, or another output directory"
        )
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    schedule.load_state_dict(state["schedule"])
    torch.set_rng_state(state["random"])
    record |= old
    return int(state["step"]), dict(state["sums"]), dict(state["best"])
