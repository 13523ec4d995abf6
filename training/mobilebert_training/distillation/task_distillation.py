"""Teach a student stage by stage; finished stages are kept, so an interrupted run goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mobilebert_models import PairClassifier
from mobilebert_models.networks.layers import Encoder, EncoderOutput, additive_mask
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.batches import Batch, LengthBuckets, Tensors
from mobilebert_training.checkpoint import save_whole
from mobilebert_training.distillation.distillation_recipes import DistillationRecipe, Stage
from mobilebert_training.distillation.losses import (
    full_precision,
    labelled_cross_entropy,
    layer_loss,
    soft_label_transfer,
)
from mobilebert_training.distillation.teacher_logits import teacher_logits
from mobilebert_training.finetuning.encoded_pairs import (
    TRAIN_LENGTH,
    EncodedPairs,
    dev_figures,
    readable_tokens,
    swap_flags,
)
from mobilebert_training.initialization.student import freeze
from mobilebert_training.run_directory import claim, values_hash, weights_hash
from mobilebert_training.trainer import Loss, Parts, train
from mobilebert_training.training_config import LossNormalizers


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
    recipe: DistillationRecipe,
    out: Path,
    metadata: dict[str, Any] | None = None,
    targets: TaskTargets | None = None,
) -> list[dict[str, Any]]:
    """Run a recipe's stages on `student` in place; returns one record a stage.

    Args:
        student: starts from `mobilebert_training.initialization.student.inherit`.
        teacher: fine-tuned; not changed.
        tokenizer: of both.
        pairs: N pairs.
        labels: (N,) class indices, `mobilebert_training.distillation.losses.UNLABELLED` where the teacher's
            word is all there is.
        dev: development pairs and labels for the records.
        recipe: the stages.
        out: directory for records, checkpoints and the weights after each stage.
        metadata: what else the records shall say.
        targets: of the task stage, in the place of `teacher`'s logits and pairs that all count alike.

    Raises:
        ResumeError: `out` holds a run of another teacher, student, seed, recipe, data or targets.
        ModelError: targets for a recipe whose task stage matches one teacher's hidden states.
    """
    if targets is not None and recipe.matches_hidden_states:
        raise ModelError("this recipe matches the hidden states of one teacher, not targets of several")
    known: dict[str, Any] = {
        "teacher": weights_hash(teacher),
        "student": weights_hash(student),
        "recipe": asdict(recipe),
    }
    known |= {"data": values_hash(pairs, np.asarray(labels)), "seed": (metadata or {}).get("seed")}
    if targets is not None:
        known["targets"] = values_hash([], np.column_stack([targets.logits, targets.weights]))
    claim(out, "stages", known)
    freeze(teacher, frozen=True)
    teacher.eval()
    longest = readable_tokens(TRAIN_LENGTH, student.config, teacher.config)
    encoded = EncodedPairs.encode(tokenizer, pairs, longest)

    def evaluate() -> dict[str, float]:
        return dev_figures(student, tokenizer, dev)

    def begin(stage: Stage) -> tuple[LengthBuckets, Loss]:
        freeze(student, frozen=False)
        freeze(student.classifier, frozen=not stage.trains_head)
        if student.encoder.pooler is not None:
            freeze(student.encoder.pooler, frozen=not stage.trains_head)
        stage_targets = targets
        if stage.learns_cached_logits and targets is None:
            logits = teacher_logits(teacher, tokenizer, pairs, out / "teacher_logits")
            stage_targets = TaskTargets(logits, np.ones(len(pairs)))
        return stage_loss(stage, teacher, tokenizer, encoded, labels, stage_targets)

    records = run_stages(student, recipe, out, begin, evaluate, metadata or {})
    freeze(student, frozen=False)
    return records


def run_stages(
    student: nn.Module,
    recipe: DistillationRecipe,
    out: Path,
    begin: Callable[[Stage], tuple[LengthBuckets, Loss]],
    evaluate: Callable[[], dict[str, float]],
    metadata: dict[str, Any],
) -> list[dict[str, Any]]:
    """Train `student` in place, stage by stage; returns one record for each that was not finished before.

    Args:
        student: in eval mode at the end.
        recipe: the stages.
        out: directory for records, checkpoints and the weights after each stage.
        begin: prepares a stage; the batches it trains on and its loss.
        evaluate: development figures.
        metadata: what else the records shall say.
    """
    records = []
    for stage in recipe.stages:
        kept = out / f"{stage.name}.weights"
        if kept.is_file():
            student.load_state_dict(torch.load(kept, weights_only=True))
            kept.with_suffix(".checkpoint").unlink(missing_ok=True)  # of a run that was killed here
            continue
        if stage.dropout is not None:
            _set_dropout(student, stage.dropout)
        source, loss = begin(stage)
        record = train(
            student,
            source,
            loss,
            stage.loop,
            out,
            name=stage.name,
            evaluate=evaluate,
            metadata=metadata | {"weights": asdict(stage.weights)},
            keep=lambda: save_whole(student.state_dict(), kept),  # noqa: B023 (called within this turn)
        )
        records.append(record)
    student.eval()
    return records


def stage_loss(
    stage: Stage,
    teacher: PairClassifier,
    tokenizer: PairTokenizer,
    encoded: EncodedPairs,
    labels: np.ndarray,
    targets: TaskTargets | None = None,
) -> tuple[LengthBuckets, Loss]:
    """The batches of a stage and the loss of a student on them.

    Args:
        stage: its weights. A student has as many layers as the teacher, and its shape where hidden states are
            matched.
        teacher: runs on the very batch, swaps included, where a layer or its logits are asked for.
        tokenizer: of both.
        encoded: N pairs.
        labels: (N,) class indices, `mobilebert_training.distillation.losses.UNLABELLED` where there is only
            the teacher.
        targets: soft labels of all pairs, in the place of the teacher's on the batch.
    """
    weights, layers = stage.weights, stage.weights.layers
    given = {"labels": torch.from_numpy(np.asarray(labels, np.int64)), "counts": torch.ones(len(labels))}
    if targets is not None:
        given["counts"] = torch.from_numpy(np.asarray(targets.weights, np.float32))
        if weights.soft_labels:
            given["soft_labels"] = torch.from_numpy(np.asarray(targets.logits, np.float32))
    asks_teacher = bool(layers) or (weights.soft_labels > 0 and targets is None)

    def collate(batch: Batch) -> Tensors:
        inputs = encoded.batch(tokenizer, batch.index, swap_flags(batch))
        return inputs | {name: values[batch.index] for name, values in given.items()}

    def loss(student: PairClassifier, batch: Tensors, normalizers: LossNormalizers) -> tuple[Tensor, Parts]:
        inputs = {name: value for name, value in batch.items() if name not in given}
        target_logits = batch.get("soft_labels")
        if asks_teacher:
            with torch.no_grad():
                target = teacher.to(batch["labels"].device).encoder(**inputs, capture=True)
                if weights.soft_labels and target_logits is None:
                    target_logits = teacher.classify(target.pooled)
        if stage.teacher_forced:
            output = teacher_forced(student.encoder, inputs, target)
        else:
            output = student.encoder(**inputs, capture=bool(layers))
        parts: Parts = {}
        for name in layers:
            # Transfer counts the embedding output as a layer; Eq. 14 has a term of its own for it.
            transfer = name in ("feature_map", "statistics")
            parts[name] = layer_loss(name, target, output, inputs["attention_mask"], with_embedding=transfer)
        if weights.soft_labels or weights.hard_labels:
            logits = full_precision(student.classify(output.pooled))
        if target_logits is not None:
            soft = soft_label_transfer(full_precision(target_logits), logits, weights=batch["counts"])
            parts["soft_labels"] = soft
        if weights.hard_labels:
            parts["hard_labels"] = labelled_cross_entropy(logits, batch["labels"], batch["counts"])
        parts = {name: part * getattr(normalizers, weights.unit(name)) for name, part in parts.items()}
        return weights.total(parts), parts

    taught = np.column_stack([values.numpy().astype(np.float64) for values in given.values()])
    return LengthBuckets(encoded.lengths, collate, values_hash(encoded.forward, taught)), loss


def teacher_forced(student: Encoder, inputs: dict[str, Tensor], teacher: EncoderOutput) -> EncoderOutput:
    """Every student layer applied to the teacher's feature map below it: all layers learn independently."""
    embedded = student.embed(**inputs)
    mask = additive_mask(inputs["attention_mask"], student.config.attention_mask_value, embedded.dtype)
    steps = [layer(x, mask) for layer, x in zip(student.layers, teacher.hidden_states, strict=False)]
    hidden = [embedded, *(h for h, _ in steps)]
    return EncoderOutput(hidden[-1], hidden[-1][:, 0], hidden, [scores for _, scores in steps])


def _set_dropout(model: nn.Module, probability: float) -> None:
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = probability
