"""KroneckerBERT's Table 6 and its comparison with low-rank factors, on a small teacher.

    python -m studies.kronecker.table6 --data ../shared/data/qqp --teacher runs/teacher/model \
        --runs runs/kronecker --out results/kronecker

A run is named FACTORISATION.SCHEDULE: which factors, which stages. Its record is a JSON file of its own, so
that an interrupted study goes on and processes can share it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import torch
from typer import Option

from mobilebert_matching.data.labelled_pairs import LabelledPairs, read_split
from mobilebert_matching.evaluation import metrics
from mobilebert_matching.evaluation.score_calibration import fit_settings
from mobilebert_matching.mining.tfidf import mine_pairs
from mobilebert_models import PairClassifier, find_directory, load_pretrained, save_pretrained
from mobilebert_models.kronecker.compress import compress
from mobilebert_models.kronecker.factor_shapes import costs
from mobilebert_models.networks.layers import encoder_of
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.distillation.distillation_recipes import DistillationRecipe, recipe
from mobilebert_training.distillation.losses import UNLABELLED
from mobilebert_training.distillation.task_distillation import distil
from mobilebert_training.finetuning.encoded_pairs import predict_logits
from mobilebert_training.initialization.cut_vocabulary import (
    frequent_entries,
    with_entries,
    write_cut_tokenizer,
)
from mobilebert_training.initialization.student import inputs_of, start_factored
from mobilebert_training.pretraining.examples import ExampleRecipe
from mobilebert_training.pretraining.shards import Corpus
from mobilebert_training.pretraining.stages import PretrainingPlan, bare_teacher, pretrained, start
from mobilebert_training.pretraining.strategies import strategy
from mobilebert_training.run_directory import values_hash, weights_hash
from mobilebert_training.training_config import TrainingConfig
from studies.common.records import Json, read_all, read_json, recorded
from studies.common.script import Out, Runs, Seeds, Threads, console, run
from studies.kronecker.factorisations import FACTORISATIONS, Rules
from studies.kronecker.report import draw, summarise

# Training pairs whose texts fitted factors are fitted to.
_FITTING_PAIRS = 1000

# Name of a schedule → whether the student is pretrained under the teacher's encoder, and the task's recipe.
SCHEDULES: dict[str, tuple[bool, str]] = {
    "two-stage": (True, "kronecker"),
    "no-pretraining": (False, "kronecker"),
    "no-task-kd": (True, "kronecker-supervised"),
    # Not in the paper: neither stage has a teacher; and the task stage with mined pairs besides.
    "no-kd": (False, "kronecker-supervised"),
    "mined": (False, "kronecker-mined"),
    "two-stage-mined": (True, "kronecker-mined"),
}
DEFAULT_RUNS = (
    *(f"kronecker-8.{name}" for name in ("two-stage", "no-pretraining", "no-task-kd")),
    *(f"{form}.no-pretraining" for form in FACTORISATIONS if form != "kronecker-8"),
)


@dataclass(frozen=True)
class Budget:
    """What replaces a recipe's own numbers, alike in every run; None leaves them."""

    epochs: float | None = None
    max_pairs: int | None = None
    mined_pairs: int | None = None
    pretraining_steps: int = 500
    pretraining_batch: int = 32


@dataclass(frozen=True)
class RunConfig:
    """What the runs of the study share.

    `encoder` is what pretraining learns from: the teacher's encoder before it was fine-tuned.
    """

    data: Path
    teacher: Path
    encoder: Path
    corpus: Path | None
    budget: Budget


def main(
    out: Out,
    runs: Runs,
    data: Annotated[Path, Option(help="Folder of labelled pairs, the teacher's.")],
    teacher: Annotated[Path, Option(help="Model directory of a classifier fine-tuned on the pairs.")],
    names: Annotated[
        list[str] | None, Option("--run", help="Only this FACTORISATION.SCHEDULE (repeat for more).")
    ] = None,
    seeds: Seeds = None,
    encoder: Annotated[
        str, Option(help="What the teacher was before, the teacher of pretraining.")
    ] = "minilm",
    corpus: Annotated[
        Path | None, Option(help="For runs with pretraining: token shards of `mobilebert corpus build`.")
    ] = None,
    epochs: Annotated[
        float | None, Option(help="Passes over the labelled pairs; default: what the recipes say.")
    ] = None,
    max_pairs: Annotated[int | None, Option(min=1, help="At most so many labelled pairs.")] = None,
    pretraining_steps: Annotated[int, Option(min=1, help="Updates of pretraining.")] = 500,
    pretraining_batch: Annotated[int, Option(min=1, help="Windows an update of it.")] = 32,
    threads: Threads = 1,
) -> None:
    """Train and test every run that has no record yet; then OUT/study.json and curve.png of all records."""
    torch.set_num_threads(threads)
    budget = Budget(epochs, max_pairs, None, pretraining_steps, pretraining_batch)
    shared = RunConfig(data, teacher, find_directory(encoder), corpus, budget)
    for record in study(names or DEFAULT_RUNS, seeds or [0], shared, out, runs):
        console().print(
            f"{record['data']} {record['cell']} seed {record['seed']}: "
            f"{record['times_fewer_parameters']:.2f} times fewer parameters, accuracy "
            f"{record['test']['accuracy']:.4f}, {record['kept']:.2%} of the teacher's"
        )


