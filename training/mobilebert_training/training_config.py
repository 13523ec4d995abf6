"""How a training run optimises, and which parts of a loss are means over what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from mobilebert_runtime.errors import OptionError, UserError
from mobilebert_training.lamb import Lamb

OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {"adamw": torch.optim.AdamW, "lamb": Lamb}
DTYPES = ("float32", "bf16")


class ResumeError(UserError):
    """The output directory holds a run of another configuration, or a finished one."""


@dataclass(frozen=True)
class TrainingConfig:
    """How to optimise: linear warm-up, linear decay to zero.

    Raises:
        OptionError: a name is unknown or a number makes no sense.
    """

    epochs: float = 2.0  # passes over the examples, where `steps` is 0
    batch_size: int = 64  # examples of an update, over all processes and micro-batches
    learning_rate: float = 8e-5
    warmup: float = 0.1  # share of all steps
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    seed: int = 0
    steps: int = 0
    optimiser: str = "adamw"
    accumulate: int = 1  # micro-batches of a process in an update
    dtype: str = "float32"  # of activations, by autocast; weights and moments stay float32
    checkpoint_activations: bool = False  # recompute layers in the backward pass (pretraining)
    shard: bool = False  # spread weights, gradients and moments over the processes (FSDP)
    record_every: int = 50  # steps
    checkpoint_every: int = 200  # steps
    evaluate_every: int = 0  # steps; 0 = at the end only
    patience: int = 0  # stop after so many evaluations without a better one, keep the best weights; 0 = off

    def __post_init__(self) -> None:
        """Check names and numbers once."""
        if self.optimiser not in OPTIMISERS:
            raise OptionError(f"optimiser {self.optimiser!r}; expected one of {', '.join(OPTIMISERS)}")
        if self.dtype not in DTYPES:
            raise OptionError(f"dtype {self.dtype!r}; expected one of {', '.join(DTYPES)}")
        if min(self.batch_size, self.accumulate) < 1 or self.steps < 0 or self.epochs <= 0:
            raise OptionError("epochs, batch size and accumulation must be at least 1, or steps above 0")

    def total_steps(self, examples: int) -> int:
        """Steps of a whole run over `examples` examples."""
        return self.steps or max(1, round(self.epochs * -(-examples // self.batch_size)))

    def rate(self, step: int, steps: int) -> float:
        """Learning rate of a step that starts at 0, of `steps`."""
        warm = max(1, round(self.warmup * steps))
        return self.learning_rate * min((step + 1) / warm, (steps - step) / max(1, steps - warm))


@dataclass(frozen=True)
class LossNormalizers:
    """What a micro-batch's mean weighs in the global mean, for each unit, times the number of processes.

    The factor undoes that processes' gradients are averaged, not summed. One micro-batch on one process: 1.
    """

    tokens: float = 1.0
    masked: float = 1.0
    sequences: float = 1.0


def require_bf16(device: torch.device) -> None:
    """Refuse bfloat16 where it is emulated, slower than float32.

    Raises:
        OptionError: see there.
    """
    if device.type == "cuda":
        supported = torch.cuda.is_bf16_supported(including_emulation=False)
    elif device.type == "cpu":
        found = torch.cpu.get_capabilities()
        supported = any(found.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16", "arm_bf16"))
    else:
        supported = True
    if not supported:
        raise OptionError(f"dtype bf16: this {device.type} computes no bfloat16; leave it float32")
