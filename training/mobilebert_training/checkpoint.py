"""Checkpoints: one file from which any number of processes, sharded or not, can resume.

It holds whole tensors by name: weights, the optimiser's moments, the random state of every process, the step
and the record.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, gather_object
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)

from mobilebert_runtime.files import replacing
from mobilebert_training.record import Record
from mobilebert_training.run_directory import changes
from mobilebert_training.training_config import ResumeError

# Of a record, beside its configuration: what a resumed run must have in common with the interrupted one.
_INPUTS = ("steps", "start", "code")
_WHOLE = StateDictOptions(full_state_dict=True)


class Checkpoint:
    """The checkpoint of a run: writing and resuming it.

    Args:
        path: of the file.
        accelerator: of the run.
        model: as it is trained, wrapped.
        optimiser: of its parameters.
    """

    def __init__(
        self, path: Path, accelerator: Accelerator, model: nn.Module, optimiser: torch.optim.Optimizer
    ) -> None:
        self.path, self._accelerator, self._model, self._optimiser = path, accelerator, model, optimiser

    def save(self, step: int, record: Record, best: dict[str, Tensor]) -> None:
        """Replace the file, once all of it is on the disk."""
        state = {
            "model": get_model_state_dict(self._model, options=_WHOLE),
            "optimiser": get_optimizer_state_dict(self._model, self._optimiser, options=_WHOLE),
            "random": gather_object([_random_state(self._accelerator.device)]),
            "record": json.dumps(record.values),
            "sums": (record.sums, record.count),
            "step": step,
            "best": best,
        }
        if self._accelerator.is_main_process:
            save_whole(state, self.path)
        self._accelerator.wait_for_everyone()

    def resume(self, record: Record, *, needs_random_state: bool) -> tuple[int, dict[str, Tensor]]:
        """Resume from the file, if there is one: its step, and the best weights so far.

        Raises:
            ResumeError: it is of a run with other settings, data, weights or code, or with another number of
                processes where the random state goes on from step to step.
        """
        found: list[Any] = [None]
        if self._accelerator.is_main_process and self.path.is_file():
            found = [torch.load(self.path, weights_only=True, map_location="cpu")]
        (state,) = broadcast_object_list(found)
        if state is None:
            return 0, {}
        old = json.loads(state["record"])
        ours, theirs = (r["config"] | {name: r[name] for name in _INPUTS} for r in (record.values, old))
        if different := changes(theirs, ours):
            raise ResumeError(f"{self.path}: holds a run with other {different}; choose another folder")
        if needs_random_state:
            if len(state["random"]) != self._accelerator.num_processes:
                raise ResumeError(
                    f"{self.path}: holds a run of {len(state['random'])} processes; resume it with as many"
                )
            _set_random_state(self._accelerator.device, state["random"][self._accelerator.process_index])
        set_model_state_dict(self._model, state["model"], options=_WHOLE)
        set_optimizer_state_dict(self._model, self._optimiser, state["optimiser"], options=_WHOLE)
        record.values = old
        record.sums, record.count = state["sums"]
        return int(state["step"]), dict(state["best"])

    def remove(self) -> None:
        """The run is done."""
        self._accelerator.wait_for_everyone()
        if self._accelerator.is_main_process:
            self.path.unlink(missing_ok=True)


def save_whole(state: Any, path: Path) -> None:
    """`torch.save`, under a temporary name until all of it is on the disk; an earlier file is replaced."""
    with replacing(path, force=True) as partial, partial.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())


def whole_state(model: nn.Module) -> dict[str, Tensor]:
    """All weights of a module whose parameters may be sharded, by name."""
    return cast(dict[str, Tensor], get_model_state_dict(model, options=_WHOLE))


def _random_state(device: torch.device) -> list[Tensor]:
    cuda = [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
    return [torch.get_rng_state(), *cuda]


def _set_random_state(device: torch.device, states: Sequence[Tensor]) -> None:
    torch.set_rng_state(states[0])
    if device.type == "cuda" and len(states) > 1:
        torch.cuda.set_rng_state(states[1], device)
