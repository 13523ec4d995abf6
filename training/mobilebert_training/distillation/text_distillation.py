"""Distil an embedder's layers and sentence vectors into a deeper, thinner network: texts, no labels.

Several student layers answer to each layer of the first teacher (`initialization.deeper_student`). Further
teachers, of any width, give their sentence vectors alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

import mobilebert_models
from mobilebert_matching.data.plain_text import read_documents
from mobilebert_models import EncoderConfig, SentenceEmbedder, load_embedder, load_tokenizer
from mobilebert_models.loading.embedders import save_embedder
from mobilebert_models.loading.sentence_modules import encoder_directory, read_sentence_modules
from mobilebert_models.networks.embedding_matcher import pooled
from mobilebert_models.networks.layers import Encoder, EncoderOutput
from mobilebert_runtime.errors import DataError, ModelError, OptionError
from mobilebert_runtime.files import refuse_finished
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.batches import Batch, LengthBuckets, Tensors
from mobilebert_training.checkpoint import save_whole
from mobilebert_training.distillation.distillation_config import DistillationConfig
from mobilebert_training.distillation.distillation_recipes import DistillationRecipe, Stage, recipe
from mobilebert_training.distillation.losses import full_precision, layer_loss, vector_losses
from mobilebert_training.distillation.task_distillation import run_stages
from mobilebert_training.distillation.vector_targets import vector_targets
from mobilebert_training.finetuning.encoded_pairs import TRAIN_LENGTH, collator, padded
from mobilebert_training.inference import predict
from mobilebert_training.initialization.deeper_student import as_teacher, fitted_start, group_size
from mobilebert_training.run_directory import claim, data_hashes, locked, model_hashes, values_hash
from mobilebert_training.trainer import Loss, Parts, processes
from mobilebert_training.training_config import LossNormalizers, require_bf16

RECIPE = "embedder"
FEWEST = 400  # texts that a start can be fitted to
HELD_OUT, HELD_SHARE = 1024, 8  # texts that are not trained on, at most one in eight
START = "start.weights"


def is_embedder(directory: Path) -> bool:
    """Whether a teacher is a sentence embedder, so that it teaches from texts alone."""
    return directory.is_dir() and read_sentence_modules(directory) is not None


def distil_texts(
    config: DistillationConfig, teachers: Sequence[Path], progress: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Run what is not finished and write OUT/model, a sentence-transformers folder; one record a stage.

    Args:
        config: the options.
        teachers: their model directories.
        progress: called with what is being done.

    Raises:
        OptionError: an option that does not apply to texts.
        OutputError: a finished model is in OUT already.
        ModelError: a teacher is no embedder, or its layers can't be compared with the student's.
        DataError: the texts are too few, or can't be read.
        ResumeError: OUT holds a run with other inputs, or another process works there.
    """
    plan = _checked(config, teachers)
    shape = _student_shape(config, teachers[0])
    texts = _read_texts(config.data)
    with locked(config.out):
        inputs = {
            "teacher": {str(number): model_hashes(path) for number, path in enumerate(teachers)},
            "data": data_hashes(config.data),
            "student": asdict(shape),
            "recipe": asdict(plan),
            "seed": config.seed,
        }
        claim(config.out, "distillation", inputs, force=config.force)
        torch.set_num_threads(config.threads)
        return _Run(config, plan, shape, teachers, texts, progress).carry_out()


