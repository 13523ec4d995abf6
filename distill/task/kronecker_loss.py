"""KroneckerBERT Eq. 14: imitate embedding output, attention scores and feature maps, and learn the task.

A factored student has the layers and widths of its teacher, so every tensor is compared as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from distill.losses import (
    attention_score_transfer,
    feature_map_transfer,
    labelled_cross_entropy,
    soft_label_transfer,
)
from distill.task.distillation_recipes import Stage, Weights
from mobilebert_runtime.tokenizer import PairTokenizer
from models import PairClassifier
from models.layers import EncoderOutput
from training.encoded_pairs import EncodedPairs, swap_flags
from training.loop import Batch


def imitation_loss(
    stage: Stage,
    student: PairClassifier,
    teacher: PairClassifier,
    tokenizer: PairTokenizer,
    encoded: EncodedPairs,
    labels: np.ndarray,
) -> Callable[[Batch], tuple[Tensor, dict[str, float]]]:
    """The loss of a stage whose weights name intermediate layers, labels or both.

    Args:
        stage: its weights.
        student: as many layers, heads and features as the teacher.
        teacher: fine-tuned; reads the very batch, swaps included.
        tokenizer: of both.
        encoded: N pairs.
        labels: (N,) class indices, `distill.losses.UNLABELLED` where the teacher's word is all there is.
    """
    targets = torch.from_numpy(np.asarray(labels, np.int64))

    def loss(batch: Batch) -> tuple[Tensor, dict[str, float]]:
        inputs = encoded.batch(tokenizer, batch.index, swap_flags(batch, stage.loop.seed))
        with torch.no_grad():
            target = teacher.encoder(**inputs, capture=True)
            target_logits = teacher.classify(target.pooled)
        output = student.encoder(**inputs, capture=True)
        logits = student.classify(output.pooled)
        parts = layer_parts(target, output, inputs["attention_mask"])
        parts["soft_labels"] = soft_label_transfer(target_logits, logits)
        parts["hard_labels"] = labelled_cross_entropy(logits, targets[torch.from_numpy(batch.index)])
        return weighted(stage.weights, parts), {name: part.item() for name, part in parts.items()}

    return loss


def layer_parts(teacher: EncoderOutput, student: EncoderOutput, mask: Tensor) -> dict[str, Tensor]:
    """The intermediate terms of Eq. 14; those of the layers are means, the paper's sums over their number.

    Args:
        teacher: captured.
        student: captured, of the same layers, heads and width.
        mask: (B, T), 1 = token, 0 = padding.
    """
    maps = list(zip(teacher.hidden_states, student.hidden_states, strict=True))
    heads = zip(teacher.attention_scores, student.attention_scores, strict=True)
    return {
        "embedding": feature_map_transfer(*maps[0], mask),
        "hidden": torch.stack([feature_map_transfer(t, s, mask) for t, s in maps[1:]]).mean(),
        "attention_scores": torch.stack([attention_score_transfer(t, s, mask) for t, s in heads]).mean(),
    }


def weighted(weights: Weights, parts: dict[str, Tensor]) -> Tensor:
    """The sum of parts, each times its weight; a part of weight 0 leaves no gradient."""
    return torch.stack([getattr(weights, name) * part for name, part in parts.items()]).sum()
