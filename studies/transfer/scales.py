"""Sizes and budgets at which the pretraining ablations run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mobilebert_models import EncoderConfig
from mobilebert_runtime.errors import OptionError
from mobilebert_training.training_config import TrainingConfig

# LayerNorm and GELU: "the operational optimizations are removed in these experiments" (section 4.6.3).
_PLAIN = EncoderConfig(
    model_type="mobilebert",
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    hidden_act="gelu",
    normalization_type="layer_norm",
)


@dataclass(frozen=True)
class Scale:
    """Sizes and budget of an ablation. Vocabulary and positions follow from the corpus."""

    teacher: EncoderConfig
    student: EncoderConfig
    albert: EncoderConfig  # of Tables 3 to 5
    teacher_steps: int
    transfer_steps: int  # of every strategy alike
    pretraining_steps: int
    pair_steps: int  # of each run of ALBERT's tables
    engine: TrainingConfig  # its steps are replaced by the budget's
    development_examples: int = 2000


def _scale(
    layers: int, feature_map: int, heads: int, *, embedding: int, wide: int, narrow: int, **budget: Any
) -> Scale:
    """The proportions of MobileBERT Table 1: teacher wider than the feature map, student a quarter of it."""
    shared = replace(
        _PLAIN,
        hidden_size=feature_map,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        embedding_size=embedding,
    )
    teacher = replace(shared, intra_bottleneck_size=wide, intermediate_size=4 * wide)
    student = replace(
        shared, intra_bottleneck_size=narrow, intermediate_size=4 * narrow, num_feedforward_networks=4
    )
    albert = EncoderConfig(
        model_type="albert",
        hidden_size=feature_map,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * feature_map,
        embedding_size=embedding,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return Scale(teacher, student, albert, **budget)


SCALES: dict[str, Scale] = {
    # With a vocabulary of 8,192 and sequences of 64 about 20 core-hours for three seeds: see `budget`.
    "cpu": _scale(
        6,
        128,
        4,
        embedding=64,
        wide=256,
        narrow=32,
        teacher_steps=4000,
        transfer_steps=900,
        pretraining_steps=1200,
        pair_steps=3000,
        engine=TrainingConfig(steps=1, batch_size=32, learning_rate=2e-3, checkpoint_every=100),
    ),
    # What an evening on two cores can do, with 4,096 word pieces: half an hour a seed, and for the teacher.
    "small": _scale(
        3,
        64,
        4,
        embedding=48,
        wide=192,
        narrow=16,
        teacher_steps=6000,
        transfer_steps=900,
        pretraining_steps=1200,
        pair_steps=3000,
        engine=TrainingConfig(steps=1, batch_size=16, learning_rate=2e-3, checkpoint_every=200),
    ),
    # MobileBERT's own feature map and block widths at half its depth, for a GPU.
    "gpu": _scale(
        12,
        512,
        4,
        embedding=128,
        wide=1024,
        narrow=128,
        teacher_steps=40_000,
        transfer_steps=12_000,
        pretraining_steps=20_000,
        pair_steps=40_000,
        engine=TrainingConfig(
            steps=1,
            batch_size=256,
            learning_rate=1e-3,
            optimiser="lamb",
            dtype="bf16",
            checkpoint_every=500,
        ),
    ),
    # Shows that every row runs; teaches nothing.
    "toy": _scale(
        2,
        16,
        2,
        embedding=8,
        wide=16,
        narrow=8,
        teacher_steps=4,
        transfer_steps=2,
        pretraining_steps=2,
        pair_steps=3,
        engine=TrainingConfig(steps=1, batch_size=4, learning_rate=1e-3, record_every=1),
        development_examples=8,
    ),
}

# A third of the updates: with all of "small" every strategy that starts from the teacher's embeddings reaches
# the same loss, below the teacher's own.
SCALES["short"] = replace(SCALES["small"], transfer_steps=300, pretraining_steps=400)


def scale(name: str) -> Scale:
    """Look up a scale.

    Raises:
        OptionError: no scale has this name.
    """
    if name not in SCALES:
        raise OptionError(f"scale {name!r} is unknown; expected one of {', '.join(SCALES)}")
    return SCALES[name]
