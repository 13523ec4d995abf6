"""The runs behind KroneckerBERT's Table 6 and its comparison with low-rank factors, on a small teacher.

A *cell* is a form (which factors), a schedule (which stages), a data set and a seed. Its record is a JSON
file of its own, so that a killed study goes on and processes can share it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from distill.init.cut_vocabulary import frequent_entries, with_entries, write_cut_tokenizer
from distill.init.pretraining_student import bare_teacher
from distill.init.student import inputs_of, start_factored
from distill.losses import UNLABELLED
from distill.pretraining.examples import ExampleRecipe
from distill.pretraining.shards import Corpus
from distill.pretraining.stages import PretrainingPlan, pretrained, start
from distill.pretraining.strategies import strategy
from distill.task.distillation_recipes import Recipe, recipe
from distill.task.task_distillation import distil
from matching.data.labelled_pairs import LabelledPairs, read_split
from matching.data.mining import mine_pairs
from matching.evaluation import metrics
from matching.evaluation.score_calibration import fit_settings
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import replacing, write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from models import EncoderConfig, PairClassifier, load_pretrained, save_pretrained
from models.config import KroneckerRule
from models.kronecker.compress import compress
from models.kronecker.factor_shapes import (
    ATTENTION,
    NARROW,
    WIDEN,
    WORDS,
    costs,
    low_rank_rules,
    preset_rules,
)
from models.layers import encoder_of
from studies.transfer.ablation import verdict
from training.encoded_pairs import predict_logits
from training.engine import EngineConfig
from training.run_directory import values_hash, weights_hash

Rules = tuple[KroneckerRule, ...]


def _low_rank_of(preset: str) -> Callable[[EncoderConfig], Rules]:
    return lambda config: same_size_low_rank(config, preset_rules(config, preset))


def _low_rank_words(config: EncoderConfig) -> Rules:
    """Kronecker layers of preset 8 over a low-rank table of the same size."""
    layers = [rule for rule in preset_rules(config, "8") if rule.layers != WORDS]
    return (*layers, KroneckerRule(WORDS, config.vocab_size, 1, config.hidden_size // 8))


def _cut_kronecker(config: EncoderConfig) -> Rules:
    """What fits into a seventh of MiniLM without its rare words: sums of three where preset 8 errs most."""
    width, wide = config.hidden_size, config.intermediate_size
    return (
        *(KroneckerRule(pattern, width // 2, width // 2) for pattern in ATTENTION),
        KroneckerRule(WIDEN, wide // (width // 2), 2, 3),
        KroneckerRule(NARROW, 2, wide // (width // 2), 3),
        KroneckerRule(WORDS, config.vocab_size, 1, width // 6),
    )


def _cut_low_rank(config: EncoderConfig) -> Rules:
    """Low-rank factors of the same size."""
    return same_size_low_rank(config, _cut_kronecker(config))


@dataclass(frozen=True)
class Form:
    """Which factors, what they start from, and how much of the teacher's vocabulary stays.

    `vocabulary`: entries that stay; None for all of them.
    `fitted`: factors start as those that err least in what the layers return on the task's texts, instead of
    the nearest ones of each matrix.
    """

    rules: Callable[[EncoderConfig], Rules]
    vocabulary: int | None = None
    fitted: bool = False


FORMS: dict[str, Form] = {
    "kronecker-21": Form(lambda config: preset_rules(config, "21")),
    "kronecker-8": Form(lambda config: preset_rules(config, "8")),
    "kronecker-5": Form(lambda config: preset_rules(config, "5")),
    "kronecker-8-words": Form(_low_rank_words),
    "low-rank-21": Form(_low_rank_of("21")),
    "low-rank-8": Form(_low_rank_of("8")),
    "low-rank-5": Form(_low_rank_of("5")),
    # Not in the paper: rare words fall apart into more pieces, and their parameters go to the layers.
    "kronecker-cut": Form(_cut_kronecker, 8192),
    "low-rank-cut": Form(_cut_low_rank, 8192),
    "kronecker-cut-fitted": Form(_cut_kronecker, 8192, fitted=True),
    "low-rank-cut-fitted": Form(_cut_low_rank, 8192, fitted=True),
}

# Training pairs whose texts the factors of a fitted form are fitted to.
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
# Table 6: better first.
ORDERS = (("two-stage", "no-pretraining"), ("two-stage", "no-task-kd"))
DEFAULT_CELLS = (
    *(f"kronecker-8.{name}" for name in ("two-stage", "no-pretraining", "no-task-kd")),
    *(f"{form}.no-pretraining" for form in FORMS if form != "kronecker-8"),
)


@dataclass(frozen=True)
class Budget:
    """What replaces a recipe's own numbers, alike in every cell; None leaves them."""

    epochs: float | None = None
    max_pairs: int | None = None
    mined_pairs: int | None = None
    pretraining_steps: int = 500
    pretraining_batch: int = 32


