"""What a student has of its teacher before pretraining (MobileBERT section 3.6, KroneckerBERT 3.7)."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import torch
from torch import Tensor

from mobilebert_models import EncoderConfig, PretrainingHead, build
from mobilebert_models.kronecker.compress import compress
from mobilebert_runtime.errors import ModelError

_COPIED = ("encoder.embeddings.", "encoder.pooler.", "cls.")


def inherit_pretraining(config: EncoderConfig, teacher: PretrainingHead, seed: int = 0) -> PretrainingHead:
    """A student whose embeddings, pooler and classifiers are the teacher's; its layers are drawn from `seed`.

    A bottleneck student of a plain BERT keeps the classifier exactly: the word embedding is the first E
    columns of the teacher's, the head's own matrix the others, and the convolution starts as the best linear
    map from the former to all. A Kronecker student of the same shape starts as the teacher's nearest
    Kronecker sums.

    Raises:
        ModelError: feature maps or vocabularies differ, or a tensor has no counterpart.
    """
    theirs = teacher.config
    if config.kronecker and replace(config, kronecker=()) == theirs:
        return compress(teacher, config.kronecker)[0]
    for name in ("hidden_size", "vocab_size"):
        if getattr(config, name) != getattr(theirs, name):
            raise ModelError(
                f"student: {name} {getattr(config, name)} must equal the teacher's {getattr(theirs, name)}"
            )
    student = cast(PretrainingHead, build(config, "pretraining", seed=seed))
    source = _split_table(teacher, config) if config.is_bottleneck and not theirs.is_bottleneck else {}
    source = {k: v for k, v in teacher.state_dict().items() if k.startswith(_COPIED)} | source
    target = student.state_dict()
    wanted = [name for name in target if name.startswith(_COPIED)]
    for name in wanted:
        if name not in source or source[name].shape != target[name].shape:
            theirs_shape = tuple(source[name].shape) if name in source else "none"
            raise ModelError(
                f"student: {name} {tuple(target[name].shape)} cannot be copied from the teacher's "
                f"{theirs_shape}; choose a student with the teacher's embeddings and pooler"
            )
    student.load_state_dict({name: source[name] for name in wanted}, strict=False)
    return student


def _split_table(teacher: PretrainingHead, config: EncoderConfig) -> dict[str, Tensor]:
    """The word embedding of a plain BERT, (V, H), as that of a bottleneck student."""
    table = teacher.encoder.embeddings.word_embeddings.weight.detach()
    size = config.embedding_size
    small, rest = table[:, :size], table[:, size:]
    widen = torch.linalg.lstsq(small.double(), table.double()).solution.t().to(table.dtype)  # (H, E)
    convolution = torch.zeros(config.hidden_size, 3 * size)
    convolution[:, size : 2 * size] = widen  # next | current | previous
    return {
        "encoder.embeddings.word_embeddings.weight": small,
        "encoder.embeddings.embedding_transformation.weight": convolution,
        "encoder.embeddings.embedding_transformation.bias": torch.zeros(config.hidden_size),
        "cls.predictions.dense.weight": rest.t(),
    }
