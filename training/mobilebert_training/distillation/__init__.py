"""Teach small students: `distill(DistillationConfig(…))` leads from labelled pairs to a model directory."""

from typing import TYPE_CHECKING, Any

from mobilebert_training.distillation.distillation_config import DistillationConfig

if TYPE_CHECKING:
    from mobilebert_training.distillation.distillation import DistillationResult, distill

__all__ = ["DistillationConfig", "DistillationResult", "distill"]


def __getattr__(name: str) -> Any:
    """`distill` and its result, imported when they are asked for: they need torch, the config does not."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mobilebert_training.distillation import distillation

    return getattr(distillation, name)
