"""What a student has of its teacher before any training: embeddings, pooler, classifier, or all, factored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from mobilebert_models import EncoderConfig, PairClassifier, build, load_classifier, load_pretrained
from mobilebert_models.kronecker.compress import compress
from mobilebert_models.kronecker.factor_fit import Inputs, measure_inputs
from mobilebert_models.kronecker.factor_shapes import seventh_rules
from mobilebert_models.networks.layers import Encoder, encoder_of
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import TRAIN_LENGTH, EncodedPairs, readable_tokens
from mobilebert_training.initialization.cut_vocabulary import (
    frequent_entries,
    with_entries,
    write_cut_tokenizer,
)

SEVENTH = "kronecker-seventh"  # the student of `start_seventh`
SEVENTH_WORDS, FITTED_ON = 8192, 1000


def factorise_embedding(table: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Best rank-`size` factors of an embedding table in the least-squares sense (truncated SVD).

    Args:
        table: (V, H).
        size: E < H.

    Returns:
        `small` (V, E) and `widen` (H, E) with `small @ widen.T` ≈ `table`. Both carry the root of the
        singular values, so that neither is badly scaled for training or for int8.
    """
    exact = table.double()
    # The Gram matrix is H × H: its eigenvectors are the right singular vectors of the V × H table.
    values, vectors = torch.linalg.eigh(exact.t() @ exact)
    basis = vectors[:, -size:].flip(-1)  # (H, E), largest first
    scale = values[-size:].flip(-1).clamp_min(1e-12).pow(0.25)
    balance = scale / scale.mean()  # relative, so that `small` keeps the size of the teacher's embeddings
    small, widen = exact @ basis / balance, basis * balance
    return small.to(table.dtype), widen.to(table.dtype)


def inherit(config: EncoderConfig, teacher: PairClassifier, seed: int = 0) -> PairClassifier:
    """A student with the teacher's factorised embedding, positions, token types, pooler and classifier.

    MobileBERT section 3.6 copies embedding and classifier for joint and progressive transfer. The width-3
    convolution starts as the current token alone: its neighbours' taps are zero.

    Raises:
        ModelError: feature maps differ in size, so that nothing can be copied or compared, or the student
            has more positions than the teacher.
    """
    theirs = teacher.config
    if config.max_position_embeddings > theirs.max_position_embeddings:
        raise ModelError(
            f"student: {config.max_position_embeddings} positions, the teacher has "
            f"{theirs.max_position_embeddings}"
        )
    if config.hidden_size != theirs.hidden_size or config.vocab_size != theirs.vocab_size:
        raise ModelError(
            f"student: feature map {config.hidden_size} and vocabulary {config.vocab_size} must equal the "
            f"teacher's {theirs.hidden_size} and {theirs.vocab_size}"
        )
    if config.model_type != "mobilebert" or not config.classifier_activation:
        raise ModelError(
            "student: expected a bottleneck model with classifier_activation, to inherit the pooler"
        )
    student = cast(PairClassifier, build(config, "pair_classifier", teacher.num_labels, seed))
    source, target = teacher.encoder.embeddings, student.encoder.embeddings
    size = config.embedding_size
    with torch.no_grad():
        small, widen = factorise_embedding(source.word_embeddings.weight, size)
        target.word_embeddings.weight.copy_(small)
        target.word_embeddings.weight[config.pad_token_id].zero_()
        target.embedding_transformation.weight.zero_()
        target.embedding_transformation.weight[:, size : 2 * size].copy_(widen)  # next | current | previous
        target.position_embeddings.weight.copy_(
            source.position_embeddings.weight[: config.max_position_embeddings]
        )
        target.token_type_embeddings.weight.copy_(source.token_type_embeddings.weight)
        # The norm's affine part is the same in LayerNorm and NoNorm; the first stage fits the rest.
        target.LayerNorm.load_state_dict(source.LayerNorm.state_dict())
    if student.encoder.pooler is not None and teacher.encoder.pooler is not None:
        student.encoder.pooler.load_state_dict(teacher.encoder.pooler.state_dict())
    student.classifier.load_state_dict(teacher.classifier.state_dict())
    return student


@dataclass(frozen=True)
class StudentStart:
    """A student and the teacher whose layers it learns from, both reading the same word pieces."""

    student: PairClassifier
    teacher: PairClassifier
    tokenizer: Path  # directory with vocab.txt and tokenizer.json


