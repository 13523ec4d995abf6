"""A bottleneck student of a sentence encoder: its texts, start, losses and held-out figures.

What `studies.transfer.strategies_from_minilm` trains in each of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import Tensor
from torch.nn import functional as F

from mobilebert_matching.data.pairs import read_pairs
from mobilebert_matching.data.plain_text import read_documents
from mobilebert_models import EncoderConfig, PretrainingHead, build, load_embedder, load_tokenizer
from mobilebert_models.loading.sentence_modules import encoder_directory
from mobilebert_models.networks.embedding_matcher import pooled
from mobilebert_models.networks.layers import Encoder
from mobilebert_runtime.errors import DataError, ModelError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.batches import Batch, LengthBuckets, Tensors
from mobilebert_training.distillation.losses import full_precision, layer_loss, vector_losses
from mobilebert_training.distillation.vector_targets import teacher_vectors, vector_targets
from mobilebert_training.finetuning.encoded_pairs import TRAIN_LENGTH, collator, padded
from mobilebert_training.inference import batches_by_length
from mobilebert_training.initialization.deeper_student import COUNTED, FITTED_ON, SIZE, start_embeddings
from mobilebert_training.pretraining.strategies import PretrainingStage
from mobilebert_training.run_directory import values_hash
from mobilebert_training.trainer import Loss, Parts, processes
from mobilebert_training.training_config import LossNormalizers, TrainingConfig
from recipes.general_matchers.trunk import embed
from recipes.mobilebert_trunk.train import SHAPE
from studies.common.records import Json

HELD_OUT, HELD_SHARE = 2048, 8  # texts that are not trained on, at most one in eight
AT_ONCE = 128  # held-out texts of a batch
COMPARED = ("feature_map", "attention")  # layer losses that the figures have
Rows = list[tuple[list[int], list[int]]]  # ids and types of encoded texts


@dataclass(frozen=True)
class Lessons:
    """The teacher, and what it says of the texts.

    Attributes:
        teacher: its encoder, frozen.
        folder: its model directory.
        tokenizer: of teacher and student.
        rows: N training texts.
        targets: (N, H) unit vectors of them.
        held: M texts that are not trained on.
        held_targets: (M, H) unit vectors of them, in float32.
        hash: of the training texts.
    """

    teacher: Encoder
    folder: Path
    tokenizer: PairTokenizer
    rows: Rows
    targets: np.ndarray
    held: Rows
    held_targets: np.ndarray
    hash: str


def read_lessons(folder: Path, texts: Path, cache: Path, dtype: str) -> Lessons:
    """Read texts, one a line, and let the teacher read them; its vectors stay in `cache`.

    The same texts are held out whatever the seed of a run.

    Raises:
        DataError: no text file, or fewer than 16 different texts.
        ModelError: the teacher is no sentence encoder of BERT's kind.
    """
    found = list(dict.fromkeys(line for document in read_documents([texts]) for line in document))
    if len(found) < 2 * HELD_SHARE:
        raise DataError(f"{texts}: {len(found)} different texts; give at least {2 * HELD_SHARE}, one a line")
    embedder, tokenizer = load_embedder(folder), load_tokenizer(encoder_directory(folder))
    teacher = embedder.encoder.requires_grad_(False).eval()
    if teacher.config.model_type != "bert":
        raise ModelError(
            f"{folder}: is {teacher.config.model_type}; expected a sentence encoder that is a BERT"
        )
    targets = vector_targets([(embedder, tokenizer)], found, cache, processes().device, dtype)
    order = np.random.default_rng(0).permutation(len(found))
    held, taught = np.split(order, [min(HELD_OUT, len(order) // HELD_SHARE)])
    encoded = tokenizer.ids(found, TRAIN_LENGTH)
    rows = [encoded[i] for i in taught]
    return Lessons(
        teacher,
        folder,
        tokenizer,
        rows,
        targets[taught],
        [encoded[i] for i in held],
        teacher_vectors(embedder, tokenizer, [found[i] for i in held]),
        values_hash(rows),
    )


def student_shape(teacher: EncoderConfig) -> EncoderConfig:
    """The network of `recipes.mobilebert_trunk` with this teacher's layers, heads, words and feature map."""
    width = teacher.hidden_size
    return replace(
        SHAPE,
        vocab_size=teacher.vocab_size,
        pad_token_id=teacher.pad_token_id,
        type_vocab_size=teacher.type_vocab_size,
        max_position_embeddings=min(SHAPE.max_position_embeddings, teacher.max_position_embeddings),
        num_hidden_layers=teacher.num_hidden_layers,
        num_attention_heads=teacher.num_attention_heads,
        hidden_size=width,
        embedding_size=2 * width // 3,
        intra_bottleneck_size=width // 2,
        intermediate_size=3 * width // 2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )


def start(lessons: Lessons, seed: int) -> Encoder:
    """A student whose layers `seed` draws; its embeddings start near the teacher's, as those of `distill`."""
    student = cast(Encoder, build(student_shape(lessons.teacher.config), None, seed=seed))
    student.pooler = None
    rows = lessons.rows
    chosen = sorted(rows[:: max(1, len(rows) // FITTED_ON)], key=lambda row: len(row[0]))
    batches = [padded(lessons.tokenizer, chosen[i : i + SIZE]) for i in range(0, len(chosen), SIZE)]
    ids = np.concatenate([ids for ids, _ in rows[:COUNTED]])
    with torch.no_grad():
        counts = np.bincount(ids, minlength=student.config.vocab_size)
        start_embeddings(student, lessons.teacher, batches, counts)
    return student


@dataclass
class Drawn:
    """Which texts a run has trained on so far, in order."""

    updates: int = 0
    _digest: Any = field(default_factory=sha256)

    def add(self, index: np.ndarray) -> None:
        """A batch: places of its texts."""
        self.updates += 1
        self._digest.update(index.astype(np.int64).tobytes())

    @property
    def hash(self) -> str:
        """Of all batches."""
        return str(self._digest.hexdigest())


class StageBatches(LengthBuckets):
    """Batches of one stage of a run: those of the run's seed that follow on the stages before.

    Update by update, rows with different stages then learn from the same texts.
    """

    def __init__(self, lessons: Lessons, drawn: Drawn) -> None:
        targets, self._first = torch.from_numpy(lessons.targets), drawn.updates

        def collate(batch: Batch) -> Tensors:
            drawn.add(batch.index)
            inputs = padded(lessons.tokenizer, [lessons.rows[i] for i in batch.index])
            return inputs | {"targets": targets[batch.index]}

        super().__init__([len(ids) for ids, _ in lessons.rows], collate, lessons.hash)

    def micro_batches(
        self, config: TrainingConfig, rank: int, world: int, steps: range
    ) -> Iterator[list[Tensors]]:
        """See `LengthBuckets.micro_batches`; `steps` count from the stage's first."""
        return super().micro_batches(
            config, rank, world, range(self._first + steps.start, self._first + steps.stop)
        )


def stage_loss(stage: PretrainingStage, teacher: Encoder) -> Loss:
    """The loss of a stage: layers as MobileBERT section 3.5 compares them, and the sentence vector.

    The teacher reads a batch only where layers are compared; its vectors come with the batch.
    """
    weights = stage.weights
    only = stage.learns if isinstance(stage.learns, int) else None

    def loss(student: PretrainingHead, batch: Tensors, normalizers: LossNormalizers) -> tuple[Tensor, Parts]:
        inputs = {name: values for name, values in batch.items() if name != "targets"}
        mask, target, parts = inputs["attention_mask"], batch["targets"], {}
        output = student.encoder(**inputs, capture=bool(weights.layers))
        if weights.layers:
            with torch.no_grad():
                theirs = teacher.to(mask.device)(**inputs, capture=True)
            parts = {name: layer_loss(name, theirs, output, mask, layer=only) for name in weights.layers}
        if weights.vectors:
            vector = F.normalize(pooled(full_precision(output.last_hidden_state), mask), dim=-1)
            parts["vectors"], _ = vector_losses(vector, target, target @ target.T)
        parts = {name: part * getattr(normalizers, weights.unit(name)) for name, part in parts.items()}
        return weights.total(parts), parts

    return loss


def held_out_figures(student: Encoder, lessons: Lessons, sts: Path | None) -> Json:
    """How near a student is to its teacher on the held-out texts.

    Args:
        student: in eval mode afterwards as before.
        lessons: with M held-out texts.
        sts: pairs with similarities, as STS-B's dev set.

    Returns:
        "cosine": mean with the teacher's vector. "order": Spearman's correlation of all M (M − 1) / 2
        similarities with the teacher's. "feature_map", "attention": those losses, layer by layer. "sts":
        Spearman's correlation of cosines and labels.
    """
    count, lengths = len(lessons.held), [len(ids) for ids, _ in lessons.held]
    ours, tokens = np.zeros_like(lessons.held_targets), 0.0
    sums = {name: np.zeros(len(student.layers)) for name in COMPARED}
    collate = collator(lessons.tokenizer, lessons.held)
    for index, inputs in batches_by_length(student, lengths, collate, AT_ONCE):
        mask = inputs["attention_mask"]
        output = student(**inputs, capture=True)
        theirs = lessons.teacher.to(mask.device)(**inputs, capture=True)
        ours[index] = F.normalize(pooled(output.last_hidden_state, mask), dim=-1).cpu().numpy()
        real = float(mask.sum())
        tokens += real
        for name in COMPARED:
            errors = [layer_loss(name, theirs, output, mask, layer=k) for k in range(len(student.layers))]
            sums[name] += torch.stack(errors).cpu().double().numpy() * real
    pairs = np.triu_indices(count, 1)
    similarity = [(vectors @ vectors.T)[pairs] for vectors in (ours, lessons.held_targets)]
    found: Json = {
        "cosine": float((ours * lessons.held_targets).sum(1).mean()),
        "order": float(spearmanr(*similarity).statistic),
    }
    found |= {name: (total / tokens).tolist() for name, total in sums.items()}
    return found if sts is None else found | {"sts": _sts(student, lessons.tokenizer, sts)}


def _sts(student: Encoder, tokenizer: PairTokenizer, path: Path) -> float:
    table = read_pairs(path)
    if table.labels is None:
        raise DataError(f"{path}: has no column of similarities; expected score or label")
    left, right = (embed(student, tokenizer, texts) for texts in zip(*table.pairs, strict=True))
    return float(spearmanr((left * right).sum(1), table.labels).statistic)