@dataclass(frozen=True)
class Setting:
    """What the cells of a study share.

    `encoder` is what pretraining learns from: the teacher's encoder before it was fine-tuned.
    """

    data: Path
    teacher: Path
    encoder: Path
    corpus: Path | None
    budget: Budget


def same_size_low_rank(config: EncoderConfig, rules: Rules) -> Rules:
    """Low-rank rules whose encoder is as large as that of some Kronecker rules, at most 1% above.

    The words have one row vector of n numbers in a Kronecker form; here they have rank d/n, which takes as
    many numbers a word.
    """
    words_rank = next(rule.n1 * rule.rank for rule in rules if rule.layers == WORDS)

    def parameters(chosen: Rules) -> int:
        return costs(replace(config, kronecker=chosen))["parameters"]

    # Every rank costs the same: a line through the first two.
    first, second = (parameters(low_rank_rules(config, rank, words_rank)) for rank in (1, 2))
    rank = 1 + int((1.01 * parameters(rules) - first) // (second - first))
    if rank < 1:
        raise OptionError(f"no low-rank form of rank ≥ 1 is as small as {parameters(rules):,} parameters")
    return low_rank_rules(config, rank, words_rank)


def parse_cell(name: str) -> tuple[str, str]:
    """FORM.SCHEDULE → both.

    Raises:
        OptionError: either is unknown.
    """
    form, _, schedule = name.partition(".")
    for given, known in ((form, FORMS), (schedule, SCHEDULES)):
        if given not in known:
            raise OptionError(f"cell {name!r}: {given!r} is unknown; expected one of {', '.join(known)}")
    return form, schedule


def study(
    cells: Sequence[str], seeds: Sequence[int], setting: Setting, out: Path, runs: Path
) -> Iterator[dict[str, Any]]:
    """Run every cell that has no record yet; at the end `out`/study.json and curve.png of all records.

    Raises:
        OptionError: as `run_cell`, before anything is trained where a name is unknown.
        ResumeError: as `run_cell`.
    """
    for name in cells:
        parse_cell(name)
    for seed in seeds:
        for name in cells:
            yield run_cell(name, seed, setting, out, runs)
    # Every record that there is, also those of other data, seeds and earlier calls.
    found = sorted((out / "cells").glob("*.json"))
    summary = summarise([json.loads(path.read_text(encoding="utf-8")) for path in found])
    write_json(out / "study.json", summary)
    with replacing(out / "curve.png", force=True) as partial:
        draw(summary, partial)


def run_cell(name: str, seed: int, setting: Setting, out: Path, runs: Path) -> dict[str, Any]:
    """Train and test one cell, or read its record; `out`/cells/DATA.NAME.seedN.json.

    Raises:
        OptionError: an unknown cell, or one with pretraining and no corpus.
        ResumeError: `runs` holds a run, or a pretrained student, of other settings.
    """
    parse_cell(name)
    label = f"{setting.data.name}.{name}.seed{seed}"
    path = out / "cells" / f"{label}.json"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, _run(name, seed, setting, runs, label))
    return cast(dict[str, Any], json.loads(path.read_text(encoding="utf-8")))


