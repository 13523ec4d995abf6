"""One stage of pretraining as a module: what the student computes, its loss, and what of it is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from distill.losses import (
    attention_score_transfer,
    attention_transfer,
    feature_map_statistics,
    feature_map_transfer,
    masked_language_model,
    normalised_feature_map_transfer,
    sentence_pair,
    soft_label_transfer,
)
from distill.pretraining.strategies import PretrainingStage
from distill.task.distillation_recipes import Weights
from mobilebert_runtime.errors import ModelError
from models import PretrainingHead
from models.layers import EncoderOutput
from training.engine import LossNormalizers, Parts

# Over what each part of a loss is a mean: a unit of `training.engine.LossNormalizers`.
UNIT_OF = {
    "feature_map": "tokens",
    "statistics": "tokens",
    "attention": "tokens",
    "embedding": "tokens",
    "hidden": "tokens",
    "attention_scores": "tokens",
    "words": "masked",
    "word_distribution": "masked",
    "pair": "sequences",
}
_OF_TEACHER = UNIT_OF.keys() - {"words", "pair"}
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@dataclass(frozen=True)
class Answer:
    """What a model says about a batch.

    Attributes:
        encoder: feature maps and attention scores, if they were captured.
        words: (M, V) logits at the hidden tokens; None if not asked for.
        pair: (B, 2) logits; None if not asked for.
    """

    encoder: EncoderOutput
    words: Tensor | None
    pair: Tensor | None


def answer(
    model: PretrainingHead, batch: dict[str, Tensor], *, capture: bool, words: bool = True, pair: bool = True
) -> Answer:
    """Run a model; the vocabulary is scored at the hidden tokens only, a seventh of all."""
    out = model.encoder(**{name: batch[name] for name in _INPUTS}, capture=capture)
    logits = None
    if words:
        rows = out.last_hidden_state.flatten(0, 1)[batch["masked_index"]]  # (B, S, H) → (B·S, H) → (M, H)
        logits = model.cls["predictions"](rows, model.encoder.embeddings.word_embeddings)
    return Answer(out, logits, model.cls["seq_relationship"](out.pooled) if pair else None)


class PretrainingLoss(nn.Module):
    """A student in a stage; `loss_module(batch, normalizers)` is what `training.engine.run` optimises.

    Args:
        student: trained in place.
        teacher: not changed, and no part of this module; None where no part of the loss needs one.
        stage: its weights, and the layer that learns.

    Raises:
        ModelError: the loss compares feature maps or heads that differ in size, or there is no teacher.
    """

    def __init__(
        self, student: PretrainingHead, teacher: PretrainingHead | None, stage: PretrainingStage
    ) -> None:
        super().__init__()
        self.student = student
        self.stage = stage
        self.parts = {n: w for n in UNIT_OF if (w := getattr(stage.weights, n)) > 0}
        asked = _OF_TEACHER & self.parts.keys()
        if asked and teacher is None:
            raise ModelError(f"stage {stage.name!r} learns {', '.join(sorted(asked))}; give a teacher")
        self.captures = bool(asked - {"word_distribution"})
        if teacher is not None:
            _check_comparable(student, teacher, stage.weights)
            teacher.requires_grad_(False).eval()
        self._teacher = (teacher,) if asked else (None,)  # in a tuple: not a submodule

    def forward(self, batch: dict[str, Tensor], normalizers: LossNormalizers) -> tuple[Tensor, Parts]:
        """The loss of a micro-batch and its parts, each times its share of the global mean."""
        distribution = "word_distribution" in self.parts
        target = None
        if (teacher := self._teacher[0]) is not None:
            with torch.no_grad():
                target = answer(teacher, batch, capture=self.captures, words=distribution, pair=False)
        ours = answer(
            self.student,
            batch,
            capture=self.captures,
            words=distribution or "words" in self.parts,
            pair="pair" in self.parts,
        )
        parts = {}
        for name in self.parts:
            value = self._part(name, ours, target, batch)
            parts[name] = value * getattr(normalizers, UNIT_OF[name])
        loss = torch.stack([self.parts[name] * value for name, value in parts.items()]).sum()
        return loss, parts

    def _part(self, name: str, ours: Answer, target: Answer | None, batch: dict[str, Tensor]) -> Tensor:
        if name == "words":
            return masked_language_model(_whole(ours.words), batch["masked_labels"])
        if name == "pair":
            return sentence_pair(_whole(ours.pair), batch["pair_labels"])
        theirs = cast(Answer, target)
        if name == "word_distribution":
            return soft_label_transfer(_whole(theirs.words), _whole(ours.words))
        mask = batch["attention_mask"]
        if name == "embedding":
            return feature_map_transfer(
                theirs.encoder.hidden_states[0].float(), ours.encoder.hidden_states[0].float(), mask
            )
        loss, kind = _LAYERWISE[name]
        # The embedding output is hidden state 0: layer ℓ wrote hidden state ℓ + 1.
        first = 1 if kind == "hidden_states" else 0
        pairs = list(zip(getattr(theirs.encoder, kind), getattr(ours.encoder, kind), strict=True))[first:]
        if isinstance(self.stage.learns, int):
            pairs = [pairs[self.stage.learns]]
        return torch.stack([loss(t.float(), s.float(), mask) for t, s in pairs]).mean()


_LAYERWISE = {
    "feature_map": (normalised_feature_map_transfer, "hidden_states"),
    "statistics": (feature_map_statistics, "hidden_states"),
    "hidden": (feature_map_transfer, "hidden_states"),
    "attention": (attention_transfer, "attention_scores"),
    "attention_scores": (attention_score_transfer, "attention_scores"),
}


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
        if not (stage.weights.words or stage.weights.word_distribution):
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
    if weights.feature_map or weights.statistics or weights.hidden or weights.embedding:
        same += ["hidden_size", "num_hidden_layers"]
    if weights.attention or weights.attention_scores:
        same += ["num_attention_heads", "num_hidden_layers"]
    for name in same:
        if getattr(ours, name) != getattr(theirs, name):
            raise ModelError(
                f"student: {name} {getattr(ours, name)} must equal the teacher's {getattr(theirs, name)}"
            )


def _whole(value: Tensor | None) -> Tensor:
    """Logits in float32, whatever the precision of the networks."""
    return cast(Tensor, value).float()
