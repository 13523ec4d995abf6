"""Distillation recipes as data: which stages a student goes through, and what each one minimises."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mobilebert_runtime.errors import OptionError
from mobilebert_training.distillation.losses import LAYER_TRANSFER, Weights
from mobilebert_training.training_config import TrainingConfig


@dataclass(frozen=True)
class Stage:
    """One stretch of training.

    `teacher_forced`: every layer reads the teacher's feature map instead of the layer below, so that all
    layers learn at once from exact inputs (progressive transfer with all its stages side by side).
    `trains_head`: whether pooler and classifier move, or stay the teacher's (MobileBERT section 3.6).
    `dropout`: replaces the student's own; None leaves it.
    """

    name: str
    loop: TrainingConfig
    weights: Weights
    teacher_forced: bool = False
    trains_head: bool = False
    dropout: float | None = None

    @property
    def learns_cached_logits(self) -> bool:
        """Whether soft labels are worked out beforehand: one that matches hidden states runs its teacher."""
        return bool(self.weights.soft_labels) and not self.weights.matches_hidden_states


@dataclass(frozen=True)
class DistillationRecipe:
    """Stages in order, and how many unlabelled pairs are mined beside the labelled ones."""

    stages: tuple[Stage, ...]
    mined_pairs: int

    @property
    def matches_hidden_states(self) -> bool:
        """Whether a stage compares layers as they are, which takes one teacher of equal shape."""
        return any(stage.weights.matches_hidden_states for stage in self.stages)

    @property
    def learns_vectors(self) -> bool:
        """Whether an embedder teaches, from texts."""
        return any(stage.weights.vectors for stage in self.stages)

    @property
    def soft_labelled(self) -> bool:
        """Whether a stage learns from logits of all pairs that are worked out beforehand."""
        return any(stage.learns_cached_logits for stage in self.stages)


TASK = Weights(soft_labels=1.0, hard_labels=0.2)


def _layerwise(loop: TrainingConfig) -> Stage:
    return Stage("layerwise", loop, LAYER_TRANSFER, teacher_forced=True)


def _task(loop: TrainingConfig, weights: Weights = TASK, dropout: float | None = None) -> Stage:
    return Stage("task", loop, weights, trains_head=True, dropout=dropout)


# KroneckerBERT Eq. 14; hidden states are matched without the student's dropout, which would be noise in every
# squared difference.
_EQ_14 = Weights(embedding=1.0, hidden_states=1.0, attention_scores=1.0, soft_labels=1.0, hard_labels=1.0)
_KRONECKER = _task(TrainingConfig(epochs=3, batch_size=32, learning_rate=5e-4), _EQ_14, dropout=0.0)

DISTILLATION_RECIPES: dict[str, DistillationRecipe] = {
    # matcher-m: about one hour on two cores. Epochs count labelled and mined pairs together.
    "matcher-m": DistillationRecipe(
        stages=(
            _layerwise(TrainingConfig(epochs=0.3, learning_rate=2e-3)),
            Stage("joint", TrainingConfig(epochs=0.35, learning_rate=1e-3), LAYER_TRANSFER),
            _task(TrainingConfig(epochs=1.1, learning_rate=5e-4)),
        ),
        mined_pairs=100_000,
    ),
    # matcher-s: a narrower student learns the layers at the same rates, and the task for longer.
    "matcher-s": DistillationRecipe(
        stages=(
            _layerwise(TrainingConfig(epochs=0.4, learning_rate=2e-3)),
            Stage("joint", TrainingConfig(epochs=0.4, learning_rate=1e-3), LAYER_TRANSFER),
            _task(TrainingConfig(epochs=1.6, learning_rate=5e-4)),
        ),
        mined_pairs=40_000,
    ),
    # A student that has been taught, given new targets: the task alone, at a rate that keeps what it knows.
    "debias-finetune": DistillationRecipe(
        stages=(_task(TrainingConfig(epochs=1.0, learning_rate=3e-4)),),
        mined_pairs=40_000,
    ),
    # The task stage of a Kronecker (or low-rank) student; its first stage is the strategy of the same name.
    "kronecker": DistillationRecipe((_KRONECKER,), mined_pairs=0),
    # One pass with the teacher's word on 50,000 mined pairs besides; not in the paper.
    "kronecker-mined": DistillationRecipe(
        (replace(_KRONECKER, loop=replace(_KRONECKER.loop, epochs=1)),), mined_pairs=50_000
    ),
    # Table 6, "w/o KD": the same student and budget, labels alone. Of the paper's rates 5e-4 is too high for
    # them (every run ended at the majority label).
    "kronecker-supervised": DistillationRecipe(
        stages=(_task(replace(_KRONECKER.loop, learning_rate=1e-4), Weights(hard_labels=1.0)),),
        mined_pairs=0,
    ),
    # MobileBERT and MobileBERT-tiny of an embedder; a pass over the texts in all. A peak rate of 7e-4 undoes
    # the start that is fitted to the teacher.
    "embedder": DistillationRecipe(
        stages=(
            Stage(
                "joint",
                TrainingConfig(epochs=0.4, learning_rate=2e-4, evaluate_every=500),
                replace(LAYER_TRANSFER, vectors=1.0),
                dropout=0.0,
            ),
            Stage(
                "vectors",
                TrainingConfig(epochs=0.6, learning_rate=2e-4, evaluate_every=500),
                Weights(vectors=1.0),
                dropout=0.0,
            ),
        ),
        mined_pairs=0,
    ),
    # Every stage for a few steps: shows that the recipe runs, teaches nothing.
    "smoke": DistillationRecipe(
        stages=(
            _layerwise(TrainingConfig(epochs=1, batch_size=8)),
            Stage("joint", TrainingConfig(epochs=1, batch_size=8), LAYER_TRANSFER),
            _task(TrainingConfig(epochs=1, batch_size=8)),
        ),
        mined_pairs=8,
    ),
}


# What `ship` runs for a distilled matcher: recipes in turn, and whether bias is taken out of their targets.
# One that was taught the original targets first shows what taking the bias out costs and gains.
TRAINING_RECIPES: dict[str, tuple[tuple[str, bool], ...]] = {
    "matcher-m": (("matcher-m", False), ("debias-finetune", True)),
    "matcher-s": (("matcher-s", True),),
}


def recipe(name: str) -> DistillationRecipe:
    """Look up a recipe.

    Raises:
        OptionError: no recipe has this name.
    """
    if name not in DISTILLATION_RECIPES:
        known = ", ".join(DISTILLATION_RECIPES)
        raise OptionError(f"distillation recipe {name!r} is unknown; expected one of {known}")
    return DISTILLATION_RECIPES[name]