def _run(name: str, seed: int, setting: Setting, runs: Path, label: str) -> dict[str, Any]:
    form, schedule = parse_cell(name)
    pretrains, recipe_name = SCHEDULES[schedule]
    teacher = cast(PairClassifier, load_pretrained(setting.teacher))
    plan = _within(recipe(recipe_name), setting.budget, seed)
    train, dev, test = (read_split(setting.data, part) for part in ("train", "dev", "test"))
    pairs, labels = _pairs(train, plan, setting.budget, seed, known=dev.pairs + test.pairs)
    folder = runs / label
    words, master = setting.teacher, teacher
    if (size := FORMS[form].vocabulary) is not None:
        kept = frequent_entries(setting.teacher, [t for pair in train.pairs for t in pair], size)
        words, master = folder / "tokenizer", with_entries(teacher, kept)
        write_cut_tokenizer(setting.teacher, kept, words)
    rules, tokenizer = FORMS[form].rules(master.config), PairTokenizer.load(words)
    if pretrains:
        student = start_factored(_pretrained(form, rules, setting, runs), master)
    else:
        texts = pairs[:_FITTING_PAIRS]
        inputs = inputs_of(master.encoder, tokenizer, texts) if FORMS[form].fitted else None
        student, _ = compress(master, rules, inputs=inputs)
    distil(student, master, tokenizer, pairs, labels, dev, plan, folder, {"seed": seed})
    # Of all stages, also those that an earlier, interrupted call has finished.
    records = [json.loads((folder / f"{s.name}.json").read_text(encoding="utf-8")) for s in plan.stages]
    settings = fit_settings(predict_logits(student, tokenizer, dev.pairs), dev.labels)
    save_pretrained(student, folder / "model", tokenizer_from=words, settings=settings)
    cost, whole = costs(student.config), costs(teacher.config)
    record = {
        "cell": name,
        "form": form,
        "schedule": schedule,
        "data": setting.data.name,
        "seed": seed,
        "teacher": setting.teacher.parent.name,
        "rules": [asdict(rule) for rule in rules],
        "parameters": cost["parameters"],
        "times_fewer_parameters": whole["parameters"] / cost["parameters"],
        "flops": cost["flops"],
        "labelled_pairs": int((labels != UNLABELLED).sum()),
        "pairs": len(pairs),
        "recipe": asdict(plan),
        "pretraining_steps": setting.budget.pretraining_steps if pretrains else 0,
        "pretraining_batch": setting.budget.pretraining_batch if pretrains else 0,
        "seconds": sum(r["seconds"] for r in records),
        "curves": {r["stage"]: r["curve"] for r in records},
        "dev": tested(student, tokenizer, dev),
        "test": tested(student, tokenizer, test),
        "teacher_test": _teacher_tested(teacher, setting, test, runs),
    }
    record["kept"] = record["test"]["accuracy"] / record["teacher_test"]["accuracy"]
    return record


def tested(model: PairClassifier, tokenizer: PairTokenizer, data: LabelledPairs) -> dict[str, Any]:
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


def _teacher_tested(
    teacher: PairClassifier, setting: Setting, data: LabelledPairs, runs: Path
) -> dict[str, Any]:
    """The teacher's own figures, which all cells of a data set share: worked out once."""
    key = values_hash([weights_hash(teacher), *data.pairs], data.labels)
    kept = runs / f"{setting.data.name}.teacher-{key[:12]}.json"
    if not kept.is_file():
        write_json(kept, tested(teacher, PairTokenizer.load(setting.teacher), data))
    return cast(dict[str, Any], json.loads(kept.read_text(encoding="utf-8")))


def _within(plan: Recipe, budget: Budget, seed: int) -> Recipe:
    """A recipe with the study's epochs and seed."""
    changes: dict[str, Any] = {"seed": seed}
    if budget.epochs is not None:
        changes["epochs"] = budget.epochs
    stages = tuple(replace(s, loop=replace(s.loop, **changes)) for s in plan.stages)
    mined = plan.mined_pairs if budget.mined_pairs is None else min(plan.mined_pairs, budget.mined_pairs)
    return replace(plan, stages=stages, mined_pairs=mined)


