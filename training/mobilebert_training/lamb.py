"""LAMB (You et al. 2020, Algorithm 2): Adam, each tensor's step scaled to the tensor's size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor


class Lamb(torch.optim.Optimizer):
    """Large-batch optimiser of ALBERT and MobileBERT (section 4.2 of both).

    r = m̂ / (√v̂ + ε) + λ·x and x ← x − η · ‖x‖ / ‖r‖ · r for each tensor x: φ of Algorithm 2 is the identity.
    The ratio is 1 where a norm is zero, so that a bias that starts at zero can move.

    Args:
        params: parameters or groups of them.
        lr: η.
        betas: decay of the first and second moment.
        eps: ε; the paper's implementation has 1e-6.
        weight_decay: λ, decoupled from the moments.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group)
        return loss

    def _update(self, x: Tensor, group: dict[str, Any]) -> None:
        state = self.state[x]
        if not state:
            state["step"] = torch.zeros(())
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(x), torch.zeros_like(x)
        state["step"] += 1
        first, second = group["betas"]
        step = state["step"].item()
        mean = state["exp_avg"].lerp_(x.grad, 1 - first)
        square = state["exp_avg_sq"].mul_(second).addcmul_(x.grad, x.grad, value=1 - second)
        root = (square / (1 - second**step)).sqrt_().add_(group["eps"])
        direction = (mean / (1 - first**step)).div_(root).add_(x, alpha=group["weight_decay"])
        size, length = x.norm(), direction.norm()
        ratio = torch.where((size > 0) & (length > 0), size / length, torch.ones_like(size))
        x.sub_(direction.mul_(ratio), alpha=group["lr"])