def _checked(config: DistillationConfig, teachers: Sequence[Path]) -> DistillationRecipe:
    """The recipe with the passes, seed and number type that were asked for."""
    name = config.recipe or RECIPE
    plan = recipe(name)
    if not plan.learns_vectors:
        raise OptionError(
            f"--recipe {name}: is for a fine-tuned pair classifier, and the teacher {config.teacher[0]} is "
            "an embedder; leave it out, or give a classifier with --teacher"
        )
    for flag, given in (("--start", config.start), ("--debias", config.debias)):
        if given:
            raise OptionError(f"{flag} {given}: is for labelled pairs; an embedder teaches from texts alone")
    for teacher, directory in zip(config.teacher, teachers, strict=True):
        modules = read_sentence_modules(directory) if directory.is_dir() else None
        if modules is None:
            raise ModelError(f"--teacher {teacher}: is no embedder, as the first one is; leave it out")
        if modules.default_prompt is not None:
            raise ModelError(
                f"--teacher {teacher}: reads a prompt before each text, which its student would not; give "
                "another teacher"
            )
    refuse_finished(config.out / "model", force=config.force)
    if config.dtype == "bf16":
        require_bf16(processes().device)
    passes = 1.0 if config.epochs is None else config.epochs
    stages = []
    for place, stage in enumerate(plan.stages):
        loop = replace(stage.loop, epochs=passes * stage.loop.epochs, seed=config.seed + place)
        stages.append(replace(stage, loop=replace(loop, dtype=config.dtype)))
    return replace(plan, stages=tuple(stages))


def _student_shape(config: DistillationConfig, teacher: Path) -> EncoderConfig:
    """The student's preset with the vocabulary and no more positions than its teacher has."""
    if config.student not in mobilebert_models.PRESETS:
        raise ModelError(
            f"--student {config.student}: an embedder's student is a preset, mobilebert-tiny or mobilebert"
        )
    theirs = mobilebert_models.read_config(encoder_directory(teacher))
    shape = mobilebert_models.preset(config.student)
    try:
        group_size(shape, theirs)
    except ModelError as error:
        raise ModelError(
            f"--student {config.student} of the teacher {config.teacher[0]}: {error}; a teacher after one "
            "whose layers fit, such as minilm, gives its sentence vectors alone"
        ) from None
    return replace(
        shape,
        vocab_size=theirs.vocab_size,
        pad_token_id=theirs.pad_token_id,
        max_position_embeddings=min(shape.max_position_embeddings, theirs.max_position_embeddings),
    )


def _read_texts(path: Path) -> list[str]:
    """The distinct lines of a file."""
    if path.is_dir():
        raise DataError(f"--data {path}: is a folder; an embedder teaches from a file of texts, one a line")
    texts = list(dict.fromkeys(line for document in read_documents([path]) for line in document))
    if len(texts) < FEWEST:
        raise DataError(f"{path}: {len(texts)} different texts; give at least {FEWEST}, one a line")
    return texts


