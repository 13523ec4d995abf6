"""What the trainings of this study share: a matcher goes on from its weights towards new targets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mobilebert_matching.evaluation.score_calibration import fit_debiased_settings
from mobilebert_matching.length_bias.length_prior import LengthPrior
from mobilebert_models import find_directory, load_classifier, save_pretrained
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.distillation.distillation_data import DistillationData
from mobilebert_training.distillation.distillation_recipes import DistillationRecipe, Stage
from mobilebert_training.distillation.losses import Weights
from mobilebert_training.distillation.task_distillation import TaskTargets, distil
from mobilebert_training.finetuning.encoded_pairs import predict_logits
from mobilebert_training.training_config import TrainingConfig
from recipes.general_matchers.train_trunk import average
from studies.common.script import console


def train_further(
    out: Path,
    start: str,
    known: DistillationData,
    pairs: Sequence[Pair],
    labels: np.ndarray,
    targets: TaskTargets,
    prior: LengthPrior,
    loop: TrainingConfig,
    kept: float,
    facts: dict[str, Any],
) -> None:
    """Write OUT/model: the mean of a matcher's weights before and after, in eight bits, with fitted settings.

    An interrupted run is taken up again; of a finished one only the mean and the settings are made anew.

    Args:
        out: folder of the run.
        start: matcher whose weights are taken up.
        known: whose dev pairs the records and the settings are of.
        pairs: N pairs as the student reads them.
        labels: (N,) class indices, `mobilebert_training.distillation.losses.UNLABELLED` where there is only
            the target.
        targets: of the N pairs.
        prior: of the training pairs; the settings take it out of the score.
        loop: rate, epochs and the like.
        kept: share of the weights before in the mean.
        facts: what the record says beside the start and the number of mined pairs.
    """
    recipe = DistillationRecipe(
        (Stage("task", loop, Weights(soft_labels=1.0), trains_head=True),), len(known.mined)
    )
    folder = find_directory(start)
    student, before, tokenizer = load_classifier(folder), load_classifier(folder), PairTokenizer.load(folder)
    told = {"start": start, "mined_pairs": len(known.mined)} | facts
    distil(student, before, tokenizer, pairs, labels, known.dev, recipe, out, told, targets)
    average(student, before, kept)
    save_pretrained(student, out / "model", tokenizer_from=folder, half=True, eight_bit=True)
    logits = predict_logits(load_classifier(out / "model"), tokenizer, known.dev.pairs)
    settings = fit_debiased_settings(logits, known.dev, prior)
    settings.save(out / "model")
    console().print(f"dev accuracy {(logits.argmax(1) == known.dev.labels).mean():.4f}, {settings}")
