"""The trainer: one update of a global batch on any number of processes, by `accelerate`.

What an update computes does not depend on how the batch is spread over processes and micro-batches: every
part of a loss is a mean over tokens, masked tokens or sequences of the *global* batch.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator, PartialState
from accelerate.utils import DistributedDataParallelKwargs, parse_flag_from_env
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.checkpoint import checkpoint

from mobilebert_models.networks.layers import Encoder
from mobilebert_runtime.errors import OptionError
from mobilebert_training.batches import BatchSource, Tensors, unit_counts
from mobilebert_training.checkpoint import Checkpoint, whole_state
from mobilebert_training.inference import logits_of
from mobilebert_training.record import Record
from mobilebert_training.run_directory import code_hash, weights_hash
from mobilebert_training.training_config import OPTIMISERS, LossNormalizers, TrainingConfig, require_bf16

Parts = dict[str, Tensor]
# From a model, a micro-batch and its normalizers: the loss and its parts, each times its normaliser.
Loss = Callable[[Any, Tensors, LossNormalizers], tuple[Tensor, Parts]]
Group = dict[str, Any]  # of an optimiser: params, weight_decay, and `factor`, a multiple of the learning rate


def train(
    model: nn.Module,
    source: BatchSource,
    loss: Loss,
    config: TrainingConfig,
    out: Path,
    *,
    name: str,
    parameters: Sequence[tuple[nn.Parameter, float]] | None = None,
    evaluate: Callable[[], dict[str, float]] | None = None,
    select: str | None = None,
    metadata: dict[str, Any] | None = None,
    keep: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Optimise `model` in place and return the record, also written to `out`/`name`.json.

    A checkpoint in `out` is taken up where it stopped, so that an interrupted run ends with the weights of an
    uninterrupted one; it goes when the run is done. Under `accelerate launch` or torchrun every process calls
    this alike.

    Args:
        model: trained; on the device of the run meanwhile.
        source: of the batches.
        loss: `loss(model, batch, normalizers)` → (loss, parts).
        config: the optimisation.
        out: directory for record, checkpoint and TensorBoard's files.
        name: of this run.
        parameters: those that are trained, with their multiple of the learning rate, in the order in which
            their gradients' norms are added up; without them, all that require a gradient.
        evaluate: development figures, called every `evaluate_every` steps and at the end, by all processes.
        select: with `patience`, the figure whose highest value marks the best weights; these are left in
            `model`, and `best_step` of the record says where they are from.
        metadata: what else the record shall say.
        keep: writes the trained `model`, by all processes; the checkpoint goes only when it is written.

    Raises:
        OptionError: the batch does not divide among the processes, a dtype that this machine has not, or the
            loss became infinite or NaN.
        ResumeError: `out` holds a checkpoint of other settings, data, weights at the start or code.
    """
    out.mkdir(parents=True, exist_ok=True)
    home = next(model.parameters()).device
    update = _Update(model, loss, config, parameters)
    accelerator, steps = update.accelerator, config.total_steps(source.examples)
    rank, world = accelerator.process_index, accelerator.num_processes
    values = {"config": asdict(config) | source.settings, "steps": steps, "examples": source.examples}
    values |= {"metadata": metadata or {}, "processes": world}
    values |= {"start": weights_hash(model), "code": code_hash()}
    record = Record(out, name, values, writes=rank == 0)
    saved = Checkpoint(out / f"{name}.checkpoint", accelerator, update.module, update.optimiser)
    step, best = saved.resume(record, needs_random_state=not source.seeded_by_step)
    stream = source.micro_batches(config, rank, world, range(step, steps))
    started = time.monotonic() - record.values["seconds"]
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, disable=rank > 0) as progress:
        if not record.has_events:
            progress.console.print("no event files: TensorBoard is not installed; the record has the curves")
        bar = progress.add_task(name, total=steps, completed=step)
        update.module.train()
        while step < steps and not record.gives_up(config.patience, select):
            batches = next(stream)  # before the seed: a loader that starts draws from the same generator
            if (seed := source.seed(config, rank, step)) is not None:
                torch.manual_seed(seed)
            parts = update(batches, config.rate(step, steps))
            step += 1
            record.add(parts)
            progress.update(bar, completed=step, description=f"{name} loss {parts['loss']:.4f}")
            if step % config.record_every == 0 or step == steps:
                record.point(step, config.rate(step - 1, steps))
            if evaluate and (step == steps or _due(step, config.evaluate_every)):
                update.collect()
                progress.console.print(f"{name} step {step}: {record.evaluated(step, evaluate())}")
                if config.patience and record.best(select)["step"] == step:
                    best = {k: v.detach().clone() for k, v in model.state_dict().items()}
                update.module.train()
            if _due(step, config.checkpoint_every) and step < steps:
                record.values["seconds"] = time.monotonic() - started
                saved.save(step, record, best)
    update.collect()
    record.values["seconds"] = time.monotonic() - started
    if best:
        model.load_state_dict(best)
        record.values |= {"steps_run": step, "best_step": record.best(select)["step"]}
    model.to(home).eval()
    record.close()
    if keep:
        keep()
    saved.remove()
    accelerator.free_memory()
    return record.values


def supervised(criterion: Callable[[Tensor, Tensor], Tensor]) -> Loss:
    """The loss of a network on batches of its inputs and `labels`; `criterion` is a mean over examples."""

    def loss(network: nn.Module, batch: Tensors, normalizers: LossNormalizers) -> tuple[Tensor, Parts]:
        inputs = {key: value for key, value in batch.items() if key != "labels"}
        return criterion(logits_of(network(**inputs)).float(), batch["labels"]) * normalizers.sequences, {}

    return loss