def parse_name(name: str) -> tuple[str, str]:
    """FACTORISATION.SCHEDULE → both.

    Raises:
        OptionError: either is unknown.
    """
    form, _, schedule = name.partition(".")
    for given, known in ((form, FACTORISATIONS), (schedule, SCHEDULES)):
        if given not in known:
            raise OptionError(f"run {name!r}: {given!r} is unknown; expected one of {', '.join(known)}")
    return form, schedule


def study(
    names: Sequence[str], seeds: Sequence[int], shared: RunConfig, out: Path, runs: Path
) -> Iterator[Json]:
    """Run all that has no record yet; at the end `out`/study.json and curve.png of all records.

    Raises:
        OptionError: as `run_one`, before anything is trained where a name is unknown.
        ResumeError: as `run_one`.
    """
    for name in names:
        parse_name(name)
    for seed, name in product(seeds, names):
        yield run_one(name, seed, shared, out, runs)
    # Every record that there is, also those of other data, seeds and earlier calls.
    summary = summarise(read_all(out / "cells"))
    write_json(out / "study.json", summary)
    draw(summary, out / "curve.png")


def run_one(name: str, seed: int, shared: RunConfig, out: Path, runs: Path) -> Json:
    """Train and test, or read the record; `out`/cells/DATA.NAME.seedN.json.

    Raises:
        OptionError: an unknown name, or a schedule with pretraining and no corpus.
        ResumeError: `runs` holds a run, or a pretrained student, of other settings.
    """
    parse_name(name)
    label = f"{shared.data.name}.{name}.seed{seed}"
    return recorded(out / "cells" / f"{label}.json", lambda: _run(name, seed, shared, runs, runs / label))


def _run(name: str, seed: int, shared: RunConfig, runs: Path, folder: Path) -> Json:
    form, schedule = parse_name(name)
    pretrains, recipe_name = SCHEDULES[schedule]
    teacher = cast(PairClassifier, load_pretrained(shared.teacher))
    plan = _within(recipe(recipe_name), shared.budget, seed)
    train, dev, test = (read_split(shared.data, part) for part in ("train", "dev", "test"))
    pairs, labels = _pairs(train, plan, shared.budget, seed, known=dev.pairs + test.pairs)
    words, reduced = shared.teacher, teacher
    if (size := FACTORISATIONS[form].vocabulary) is not None:
        kept = frequent_entries(shared.teacher, [t for pair in train.pairs for t in pair], size)
        words, reduced = folder / "tokenizer", with_entries(teacher, kept)
        write_cut_tokenizer(shared.teacher, kept, words)
    rules, tokenizer = FACTORISATIONS[form].rules(reduced.config), PairTokenizer.load(words)
    if pretrains:
        student = start_factored(_pretrained(form, rules, shared, runs), reduced)
    else:
        texts = pairs[:_FITTING_PAIRS]
        inputs = inputs_of(reduced.encoder, tokenizer, texts) if FACTORISATIONS[form].fitted else None
        student, _ = compress(reduced, rules, inputs=inputs)
    distil(student, reduced, tokenizer, pairs, labels, dev, plan, folder, {"seed": seed})
    # Of all stages, also those that an earlier, interrupted call has finished.
    records = [read_json(folder / f"{stage.name}.json") for stage in plan.stages]
    settings = fit_settings(predict_logits(student, tokenizer, dev.pairs), dev.labels)
    save_pretrained(student, folder / "model", tokenizer_from=words, settings=settings)
    cost, whole = costs(student.config), costs(teacher.config)
    record = {
        "cell": name,
        "form": form,
        "schedule": schedule,
        "data": shared.data.name,
        "seed": seed,
        "teacher": shared.teacher.parent.name,
        "rules": [asdict(rule) for rule in rules],
        "parameters": cost["parameters"],
        "times_fewer_parameters": whole["parameters"] / cost["parameters"],
        "flops": cost["flops"],
        "labelled_pairs": int((labels != UNLABELLED).sum()),
        "pairs": len(pairs),
        "recipe": asdict(plan),
        "pretraining_steps": shared.budget.pretraining_steps if pretrains else 0,
        "pretraining_batch": shared.budget.pretraining_batch if pretrains else 0,
        "seconds": sum(r["seconds"] for r in records),
        "curves": {r["stage"]: r["curve"] for r in records},
        "dev": tested(student, tokenizer, dev),
        "test": tested(student, tokenizer, test),
        "teacher_test": _teacher_tested(teacher, shared, test, runs),
    }
    record["kept"] = record["test"]["accuracy"] / record["teacher_test"]["accuracy"]
    return record


