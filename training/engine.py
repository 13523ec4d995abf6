"""The pretraining engine: one update of a global batch on any number of processes, by `accelerate`.

What an update computes does not depend on how the batch is spread over processes and micro-batches: every
part of a loss is a mean over tokens, masked tokens or sequences of the *global* batch. Dropout follows from
seed, step and process, learning rate and examples from the step: a checkpoint is weights, moments, a number.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator, PartialState
from accelerate.utils import DistributedDataParallelKwargs, parse_flag_from_env
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

from distill.pretraining.examples import Examples, Order, collate
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from models.layers import Encoder
from training.lamb import Lamb
from training.loop import ResumeError
from training.tensorboard import EventWriter, NoEvents

OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {"adamw": torch.optim.AdamW, "lamb": Lamb}
PRECISIONS = ("no", "bf16")


@dataclass(frozen=True)
class EngineConfig:
    """How to optimise: linear warm-up, linear decay to zero.

    Raises:
        OptionError: a name is unknown or a number makes no sense.
    """

    steps: int
    batch_size: int = 32  # sequences of an update, over all processes and micro-batches
    accumulate: int = 1  # micro-batches of a process in an update
    optimiser: str = "adamw"
    learning_rate: float = 1e-3
    warmup: float = 0.1  # share of all steps
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    precision: str = "no"
    checkpoint_activations: bool = False
    seed: int = 0
    record_every: int = 50  # steps
    evaluate_every: int = 0  # steps; 0 = at the end only
    checkpoint_every: int = 200  # steps

    def __post_init__(self) -> None:
        """Check names and numbers once."""
        if self.optimiser not in OPTIMISERS:
            raise OptionError(f"optimiser {self.optimiser!r}; expected one of {', '.join(OPTIMISERS)}")
        if self.precision not in PRECISIONS:
            raise OptionError(f"precision {self.precision!r}; expected one of {', '.join(PRECISIONS)}")
        if min(self.steps, self.batch_size, self.accumulate) < 1:
            raise OptionError("steps, batch size and accumulation must be at least 1")

    def rate(self, step: int) -> float:
        """Learning rate of a step that starts at 0."""
        warm = max(1, round(self.warmup * self.steps))
        return self.learning_rate * min((step + 1) / warm, (self.steps - step) / max(1, self.steps - warm))


@dataclass(frozen=True)
class LossNormalizers:
    """What a micro-batch's mean weighs in the global mean, for each unit, times the number of processes.

    The factor undoes that processes' gradients are averaged, not summed. One micro-batch on one process: 1.
    """

    tokens: float = 1.0
    masked: float = 1.0
    sequences: float = 1.0


# What is trained: a module from a micro-batch and its normalizers to the loss and its named parts.
Parts = dict[str, Tensor]
Group = dict[str, Any]  # of an optimiser: params, weight_decay, and `factor`, a multiple of the learning rate


def processes() -> PartialState:
    """The processes of this run; before anything else asks for them.

    Without a GPU accelerate takes the processes of torchrun for strangers unless it is told `cpu`: each would
    train a model of its own into the same folder.
    """
    return PartialState(cpu=_on_cpu())


def _on_cpu() -> bool:
    return not torch.accelerator.is_available() or parse_flag_from_env("ACCELERATE_USE_CPU")


def parameter_groups(parameters: Sequence[tuple[nn.Parameter, float]], weight_decay: float) -> list[Group]:
    """Groups of (parameter, factor of the learning rate): matrices decay, biases and norms do not."""
    groups: dict[tuple[float, float], Group] = {}
    for parameter, factor in parameters:
        decay = weight_decay if parameter.dim() > 1 else 0.0
        group = groups.setdefault((factor, decay), {"params": [], "weight_decay": decay, "factor": factor})
        group["params"].append(parameter)
    return list(groups.values())


def run(
    loss_module: nn.Module,
    groups: list[Group],
    examples: Examples,
    config: EngineConfig,
    out: Path,
    *,
    name: str,
    evaluate: Callable[[], dict[str, float]] | None = None,
    facts: dict[str, Any] | None = None,
    workers: int = 0,
) -> dict[str, Any]:
    """Optimise `loss_module` in place and return the record, also written to `out`/`name`.json.

    A checkpoint in `out` is taken up where it stopped and goes when the run is done. Under
    `accelerate launch` or torchrun every process calls this alike.

    Args:
        loss_module: `loss_module(batch, normalizers)` → (loss, parts), each part times its normaliser.
        groups: of the parameters that are trained, from `parameter_groups`.
        examples: what to train on.
        config: the optimisation.
        out: directory for record, checkpoints and TensorBoard's files.
        name: of this run.
        evaluate: development figures, called every `evaluate_every` steps and at the end, by all processes.
        facts: what else the record shall say.
        workers: processes that draw examples beside each training process.

    Raises:
        OptionError: the batch does not divide among processes and micro-batches.
        ResumeError: `out` holds a checkpoint of other settings.
    """
    same_graph = DistributedDataParallelKwargs(gradient_as_bucket_view=True)
    accelerator = Accelerator(cpu=_on_cpu(), mixed_precision=config.precision, kwargs_handlers=[same_graph])
    world, rank = accelerator.num_processes, accelerator.process_index
    if config.batch_size % (world * config.accumulate):
        raise OptionError(
            f"batch size {config.batch_size} does not divide by {world} processes times "
            f"{config.accumulate} micro-batches"
        )
    for group in groups:
        group["lr"] = config.rate(0) * group["factor"]
    optimiser = OPTIMISERS[config.optimiser](groups, lr=config.learning_rate)
    loss_module, optimiser = accelerator.prepare(loss_module, optimiser)
    state = _State(out, name, config, examples.corpus.fingerprint, facts or {})
    step = state.resume(accelerator)
    stream = _micro_batches(examples, config, rank, world, step, workers)
    started = time.monotonic() - state.record["seconds"]
    writer = EventWriter(out / "tensorboard" / name) if rank == 0 else NoEvents()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, disable=rank > 0) as progress, writer as events:
        bar = progress.add_task(name, total=config.steps, completed=step)
        loss_module.train()
        while step < config.steps:
            batches = next(stream)  # before the seed: a loader that starts draws from the same generator
            torch.manual_seed(int(np.random.SeedSequence((config.seed, step, rank)).generate_state(1)[0]))
            for group in optimiser.param_groups:
                group["lr"] = config.rate(step) * group["factor"]
            parts = _update(accelerator, loss_module, optimiser, batches, config.max_grad_norm)
            step += 1
            state.add(parts)
            progress.update(bar, completed=step, description=f"{name} loss {parts['loss']:.4f}")
            if step % config.record_every == 0 or step == config.steps:
                events.scalars(step, state.point(step) | {"learning_rate": config.rate(step - 1)})
            if evaluate and (step == config.steps or _due(step, config.evaluate_every)):
                figures = evaluate()
                loss_module.train()
                state.record["evaluations"].append({"step": step} | figures)
                events.scalars(step, figures)
                progress.console.print(f"{name} step {step}: {_short(figures)}")
            if _due(step, config.checkpoint_every) and step < config.steps:
                state.record["seconds"] = time.monotonic() - started
                state.save(accelerator, step)
    loss_module.eval()
    state.record["seconds"] = time.monotonic() - started
    state.record["processes"] = world
    state.finish(accelerator)
    accelerator.free_memory()
    return state.record


def _update(
    accelerator: Accelerator,
    loss_module: nn.Module,
    optimiser: Any,
    micro_batches: list[dict[str, Tensor]],
    max_grad_norm: float,
) -> dict[str, float]:
    """One update from this process's part of the global batch; the parts of the global loss."""
    counts = torch.tensor([_counts(batch) for batch in micro_batches], dtype=torch.float64)
    world = accelerator.num_processes
    totals = accelerator.reduce(counts.sum(0).float().to(accelerator.device), "sum").double().cpu()
    sums: dict[str, Tensor] = {}
    optimiser.zero_grad(set_to_none=True)
    for number, (batch, count) in enumerate(zip(micro_batches, counts, strict=True), start=1):
        on_device = {k: v.to(accelerator.device) for k, v in batch.items()}
        normalizers = LossNormalizers(*(count / totals * world).tolist())
        last = number == len(micro_batches)
        with nullcontext() if last else accelerator.no_sync(loss_module):
            with accelerator.autocast():
                loss, parts = loss_module(on_device, normalizers)
            accelerator.backward(loss)
        for key, value in ({"loss": loss} | parts).items():
            sums[key] = sums.get(key, torch.zeros(())) + value.detach().float()
    trained = [p for group in optimiser.param_groups for p in group["params"]]
    accelerator.clip_grad_norm_(trained, max_grad_norm)
    optimiser.step()
    stacked = accelerator.reduce(torch.stack([v.to(accelerator.device) for v in sums.values()]), "mean")
    values = dict(zip(sums, stacked.tolist(), strict=True))
    if not math.isfinite(values["loss"]):
        raise OptionError(f"the loss became {values['loss']}; lower the learning rate or warm up longer")
    return values