def processes() -> PartialState:
    """The processes of this run; before anything else asks for them.

    Without a GPU accelerate takes the processes of torchrun for strangers unless it is told `cpu`: each would
    train a model of its own into the same folder.
    """
    return PartialState(cpu=_on_cpu())


def checkpoint_activations(encoder: Encoder) -> None:
    """Recompute every layer in the backward pass instead of keeping what it computed in between."""
    for layer in dict.fromkeys(encoder.layers):  # layers that share all weights are one module
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


def parameter_groups(parameters: Sequence[tuple[nn.Parameter, float]], weight_decay: float) -> list[Group]:
    """Groups of (parameter, factor of the learning rate): matrices decay, biases and norms do not."""
    groups: dict[tuple[float, float], Group] = {}
    for parameter, factor in parameters:
        decay = weight_decay if parameter.dim() > 1 else 0.0
        group = groups.setdefault((factor, decay), {"params": [], "weight_decay": decay, "factor": factor})
        group["params"].append(parameter)
    return list(groups.values())


class _LossModule(nn.Module):
    """What the processes average the gradients of: its forward pass is the loss."""

    def __init__(self, model: nn.Module, loss: Loss) -> None:
        super().__init__()
        self.model, self._loss = model, loss

    def forward(self, batch: Tensors, normalizers: LossNormalizers) -> tuple[Tensor, Parts]:
        return self._loss(self.model, batch, normalizers)


class _Update:
    """One update from this process's part of the global batch.

    Sharded, it trains a copy of the model, whose parameters each process holds a part of; `collect` writes
    them back.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        config: TrainingConfig,
        parameters: Sequence[tuple[nn.Parameter, float]] | None,
    ) -> None:
        same_graph = DistributedDataParallelKwargs(gradient_as_bucket_view=True)
        self.accelerator = Accelerator(cpu=_on_cpu(), kwargs_handlers=[same_graph])
        self._config, self._model = config, model.to(self.accelerator.device)
        if config.dtype == "bf16":
            require_bf16(self.accelerator.device)
        if parameters is None:
            parameters = [(p, 1.0) for p in model.parameters() if p.requires_grad]
        self.module: Any = _LossModule(model, loss)
        if config.shard:
            names = {parameter: key for key, parameter in model.named_parameters()}
            self.module = _sharded(_LossModule(copy.deepcopy(model), loss), self.accelerator)
            parts = dict(self.module.model.named_parameters())
            parameters = [(parts[names[parameter]], factor) for parameter, factor in parameters]
        else:
            self.module = self.accelerator.prepare(self.module)
        self._trained = [parameter for parameter, _ in parameters]
        groups = parameter_groups(parameters, config.weight_decay)
        self.optimiser = OPTIMISERS[config.optimiser](groups, lr=config.learning_rate)

    def __call__(self, micro_batches: list[Tensors], rate: float) -> dict[str, float]:
        """Change the weights; the parts of the global loss."""
        accelerator = self.accelerator
        device, world = accelerator.device, accelerator.num_processes
        counts = torch.tensor([unit_counts(batch) for batch in micro_batches], dtype=torch.float64)
        totals = accelerator.reduce(counts.sum(0).float().to(device), "sum").double().cpu()
        sums: dict[str, Tensor] = {}
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["factor"]
        self.optimiser.zero_grad(set_to_none=True)
        for number, (batch, count) in enumerate(zip(micro_batches, counts, strict=True), start=1):
            on_device = {key: value.to(device) for key, value in batch.items()}
            normalizers = LossNormalizers(*(count / totals.clamp(min=1) * world).tolist())
            last = number == len(micro_batches)
            with nullcontext() if last else accelerator.no_sync(self.module):
                with torch.autocast(device.type, torch.bfloat16, enabled=self._config.dtype == "bf16"):
                    loss, parts = self.module(on_device, normalizers)
                accelerator.backward(loss)
            for key, value in ({"loss": loss} | parts).items():
                sums[key] = sums.get(key, torch.zeros((), device=device)) + value.detach().float()
        values = accelerator.reduce(torch.stack(list(sums.values())), "mean").tolist()
        found = dict(zip(sums, values, strict=True))
        if not math.isfinite(found["loss"]):
            raise OptionError(f"the loss became {found['loss']}; lower the learning rate or warm up longer")
        nn.utils.clip_grad_norm_(self._trained, self._config.max_grad_norm)
        self.optimiser.step()
        return found

    def collect(self) -> None:
        """Whole weights into the model, where the processes share them out."""
        if self._config.shard:
            self._model.load_state_dict(whole_state(self.module.model))


def _sharded(module: _LossModule, accelerator: Accelerator) -> nn.Module:
    """Each encoder layer, and the rest of the module, in equal parts on the processes (FSDP)."""
    if accelerator.num_processes < 2:
        raise OptionError("shard: one process has nothing to share out; start several with torchrun")
    mesh = init_device_mesh(accelerator.device.type, (accelerator.num_processes,))
    for encoder in [part for part in module.modules() if isinstance(part, Encoder)]:
        for layer in dict.fromkeys(encoder.layers):
            fully_shard(layer, mesh=mesh)
    fully_shard(module, mesh=mesh)
    return module


def _on_cpu() -> bool:
    return not torch.accelerator.is_available() or parse_flag_from_env("ACCELERATE_USE_CPU")


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0