def _pairs(
    train: LabelledPairs, plan: Recipe, budget: Budget, seed: int, known: Sequence[tuple[str, str]]
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


def _pretrained(form: str, rules: Rules, setting: Setting, runs: Path) -> Path:
    """The model directory of a form after the first stage, trained once for all data sets and seeds."""
    if FORMS[form].vocabulary is not None:
        raise OptionError(f"{form}: its vocabulary is cut to the task's; take a schedule without pretraining")
    if setting.corpus is None:
        raise OptionError(f"{form}: pretraining needs token shards; give --corpus, or cells without it")
    corpus, budget = Corpus(setting.corpus), setting.budget
    teacher = bare_teacher(encoder_of(load_pretrained(setting.encoder)), strategy("kronecker-encoder"))
    engine = EngineConfig(
        steps=budget.pretraining_steps, batch_size=budget.pretraining_batch, learning_rate=1e-3
    )
    plan = PretrainingPlan("kronecker-encoder", 0, engine, ExampleRecipe())
    student = start(replace(teacher.config, kronecker=rules), copy.deepcopy(teacher), plan, corpus)
    with torch.random.fork_rng():
        return pretrained(student, teacher, corpus, plan, runs / f"pretrained-{form}", setting.encoder)


def summarise(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds of every cell and data set, and the steps of Table 6 with paired 95% intervals."""
    found: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for record in records:
        found.setdefault((record["data"], record["cell"]), {})[record["seed"]] = record
    rows = []
    for (data, cell), runs in sorted(found.items()):
        first = next(iter(runs.values()))
        shared = {k: first[k] for k in ("form", "schedule", "parameters", "times_fewer_parameters", "flops")}
        means = {
            "accuracy": float(np.mean([run["test"]["accuracy"] for run in runs.values()])),
            "f1": float(np.mean([run["test"]["f1"] for run in runs.values()])),
            "kept": float(np.mean([run["kept"] for run in runs.values()])),
            "teacher_accuracy": first["teacher_test"]["accuracy"],
        }
        rows.append({"data": data, "cell": cell, "seeds": sorted(runs)} | shared | means)
    orders = []
    for data, form in sorted({(r["data"], r["form"]) for r in rows}):
        for better, worse in ORDERS:
            first_runs, second_runs = (found.get((data, f"{form}.{s}"), {}) for s in (better, worse))
            if seeds := sorted(first_runs.keys() & second_runs.keys()):
                gains = [
                    first_runs[s]["test"]["accuracy"] - second_runs[s]["test"]["accuracy"] for s in seeds
                ]
                step = {"data": data, "form": form, "better": better, "worse": worse, "seeds": seeds}
                orders.append(step | verdict(gains))
    return {"rows": rows, "orders": orders}


def draw(summary: dict[str, Any], path: Path) -> None:
    """Test accuracy over encoder parameters, a line a family and schedule; the teacher as a dashed line."""
    from matplotlib.figure import Figure

    datasets = sorted({row["data"] for row in summary["rows"]})
    figure = Figure(figsize=(5.5 * len(datasets), 4), layout="constrained")
    panels = figure.subplots(1, len(datasets), squeeze=False)[0]
    for axes, data in zip(panels, datasets, strict=True):
        rows = [row for row in summary["rows"] if row["data"] == data]
        lines = sorted({(_family(row["form"]), row["schedule"]) for row in rows})
        for family, schedule in lines:
            points = sorted(
                (row["parameters"] / 1e6, 100 * row["accuracy"])
                for row in rows
                if (_family(row["form"]), row["schedule"]) == (family, schedule)
            )
            axes.plot(*zip(*points, strict=True), marker="o", label=f"{family}, {schedule}")
        axes.axhline(100 * rows[0]["teacher_accuracy"], color="0.4", linestyle="--", label="teacher")
        axes.set(title=data, xlabel="encoder parameters, millions", ylabel="test accuracy, %")
        axes.set_xlim(0, 1.1e-6 * max(row["parameters"] for row in rows))
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=120, format="png")


def _family(form: str) -> str:
    """kronecker-8 → kronecker; the last part of a name without a number is kept."""
    return "-".join(part for part in form.split("-") if not part.isdigit())
