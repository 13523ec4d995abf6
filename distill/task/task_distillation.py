"""Teach a student stage by stage; finished stages are kept, so an interrupted run goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from distill.init.student import freeze
from distill.losses import (
    attention_transfer,
    feature_map_statistics,
    labelled_cross_entropy,
    normalised_feature_map_transfer,
    soft_label_transfer,
)
from distill.task.distillation_recipes import Recipe, Stage, Weights
from distill.task.kronecker_loss import imitation_loss
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from models import PairClassifier
from models.layers import Encoder, EncoderOutput, additive_mask
from training.encoded_pairs import TRAIN_LENGTH, EncodedPairs, dev_figures, predict_logits, swap_flags
from training.loop import Batch, train
from training.run_directory import claim, values_hash, weights_hash


@dataclass(frozen=True)
class TaskTargets:
    """What a task stage teaches, where it is more than one teacher's word (`distillation_data`)."""

    logits: np.ndarray  # (N, C) whose softmax the student is to give
    weights: np.ndarray  # (N,) how much each pair counts, in soft and hard labels


def distil(
    student: PairClassifier,
    teacher: PairClassifier,
    tokenizer: PairTokenizer,
    pairs: Sequence[Pair],
    labels: np.ndarray,
    dev: tuple[Sequence[Pair], np.ndarray],
    recipe: Recipe,
    out: Path,
    facts: dict[str, Any] | None = None,
    targets: TaskTargets | None = None,
) -> list[dict[str, Any]]:
    """Run a recipe's stages on `student` in place; returns one record a stage.

    Args:
        student: starts from `distill.init.student.inherit`.
        teacher: fine-tuned; not changed.
        tokenizer: of both.
        pairs: N pairs.
        labels: (N,) class indices, `distill.losses.UNLABELLED` where the teacher's word is all there
            is.
        dev: development pairs and labels for the records.
        recipe: the stages.
        out: directory for records, checkpoints and the weights after each stage.
        facts: what else the records shall say.
        targets: of the task stage, in the place of `teacher`'s logits and pairs that all count alike.

    Raises:
        ResumeError: `out` holds a run of another teacher, student, seed, recipe, data or targets.
        ModelError: targets for a recipe whose task stage imitates one teacher's layers.
    """
    if targets is not None and recipe.imitates:
        raise ModelError("this recipe imitates the layers of one teacher; it takes no targets of several")
    known: dict[str, Any] = {
        "teacher": weights_hash(teacher),
        "student": weights_hash(student),
        "recipe": asdict(recipe),
    }
    known |= {"data": values_hash(pairs, np.asarray(labels)), "seed": (facts or {}).get("seed")}
    if targets is not None:
        known["targets"] = values_hash([], np.column_stack([targets.logits, targets.weights]))
    claim(out, known)
    freeze(teacher, frozen=True)
    teacher.eval()
    encoded = EncodedPairs.encode(tokenizer, pairs)

    def evaluate() -> dict[str, float]:
        return dev_figures(student, tokenizer, dev)

    records = []
    for stage in recipe.stages:
        kept = out / f"{stage.name}.weights"
        if kept.is_file():
            student.load_state_dict(torch.load(kept, weights_only=True))
            continue
        freeze(student, frozen=False)
        freeze(student.classifier, frozen=not stage.trains_head)
        if student.encoder.pooler is not None:
            freeze(student.encoder.pooler, frozen=not stage.trains_head)
        if stage.dropout is not None:
            _set_dropout(student, stage.dropout)
        if stage.weights.imitates:
            loss = imitation_loss(stage, student, teacher, tokenizer, encoded, labels)
        elif stage.trains_head:
            asked = stage.weights.soft_labels and targets is None
            taught = _teacher_alone(teacher, tokenizer, pairs, out) if asked else targets
            loss = _task_loss(stage, student, taught, tokenizer, encoded, labels)
        else:
            loss = _transfer_loss(stage, student, teacher, tokenizer, encoded)
        records.append(
            train(
                student,
                encoded.lengths,
                loss,
                stage.loop,
                out,
                name=stage.name,
                evaluate=evaluate,
                facts=(facts or {}) | {"weights": asdict(stage.weights)},
            )
        )
        torch.save(student.state_dict(), kept.with_suffix(".partial"))
        kept.with_suffix(".partial").replace(kept)
    freeze(student, frozen=False)
    student.eval()
    return records


