"""One stage of pretraining as a module: what the student computes, its loss, and what of it is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from mobilebert_models import PretrainingHead
from mobilebert_models.networks.layers import EncoderOutput
from mobilebert_runtime.errors import ModelError
from mobilebert_training.distillation.losses import (
    Weights,
    full_precision,
    layer_loss,
    masked_language_model,
    sentence_pair,
    soft_label_transfer,
)
from mobilebert_training.pretraining.strategies import PretrainingStage
from mobilebert_training.trainer import Parts
from mobilebert_training.training_config import LossNormalizers

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@dataclass(frozen=True)
class PretrainingOutput:
    """What a model computes for a batch.

    Attributes:
        encoder: feature maps and attention scores, if they were captured.
        mlm_logits: (M, V) at the masked tokens; None if not asked for.
        pair_logits: (B, 2); None if not asked for.
    """

    encoder: EncoderOutput
    mlm_logits: Tensor | None
    pair_logits: Tensor | None


def forward(
    model: PretrainingHead, batch: dict[str, Tensor], *, capture: bool, mlm: bool = True, pair: bool = True
) -> PretrainingOutput:
    """Run a model; the vocabulary is scored at the masked tokens only, a seventh of all."""
    out = model.encoder(**{name: batch[name] for name in _INPUTS}, capture=capture)
    logits = None
    if mlm:
        rows = out.last_hidden_state.flatten(0, 1)[batch["masked_index"]]  # (B, S, H) → (B·S, H) → (M, H)
        logits = model.cls["predictions"](rows, model.encoder.embeddings.word_embeddings)
    return PretrainingOutput(out, logits, model.cls["seq_relationship"](out.pooled) if pair else None)


class PretrainingLoss:
    """The loss of a stage, as `mobilebert_training.trainer.train` asks for it.

    Args:
        student: that is to be trained.
        teacher: not changed; None where no part of the loss needs one.
        stage: its weights, and the layer that learns.

    Raises:
        ModelError: the loss compares feature maps or heads that differ in size, or there is no teacher.
    """

    def __init__(
        self, student: PretrainingHead, teacher: PretrainingHead | None, stage: PretrainingStage
    ) -> None:
        self.stage = stage
        self.parts = stage.weights.parts
        asked = self.parts.keys() - {"mlm", "pair"}
        if asked and teacher is None:
            raise ModelError(f"stage {stage.name!r} learns {', '.join(sorted(asked))}; give a teacher")
        self.captures = bool(stage.weights.layers)
        if teacher is not None:
            _check_comparable(student, teacher, stage.weights)
            teacher.requires_grad_(False).eval()
        self._teacher = teacher if asked else None

    def __call__(
        self, student: PretrainingHead, batch: dict[str, Tensor], normalizers: LossNormalizers
    ) -> tuple[Tensor, Parts]:
        """The loss of a micro-batch and its parts, each times its share of the global mean."""
        distillation = "mlm_distillation" in self.parts
        target = None
        if self._teacher is not None:
            with torch.no_grad():
                target = forward(self._teacher, batch, capture=self.captures, mlm=distillation, pair=False)
        output = forward(
            student,
            batch,
            capture=self.captures,
            mlm=distillation or "mlm" in self.parts,
            pair="pair" in self.parts,
        )
        parts = {
            name: self._part(name, output, target, batch) * getattr(normalizers, Weights.unit(name))
            for name in self.parts
        }
        return self.stage.weights.total(parts), parts

    def _part(
        self, name: str, output: PretrainingOutput, target: PretrainingOutput | None, batch: dict[str, Tensor]
    ) -> Tensor:
        if name == "mlm":
            return masked_language_model(_given(output.mlm_logits), batch["masked_labels"])
        if name == "pair":
            return sentence_pair(_given(output.pair_logits), batch["pair_labels"])
        theirs = cast(PretrainingOutput, target)
        if name == "mlm_distillation":
            return soft_label_transfer(_given(theirs.mlm_logits), _given(output.mlm_logits))
        only = self.stage.learns if isinstance(self.stage.learns, int) else None
        return layer_loss(name, theirs.encoder, output.encoder, batch["attention_mask"], layer=only)


def trained(student: PretrainingHead, stage: PretrainingStage) -> list[tuple[nn.Parameter, float]]:
    """The parameters that a stage trains, each with its factor of the learning rate; all others are frozen.

    Those that the stage's loss does not reach (the classifier of a transfer stage, the pooler where no pair
    is classified) are frozen too: processes that average gradients must agree on which there are.
    """
    layers = student.encoder.layers
    factors: dict[nn.Parameter, float] = {}
    if stage.learns == "all":
        factors = dict.fromkeys(student.parameters(), 1.0)
        unread = [] if stage.weights.pair else [student.encoder.pooler, student.cls["seq_relationship"]]
        if not (stage.weights.mlm or stage.weights.mlm_distillation):
            unread.append(student.cls["predictions"])
        for part in unread:
            for parameter in part.parameters() if part is not None else ():
                del factors[parameter]
    elif stage.learns == "layers":
        factors = {p: 1.0 for layer in layers for p in layer.parameters()}
    else:
        below = [p for layer in layers[: stage.learns] for p in layer.parameters()]
        factors = dict.fromkeys(below, stage.below) if stage.below else {}
        factors |= dict.fromkeys(layers[stage.learns].parameters(), 1.0)
    for parameter in student.parameters():
        parameter.requires_grad_(parameter in factors)
    return list(factors.items())


def _check_comparable(student: PretrainingHead, teacher: PretrainingHead, weights: Weights) -> None:
    ours, theirs = student.config, teacher.config
    same = ["vocab_size"]
    if weights.feature_map or weights.statistics or weights.hidden_states or weights.embedding:
        same += ["hidden_size", "num_hidden_layers"]
    if weights.attention or weights.attention_scores:
        same += ["num_attention_heads", "num_hidden_layers"]
    for name in same:
        if getattr(ours, name) != getattr(theirs, name):
            raise ModelError(
                f"student: {name} {getattr(ours, name)} must equal the teacher's {getattr(theirs, name)}"
            )


def _given(logits: Tensor | None) -> Tensor:
    return full_precision(cast(Tensor, logits))