def _micro_batches(
    examples: Examples, config: EngineConfig, rank: int, world: int, first_step: int, workers: int
) -> Iterator[list[dict[str, Tensor]]]:
    """This process's micro-batches of each step from `first_step` on."""
    order = Order(examples.chunks, config.batch_size, config.seed)
    size = config.batch_size // (world * config.accumulate)

    def places() -> Iterator[list[tuple[int, int]]]:
        for step in range(first_step, config.steps):
            batch = order.batch(step)
            for number in range(rank * config.accumulate, (rank + 1) * config.accumulate):
                yield batch[number * size : (number + 1) * size]

    loader = DataLoader(
        examples,
        batch_sampler=_Places(places),
        num_workers=workers,
        collate_fn=partial(collate, pad=examples.special.pad),
    )
    stream = iter(loader)
    for _ in range(first_step, config.steps):
        yield [next(stream) for _ in range(config.accumulate)]


class _Places:
    """What a DataLoader asks for as a batch sampler: something it can iterate over."""

    def __init__(self, places: Callable[[], Iterator[list[tuple[int, int]]]]) -> None:
        self._places = places

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        return self._places()


class _State:
    """Record and checkpoints of a run."""

    def __init__(
        self, out: Path, name: str, config: EngineConfig, corpus: str, facts: dict[str, Any]
    ) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.path, self.folder = out / f"{name}.json", out / f"{name}.checkpoints"
        self.settings = asdict(config) | {"corpus": corpus}
        self.record: dict[str, Any] = {"stage": name, "config": self.settings, "facts": facts}
        self.record |= {"curve": [], "evaluations": [], "seconds": 0.0}
        self.sums: dict[str, float] = {}
        self.count = 0

    def add(self, parts: dict[str, float]) -> None:
        for key, value in parts.items():
            self.sums[key] = self.sums.get(key, 0.0) + value
        self.count += 1

    def point(self, step: int) -> dict[str, float]:
        """Means since the last point of the curve."""
        means = {k: v / self.count for k, v in self.sums.items()}
        self.record["curve"].append({"step": step} | means)
        self.sums, self.count = {}, 0
        return means

    def save(self, accelerator: Accelerator, step: int) -> None:
        """A new folder under a temporary name, flushed to disk, renamed; then the older ones go."""
        done, growing = self.folder / f"step-{step:08d}", self.folder / ".partial"
        if accelerator.is_main_process:
            shutil.rmtree(growing, ignore_errors=True)
            growing.mkdir(parents=True)
        accelerator.wait_for_everyone()
        accelerator.save_state(str(growing), safe_serialization=False)
        accelerator.wait_for_everyone()
        if accelerator.is_main_process:
            kept = {"step": step, "record": self.record, "sums": self.sums, "count": self.count}
            write_json(growing / "state.json", kept)
            for path in growing.rglob("*"):
                if path.is_file():
                    with path.open("rb") as file:
                        os.fsync(file.fileno())
            growing.rename(done)
            for old in self.folder.glob("step-*"):
                if old != done:
                    shutil.rmtree(old)
        accelerator.wait_for_everyone()

    def resume(self, accelerator: Accelerator) -> int:
        """Load the last checkpoint, if there is one; its step."""
        found = sorted(self.folder.glob("step-*"))
        if not found:
            return 0
        kept = json.loads((found[-1] / "state.json").read_text(encoding="utf-8"))
        old = kept["record"]["config"]
        if different := [k for k in self.settings if old.get(k) != self.settings[k]]:
            raise ResumeError(
                f"{self.folder}: holds a run with other {', '.join(different)}; "
                "use the same settings to resume it, or another output directory"
            )
        accelerator.load_state(str(found[-1]))
        self.record, self.sums, self.count = kept["record"], kept["sums"], kept["count"]
        return int(kept["step"])

    def finish(self, accelerator: Accelerator) -> None:
        """Write the record; the checkpoints have done their work."""
        accelerator.wait_for_everyone()
        if accelerator.is_main_process:
            write_json(self.path, self.record)
            shutil.rmtree(self.folder, ignore_errors=True)
        accelerator.wait_for_everyone()


def checkpoint_activations(encoder: Encoder) -> None:
    """Recompute every layer in the backward pass instead of keeping what it computed in between."""
    for layer in dict.fromkeys(encoder.layers):  # layers that share all weights are one module
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


def _counts(batch: dict[str, Tensor]) -> list[float]:
    """Tokens, masked tokens and sequences of a micro-batch, in the order of `LossNormalizers`."""
    return [
        float(batch["attention_mask"].sum()),
        float(len(batch["masked_labels"])),
        float(len(batch["pair_labels"])),
    ]


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


def _short(figures: dict[str, float]) -> str:
    return ", ".join(f"{k} {v:.4f}" for k, v in figures.items())