@dataclass
class _Run:
    """A run whose inputs were checked."""

    config: DistillationConfig
    plan: DistillationRecipe
    shape: EncoderConfig
    directories: Sequence[Path]
    texts: list[str]
    progress: Callable[[str], None]

    def carry_out(self) -> list[dict[str, Any]]:
        """Label, start, train, write."""
        config, count = self.config, f"{len(self.texts):,} texts"
        teachers = [
            (load_embedder(path), load_tokenizer(encoder_directory(path))) for path in self.directories
        ]
        embedder, tokenizer = teachers[0]
        if embedder.size > self.shape.hidden_size:
            raise ModelError(
                f"--student {config.student}: its vectors have {self.shape.hidden_size} numbers, too few for "
                f"the {embedder.size} of the teacher {config.teacher[0]}"
            )
        targets = vector_targets(
            teachers,
            self.texts,
            config.labels or config.out / "labels",
            processes().device,
            config.dtype,
            lambda share: self.progress(f"{count}: {share:.0%} read by teachers"),
        )
        del teachers
        order = np.random.default_rng(config.seed).permutation(len(self.texts))
        held = min(HELD_OUT, len(order) // HELD_SHARE)
        encoded = tokenizer.ids(self.texts, TRAIN_LENGTH)
        rows, dev = ([encoded[i] for i in part] for part in (order[held:], order[:held]))
        self.progress(f"{count}: fitting the student's start")
        student = self._start(embedder.encoder, tokenizer, rows)
        self.progress(f"{count}: training")
        taught, held_targets = targets[order[held:]], targets[order[:held]]

        def evaluate() -> dict[str, float]:
            ours = _vectors(student, tokenizer, dev)[:, : held_targets.shape[1]]
            return {"held_cosine": float((ours * held_targets).sum(1).mean())}

        records = run_stages(
            student,
            self.plan,
            config.out,
            lambda stage: _stage_loss(stage, embedder, tokenizer, rows, taught),
            evaluate,
            self._metadata(held),
        )
        tokenizer_from = encoder_directory(self.directories[0])
        save_embedder(student, config.out / "model", tokenizer_from=tokenizer_from, half=True)
        return records

    def _start(
        self, teacher: Encoder, tokenizer: PairTokenizer, rows: Sequence[tuple[list[int], list[int]]]
    ) -> Encoder:
        """The student before any training, the same one when a run is resumed."""
        kept = self.config.out / START
        if not kept.is_file():
            student = fitted_start(self.shape, teacher, tokenizer, rows, self.config.seed)
            save_whole(student.state_dict(), kept)
            return student
        student = cast(Encoder, mobilebert_models.build(self.shape, None, seed=self.config.seed))
        student.load_state_dict(torch.load(kept, weights_only=True))
        return student

    def _metadata(self, held: int) -> dict[str, Any]:
        """What the records say of the run; names of folders, not their paths."""
        return {
            "teacher": [Path(teacher).name for teacher in self.config.teacher],
            "student": self.config.student,
            "recipe": self.config.recipe or RECIPE,
            "data": self.config.data.name,
            "seed": self.config.seed,
            "texts": len(self.texts) - held,
            "held_out_texts": held,
            "threads": self.config.threads,
        }


def _stage_loss(
    stage: Stage,
    embedder: SentenceEmbedder,
    tokenizer: PairTokenizer,
    rows: Sequence[tuple[list[int], list[int]]],
    targets: np.ndarray,
) -> tuple[LengthBuckets, Loss]:
    """The batches of a stage and the loss of a student on them.

    Args:
        stage: its weights.
        embedder: whose layers are compared.
        tokenizer: of it and the student.
        rows: ids and types of N texts.
        targets: (N, H) unit vectors of them.
    """
    weights, vectors = stage.weights, torch.from_numpy(targets)
    teacher = embedder.encoder

    def collate(batch: Batch) -> Tensors:
        return padded(tokenizer, [rows[i] for i in batch.index]) | {"targets": vectors[batch.index]}

    def loss(student: Encoder, batch: Tensors, normalizers: LossNormalizers) -> tuple[Tensor, Parts]:
        target = batch["targets"]
        inputs = {name: values for name, values in batch.items() if name != "targets"}
        mask, parts = inputs["attention_mask"], {}
        output: EncoderOutput = student(**inputs, capture=bool(weights.layers))
        if weights.layers:
            with torch.no_grad():
                theirs = teacher.to(target.device)(**inputs, capture=True)
            ours = as_teacher(output, teacher.config)
            for name in weights.layers:
                with_embedding = name in ("feature_map", "statistics")
                parts[name] = layer_loss(name, theirs, ours, mask, with_embedding=with_embedding)
        vector = F.normalize(pooled(full_precision(output.last_hidden_state), mask), dim=-1)
        parts["vectors"], _ = vector_losses(vector, target, target @ target.T)
        parts = {name: part * getattr(normalizers, weights.unit(name)) for name, part in parts.items()}
        return weights.total(parts), parts

    lengths = [len(ids) for ids, _ in rows]
    return LengthBuckets(lengths, collate, values_hash(rows)), loss


def _vectors(
    student: Encoder, tokenizer: PairTokenizer, rows: Sequence[tuple[list[int], list[int]]]
) -> np.ndarray:
    """Unit vectors (N, H) of encoded texts."""

    def forward(inputs: dict[str, Tensor]) -> Tensor:
        hidden = student(**inputs).last_hidden_state
        return F.normalize(pooled(hidden, inputs["attention_mask"]), dim=-1)

    lengths = [len(ids) for ids, _ in rows]
    return predict(student, lengths, collator(tokenizer, rows), forward=forward).numpy()