def init_student(
    config: EncoderConfig,
    teacher: Path,
    texts: Sequence[str],
    folder: Path,
    *,
    seed: int = 0,
    start: Path | None = None,
) -> StudentStart:
    """Load a teacher and make its student; a student of a smaller vocabulary gets the frequent part of it.

    Args:
        config: of the student.
        teacher: model directory of a fine-tuned pair classifier.
        texts: whose word pieces a smaller vocabulary keeps.
        folder: for the tokenizer of a smaller vocabulary.
        seed: of weights that are not inherited.
        start: a trained model directory of this very config, and with its tokenizer, to go on from: a
            classifier or an encoder.

    Raises:
        ModelError: nothing can be inherited, or `start` is of another shape; or a damaged directory.
    """
    master, tokenizer = load_classifier(teacher), teacher
    if config.vocab_size < master.config.vocab_size:
        kept = frequent_entries(teacher, texts, config.vocab_size)
        master, tokenizer = with_entries(master, kept), folder / "tokenizer"
        write_cut_tokenizer(teacher, kept, tokenizer)
    if start is None:
        return StudentStart(inherit(config, master, seed), master, tokenizer)
    # An encoder without a classifier gets a fresh one.
    student = load_classifier(start, num_labels=master.num_labels, seed=seed)
    if student.config != config:
        raise ModelError(f"{start}: does not have the student's shape ({student.config}); expected {config}")
    if (start / "vocab.txt").read_bytes() != (tokenizer / "vocab.txt").read_bytes():
        raise ModelError(f"{start}: its vocab.txt is not the one the student is to read; start afresh")
    return StudentStart(student, master, tokenizer)


def start_factored(directory: str | Path, teacher: PairClassifier) -> PairClassifier:
    """A Kronecker student: the encoder of a directory under the teacher's pooler and classifier.

    Args:
        directory: from `mobilebert factorize`, or after pretraining ("the prediction layer is initialized
            from the fine-tuned teacher", KroneckerBERT section 3.7).
        teacher: fine-tuned, of the same shape.

    Raises:
        ModelError: the encoder is not factored, or not of the teacher's shape; or a damaged directory.
    """
    encoder = encoder_of(load_pretrained(directory))
    if not encoder.config.kronecker:
        raise ModelError(f"{directory}: has no Kronecker layers; make a student with `mobilebert factorize`")
    for name in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"):
        ours, theirs = getattr(encoder.config, name), getattr(teacher.config, name)
        if ours != theirs:
            raise ModelError(f"{directory}: {name} {ours} must equal the teacher's {theirs}")
    student = PairClassifier(encoder.config, teacher.num_labels)
    student.encoder = encoder
    if encoder.pooler is not None and teacher.encoder.pooler is not None:
        encoder.pooler.load_state_dict(teacher.encoder.pooler.state_dict())
    student.classifier.load_state_dict(teacher.classifier.state_dict())
    return student.eval()


def start_seventh(teacher: Path, texts: Sequence[str], pairs: Sequence[Pair], folder: Path) -> StudentStart:
    """A Kronecker student of a seventh of MiniLM's size, made of its teacher.

    It keeps the teacher's `SEVENTH_WORDS` most frequent word pieces, and its factors are those that err least
    in what the teacher's layers return (decision 016).

    Args:
        teacher: model directory of a fine-tuned pair classifier.
        texts: whose word pieces are kept.
        pairs: that factors are fitted to, the first `FITTED_ON` of them.
        folder: for the tokenizer of the smaller vocabulary.

    Raises:
        ModelError: the teacher's sizes fit no such factors, or a damaged directory.
    """
    master, tokenizer = load_classifier(teacher), teacher
    rules = seventh_rules(master.config)
    if master.config.vocab_size > SEVENTH_WORDS:
        kept = frequent_entries(teacher, texts, SEVENTH_WORDS)
        master, tokenizer = with_entries(master, kept), folder / "tokenizer"
        write_cut_tokenizer(teacher, kept, tokenizer)
        rules = seventh_rules(master.config)
    inputs = inputs_of(master.encoder, PairTokenizer.load(tokenizer), pairs[:FITTED_ON])
    student, _ = compress(master, rules, inputs=inputs)
    return StudentStart(student, master, tokenizer)


def inputs_of(encoder: Encoder, tokenizer: PairTokenizer, pairs: Sequence[Pair]) -> dict[str, Inputs]:
    """What an encoder's layers read in some pairs, for `mobilebert_models.kronecker.factor_fit`.

    Args:
        encoder: a dense one; its dropout is off meanwhile.
        tokenizer: of this model.
        pairs: every second one is read in swapped order; training reads either.

    Raises:
        ModelError: no pairs.
    """
    longest = readable_tokens(TRAIN_LENGTH, encoder.config)
    encoded, size = EncodedPairs.encode(tokenizer, pairs, longest), 50

    def batches() -> Iterator[dict[str, Tensor]]:
        for start in range(0, len(pairs), size):
            index = np.arange(start, min(start + size, len(pairs)))
            yield encoded.batch(tokenizer, index, index % 2 == 1)

    was_training = encoder.training
    found = measure_inputs(encoder.eval(), batches())
    encoder.train(was_training)
    return found


def freeze(module: nn.Module, *, frozen: bool) -> None:
    """Set whether a part of the student is trained."""
    for parameter in module.parameters():
        parameter.requires_grad_(not frozen)