def tested(model: PairClassifier, tokenizer: PairTokenizer, data: LabelledPairs) -> Json:
    """Accuracy by the larger logit, with Wilson's 95% interval, and F1 of label 1."""
    predicted = predict_logits(model, tokenizer, data.pairs).argmax(1)
    right = predicted == data.labels
    hits = int(((predicted == 1) & (data.labels == 1)).sum())
    named = int((predicted == 1).sum() + (data.labels == 1).sum())
    return {
        "pairs": len(right),
        "accuracy": float(right.mean()),
        "interval": metrics.wilson(int(right.sum()), len(right)),
        "f1": 2 * hits / named if named else 0.0,
    }


def _teacher_tested(teacher: PairClassifier, shared: RunConfig, data: LabelledPairs, runs: Path) -> Json:
    """The teacher's own figures, which all runs of a data set share: worked out once."""
    key = values_hash([weights_hash(teacher), *data.pairs], data.labels)
    return recorded(
        runs / f"{shared.data.name}.teacher-{key[:12]}.json",
        lambda: tested(teacher, PairTokenizer.load(shared.teacher), data),
    )


def _within(plan: DistillationRecipe, budget: Budget, seed: int) -> DistillationRecipe:
    """A recipe with the study's epochs and seed."""
    changes: dict[str, Any] = {"seed": seed}
    if budget.epochs is not None:
        changes["epochs"] = budget.epochs
    stages = tuple(replace(s, loop=replace(s.loop, **changes)) for s in plan.stages)
    mined = plan.mined_pairs if budget.mined_pairs is None else min(plan.mined_pairs, budget.mined_pairs)
    return replace(plan, stages=stages, mined_pairs=mined)


def _pairs(
    train: LabelledPairs,
    plan: DistillationRecipe,
    budget: Budget,
    seed: int,
    known: Sequence[tuple[str, str]],
) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Labelled pairs, as many as the budget has, and behind them mined ones."""
    pairs, labels = train.pairs, train.labels
    if budget.max_pairs is not None and budget.max_pairs < len(pairs):
        drawn = np.sort(np.random.default_rng(seed).permutation(len(pairs))[: budget.max_pairs])
        pairs, labels = [pairs[i] for i in drawn], labels[drawn]
    if not plan.mined_pairs:
        return pairs, labels
    texts = [text for pair in pairs for text in pair]
    mined = mine_pairs(texts, plan.mined_pairs, known=[*train.pairs, *known], seed=seed)
    return pairs + mined, np.concatenate([labels, np.full(len(mined), UNLABELLED)])


def _pretrained(form: str, rules: Rules, shared: RunConfig, runs: Path) -> Path:
    """The student of a factorisation after the first stage, trained once for all data sets and seeds."""
    if FACTORISATIONS[form].vocabulary is not None:
        raise OptionError(f"{form}: its vocabulary is cut to the task's; take a schedule without pretraining")
    if shared.corpus is None:
        raise OptionError(f"{form}: pretraining needs token shards; give --corpus, or runs without it")
    corpus, budget = Corpus(shared.corpus), shared.budget
    teacher = bare_teacher(encoder_of(load_pretrained(shared.encoder)), strategy("kronecker-encoder"))
    engine = TrainingConfig(
        steps=budget.pretraining_steps, batch_size=budget.pretraining_batch, learning_rate=1e-3
    )
    plan = PretrainingPlan("kronecker-encoder", 0, engine, ExampleRecipe())
    student = start(replace(teacher.config, kronecker=rules), copy.deepcopy(teacher), plan, corpus)
    with torch.random.fork_rng():
        return pretrained(student, teacher, corpus, plan, runs / f"pretrained-{form}", shared.encoder)


if __name__ == "__main__":
    run(main)