def layer_losses(
    weights: Weights, teacher: EncoderOutput, student: EncoderOutput, mask: Tensor
) -> tuple[Tensor, dict[str, float]]:
    """The layer-wise transfer loss of MobileBERT section 3.5, a mean over layers, and its parts."""
    maps = list(zip(teacher.hidden_states, student.hidden_states, strict=True))
    heads = list(zip(teacher.attention_scores, student.attention_scores, strict=True))
    parts = {
        "feature_map": torch.stack([normalised_feature_map_transfer(t, s, mask) for t, s in maps]).mean(),
        "statistics": torch.stack([feature_map_statistics(t, s, mask) for t, s in maps]).mean(),
        "attention": torch.stack([attention_transfer(t, s, mask) for t, s in heads]).mean(),
    }
    total = torch.stack([getattr(weights, name) * part for name, part in parts.items()]).sum()
    return total, {name: part.item() for name, part in parts.items()}


def teacher_forced(student: Encoder, inputs: dict[str, Tensor], teacher: EncoderOutput) -> EncoderOutput:
    """Every student layer applied to the teacher's feature map below it: all layers learn independently."""
    embedded = student.embed(**inputs)
    mask = additive_mask(inputs["attention_mask"], student.config.attention_mask_value, embedded.dtype)
    steps = [layer(x, mask) for layer, x in zip(student.layers, teacher.hidden_states, strict=False)]
    hidden = [embedded, *(h for h, _ in steps)]
    return EncoderOutput(hidden[-1], hidden[-1][:, 0], hidden, [scores for _, scores in steps])


def _transfer_loss(
    stage: Stage,
    student: PairClassifier,
    teacher: PairClassifier,
    tokenizer: PairTokenizer,
    encoded: EncodedPairs,
) -> Callable[[Batch], tuple[Tensor, dict[str, float]]]:
    def loss(batch: Batch) -> tuple[Tensor, dict[str, float]]:
        inputs = encoded.batch(tokenizer, batch.index, swap_flags(batch, stage.loop.seed))
        with torch.no_grad():
            target = teacher.encoder(**inputs, capture=True)
        output = (
            teacher_forced(student.encoder, inputs, target)
            if stage.teacher_forced
            else student.encoder(**inputs, capture=True)
        )
        return layer_losses(stage.weights, target, output, inputs["attention_mask"])

    return loss


def _task_loss(
    stage: Stage,
    student: PairClassifier,
    taught: TaskTargets | None,
    tokenizer: PairTokenizer,
    encoded: EncodedPairs,
    labels: np.ndarray,
) -> Callable[[Batch], tuple[Tensor, dict[str, float]]]:
    """The task's loss; without anything taught, labels alone, all of which count alike."""
    targets = torch.from_numpy(np.asarray(labels, np.int64))
    teacher_logits, counts = None, torch.ones(len(targets))
    if taught is not None:
        teacher_logits = torch.from_numpy(np.asarray(taught.logits, np.float32))
        counts = torch.from_numpy(np.asarray(taught.weights, np.float32))
    weights = stage.weights

    def loss(batch: Batch) -> tuple[Tensor, dict[str, float]]:
        inputs = encoded.batch(tokenizer, batch.index, swap_flags(batch, stage.loop.seed))
        index = torch.from_numpy(batch.index)
        logits = student(**inputs)
        hard = labelled_cross_entropy(logits, targets[index], counts[index])
        if teacher_logits is None:
            return weights.hard_labels * hard, {"hard_labels": hard.item()}
        soft = soft_label_transfer(teacher_logits[index], logits, weights=counts[index])
        parts = {"soft_labels": soft.item(), "hard_labels": hard.item()}
        return weights.soft_labels * soft + weights.hard_labels * hard, parts

    return loss


def _set_dropout(model: nn.Module, probability: float) -> None:
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = probability


def _teacher_alone(
    teacher: PairClassifier, tokenizer: PairTokenizer, pairs: Sequence[Pair], out: Path
) -> TaskTargets:
    """One teacher's logits of every pair, computed once and kept in `out`; all pairs count alike."""
    cache = out / "teacher_logits.npy"
    if not cache.is_file():
        logits = predict_logits(teacher, tokenizer, pairs, seq_len=TRAIN_LENGTH)
        partial = out / "teacher_logits.partial.npy"
        np.save(partial, logits)
        partial.replace(cache)
    return TaskTargets(np.load(cache), np.ones(len(pairs)))
