"""After a rewrite: how the original teaches its rewritten copy what the closed form could not give it."""

from __future__ import annotations

from mobilebert_runtime.errors import OptionError
from mobilebert_training.distillation.distillation_recipes import TASK, DistillationRecipe, Stage
from mobilebert_training.distillation.losses import LAYER_TRANSFER
from mobilebert_training.training_config import TrainingConfig

# Share of the steps and peak learning rate. The copy starts near its teacher: half of what a student that
# starts from random blocks is given (the recipe "matcher-m").
_STAGES = (
    ("layerwise", 0.3, 1e-3, LAYER_TRANSFER, True, False),
    ("joint", 0.3, 5e-4, LAYER_TRANSFER, False, False),
    ("task", 0.4, 2e-4, TASK, False, True),
)


def recovery_recipe(examples: int, steps: int, batch_size: int = 64, seed: int = 0) -> DistillationRecipe:
    """Layer-wise transfer, joint transfer, then the task: `steps` in all.

    Args:
        examples: pairs that are trained on.
        steps: of all stages together; examples seen are `steps` times `batch_size`.
        batch_size: pairs a step.
        seed: of order and dropout.

    Raises:
        OptionError: fewer steps than stages.
    """
    if steps < len(_STAGES):
        raise OptionError(
            f"recovery in {steps} steps: expected at least one for each of {len(_STAGES)} stages"
        )
    a_pass = -(-examples // batch_size)
    stages = []
    for name, share, rate, weights, forced, head in _STAGES:
        mine = max(1, round(share * steps))
        loop = TrainingConfig(epochs=mine / a_pass, batch_size=batch_size, learning_rate=rate, seed=seed)
        stages.append(Stage(name, loop, weights, teacher_forced=forced, trains_head=head))
    return DistillationRecipe(tuple(stages), mined_pairs=0)
