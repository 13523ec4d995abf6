"""Distillation from start to end: check options, gather pairs, start a student, train and save it.

An embedder as the teacher teaches from texts: `text_distillation`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import torch

import mobilebert_models
from mobilebert_matching.data.repeated_pairs import save_training_pairs
from mobilebert_matching.evaluation.score_calibration import fit_debiased_settings, fit_settings
from mobilebert_matching.length_bias.length_prior import LengthPrior
from mobilebert_models import EncoderConfig, MatcherSettings
from mobilebert_models.kronecker.factor_shapes import seventh_rules
from mobilebert_runtime.errors import DataError, ModelError, OptionError
from mobilebert_runtime.files import refuse_finished
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.distillation.distillation_config import DistillationConfig
from mobilebert_training.distillation.distillation_data import (
    DistillationData,
    gather,
    task_targets,
    teachers_logits,
)
from mobilebert_training.distillation.distillation_recipes import DistillationRecipe, recipe
from mobilebert_training.distillation.task_distillation import distil
from mobilebert_training.distillation.text_distillation import distil_texts, is_embedder
from mobilebert_training.finetuning.encoded_pairs import predict_logits
from mobilebert_training.initialization.student import (
    SEVENTH,
    StudentStart,
    init_student,
    start_factored,
    start_seventh,
)
from mobilebert_training.run_directory import claim, data_hashes, locked, model_hashes

PAIRS_RECIPE = "matcher-m"


@dataclass(frozen=True)
class DistillationResult:
    """Results of a distillation."""

    model: Path  # directory: fp16 weights, tokenizer, decision settings
    settings: MatcherSettings | None  # fitted on dev.tsv; None of an embedder, which decides nothing
    records: list[dict[str, Any]]  # one a stage that was run; a finished one is not run again


def distill(
    config: DistillationConfig, progress: Callable[[str], None] = lambda _: None
) -> DistillationResult:
    """Distil teachers into a student by the stages of a recipe.

    An embedder as the teacher makes an embedder of a file of texts. Fine-tuned pair classifiers make a
    matcher of labelled pairs and of pairs mined from their texts, which they label; pairs of dev.tsv and
    test.tsv are never mined. A student of a smaller vocabulary than its teacher keeps the word pieces that
    are frequent in the training texts.

    Args:
        config: the options.
        progress: called with what is being done.

    Raises:
        OptionError: options that are out of range or do not go together.
        OutputError: a finished model is in OUT already.
        ModelError: a directory is damaged, or teacher and student do not fit.
        DataError: the pairs are missing, damaged, or of other classes than the teacher's.
        ResumeError: OUT holds a run with other inputs, or another process works there.
    """
    teachers = teacher_directories(config)
    if teachers and is_embedder(teachers[0]):
        return DistillationResult(config.out / "model", None, distil_texts(config, teachers, progress))
    plan = checked_recipe(config)
    with locked(config.out):
        claim_folder(config)
        return _distill(config, plan, progress)


def _distill(
    config: DistillationConfig, plan: DistillationRecipe, progress: Callable[[str], None]
) -> DistillationResult:
    torch.set_num_threads(config.threads)
    progress("mining unlabelled pairs")
    data = gather(config.data, plan.mined_pairs, config.seed)
    counts = f"{len(data.train.pairs):,} labelled and {len(data.mined):,} mined pairs"
    progress(counts)
    initial = _start(config, data)
    _check_classes(config, data, initial.teacher.num_labels)
    targets = None
    if plan.soft_labelled or config.debias:
        logits = teachers_logits(
            teacher_directories(config),
            data.pairs,
            config.labels or config.out / "labels",
            lambda share: progress(f"{counts}: {share:.0%} labelled by teachers"),
        )
        targets = task_targets(data, logits, config.debias)
    progress(f"{counts}: training")
    tokenizer = PairTokenizer.load(initial.tokenizer)
    records = distil(
        initial.student,
        initial.teacher,
        tokenizer,
        data.pairs,
        data.labels,
        data.dev,
        plan,
        config.out,
        _metadata(config, data),
        targets,
    )
    logits = predict_logits(initial.student, tokenizer, data.dev.pairs)
    if config.debias:
        settings = fit_debiased_settings(logits, data.dev, LengthPrior.fit(*data.train))
    else:
        settings = fit_settings(logits, data.dev.labels)
    model = config.out / "model"
    save_training_pairs(config.out, data.train.pairs)
    mobilebert_models.save_pretrained(
        initial.student, model, tokenizer_from=initial.tokenizer, settings=settings, half=True
    )
    return DistillationResult(model, settings, records)


def checked_recipe(config: DistillationConfig) -> DistillationRecipe:
    """The recipe of a config whose options go together; texts and weights are not read for it.

    Raises:
        OptionError: an option is out of range, or does not apply.
        OutputError: a finished model is in OUT already.
        ModelError: a model directory without a config, or shapes that the recipe can't compare.
    """
    name = _recipe_name(config)
    plan = recipe(name)
    if not config.teacher:
        raise OptionError("--teacher: expected at least one model directory")
    if plan.learns_vectors:
        raise OptionError(
            f"--recipe {name}: is for an embedder, and the teacher {config.teacher[0]} is none; give one, "
            "such as minilm, with --teacher and a file of texts with --data"
        )
    if config.epochs is not None:
        raise OptionError(f"--epochs {config.epochs}: is for an embedder as the teacher; leave it out")
    if config.data.is_file():
        raise OptionError(
            f"--data {config.data}: is a file; a fine-tuned pair classifier teaches from a folder with "
            "train.tsv and dev.tsv, an embedder such as minilm from a file of texts"
        )
    loops = [replace(stage.loop, dtype=config.dtype) for stage in plan.stages]
    plan = replace(
        plan, stages=tuple(replace(stage, loop=loop) for stage, loop in zip(plan.stages, loops, strict=True))
    )
    if not (isfinite(config.debias) and config.debias >= 0):
        raise OptionError(f"--debias {config.debias}: expected a number of at least 0")
    if config.start is not None and (_is_factored(config) or config.student == SEVENTH):
        raise OptionError(
            f"--start {config.start}: the student {config.student} already has weights; give --start "
            "with a preset"
        )
    if config.debias and plan.matches_hidden_states:
        raise OptionError(
            f"--debias {config.debias}: the recipe {name!r} matches a teacher's hidden states, from "
            "which no bias can be taken; leave it out, and give --debias to `mobilebert calibrate`"
        )
    if not (plan.soft_labelled or config.debias):
        if config.labels is not None:
            raise OptionError(f"--labels: the recipe {name!r} keeps no labels of teachers")
        if len(config.teacher) > 1:
            raise OptionError(
                f"--teacher: given {len(config.teacher)} times; the recipe {name!r} has one teacher"
            )
    refuse_finished(config.out / "model", force=config.force)
    if config.student == SEVENTH and not name.startswith("kronecker"):
        raise OptionError(
            f"--recipe {name}: the student {SEVENTH} learns by kronecker-mined, kronecker or "
            "kronecker-supervised"
        )
    _check_shapes(config, plan, mobilebert_models.read_config(teacher_directories(config)[0]))
    return plan


def teacher_directories(config: DistillationConfig) -> list[Path]:
    """The teachers' model directories.

    Raises:
        ModelError: a name that is unknown, or a package that is not installed.
    """
    return [mobilebert_models.find_directory(str(name)) for name in config.teacher]


def _recipe_name(config: DistillationConfig) -> str:
    return config.recipe or PAIRS_RECIPE


def _check_shapes(config: DistillationConfig, plan: DistillationRecipe, teacher: EncoderConfig) -> None:
    """Raise `ModelError` where a stage would compare layers that have no counterpart."""
    if config.student == SEVENTH:
        seventh_rules(teacher)
        return
    student = (
        mobilebert_models.read_config(config.student)
        if _is_factored(config)
        else mobilebert_models.preset(config.student)
    )
    compares = any(stage.weights.layers for stage in plan.stages)
    if not compares and (config.start is not None or _is_factored(config)):
        return
    why = f"layers the recipe {_recipe_name(config)!r} compares" if compares else "embedding it inherits"
    for name in ("hidden_size", *(("num_hidden_layers", "num_attention_heads") if compares else ())):
        ours, theirs = getattr(student, name), getattr(teacher, name)
        if ours != theirs:
            raise ModelError(
                f"student {config.student}: {name} {ours} must equal the {theirs} of the teacher "
                f"{config.teacher[0]}, whose {why}; a student of another shape is first distilled from an "
                "embedder such as minilm and texts, then given to --start with --recipe debias-finetune"
            )


def _check_classes(config: DistillationConfig, data: DistillationData, classes: int) -> None:
    """Raise `DataError` or `ModelError` where labels, teacher and --debias disagree on the classes."""
    highest = max(int(data.train.labels.max()), int(data.dev.labels.max()))
    if highest >= classes:
        raise DataError(f"{config.data}: has label {highest}; the teacher knows 0 to {classes - 1}")
    if config.debias and classes != 2:
        raise ModelError(f"--debias: takes two classes; the teacher {config.teacher[0]} has {classes}")


def _is_factored(config: DistillationConfig) -> bool:
    return config.student not in mobilebert_models.PRESETS and Path(config.student).is_dir()


def _start(config: DistillationConfig, data: DistillationData) -> StudentStart:
    """Student and teacher before any training."""
    directory = teacher_directories(config)[0]
    if _is_factored(config):
        teacher = mobilebert_models.load_classifier(directory)
        return StudentStart(start_factored(config.student, teacher), teacher, directory)
    if config.student == SEVENTH:
        return start_seventh(directory, data.texts, data.pairs, config.out)
    start = None if config.start is None else mobilebert_models.find_directory(config.start)
    student = mobilebert_models.preset(config.student)
    return init_student(student, directory, data.texts, config.out, seed=config.seed, start=start)


def claim_folder(config: DistillationConfig) -> None:
    """Take the folder of a distillation for its inputs.

    Raises:
        ResumeError: it holds a run, finished or not, with other inputs.
    """
    student = model_hashes(Path(config.student)) if _is_factored(config) else config.student
    start = config.start and model_hashes(mobilebert_models.find_directory(config.start))
    teachers = enumerate(teacher_directories(config))
    inputs = {
        "teacher": {str(number): model_hashes(path) for number, path in teachers},
        "data": data_hashes(config.data),
        "student": student,
        "start": start,
        "recipe": _recipe_name(config),
        "dtype": config.dtype,
        "debias": config.debias,
        "seed": config.seed,
    }
    claim(config.out, "distillation", inputs, force=config.force)


def _metadata(config: DistillationConfig, data: DistillationData) -> dict[str, Any]:
    """What the records say of the run; names of folders, not their paths."""
    return {
        "teacher": [Path(teacher).name for teacher in config.teacher],
        "student": Path(config.student).name,
        "start": config.start and Path(config.start).name,
        "recipe": _recipe_name(config),
        "data": config.data.name,
        "debias": config.debias,
        "seed": config.seed,
        "labelled_pairs": len(data.train.pairs),
        "mined_pairs": len(data.mined),
        "threads": config.threads,
    }
