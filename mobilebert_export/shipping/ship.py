"""From labelled pairs to verified matchers: teachers, students, artefacts and their figures."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mobilebert_export.console import Progress, quiet
from mobilebert_export.evaluation.evaluation_page import PAGE_FILE, to_markdown
from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_runtime.errors import DataError, OptionError

# The shipped matchers that are fine-tuned; those of `TRAINING_RECIPES` are distilled from teachers.
OPEN = ("matcher-open-m", "matcher-open-s")
# Of pairs without a dev.tsv this share, and at most so many, are development pairs.
DEV_SHARE, DEV_PAIRS = 0.2, 1000
BEFORE = "-before.json"  # behind a matcher's name: its figures as it ships
PARTS = "data"  # folder of the run that gets both parts
FEWEST = 2  # pairs of a label: one to learn from, one to choose the threshold by
LENGTH_BIAS = "length_bias.txt"  # beside a fine-tuned model: what was done about the bias
ROUNDED_ON, MAX_TOKENS = 400, 128  # pairs, and tokens of each, whose activations say how weights are rounded


@dataclass(frozen=True)
class ShipConfig:
    """The options of `mobilebert ship`."""

    data: Annotated[
        Path,
        "Folder with train.tsv and perhaps dev.tsv and, for measuring, test.tsv; or one file of pairs.",
    ]
    out: Annotated[Path, "Output folder; an interrupted run there is resumed."]
    matcher: Annotated[
        tuple[str, ...],
        "matcher-open-m or matcher-open-s; from labelled pairs also matcher-m or matcher-s, which are "
        "distilled (repeat for more).",
    ] = OPEN[:1]
    teachers: Annotated[int, "Number of teachers (seeds 0, 1, …), whose answers are averaged."] = 1
    debias: Annotated[float, "Share of the length bias to remove; 1: all, 0: none."] = 1.0
    quant: Annotated[str, "Quantisation of the artefacts, as in `export`."] = "int8"
    threads: Annotated[int, "CPU threads."] = 2
    quick: Annotated[bool, "A few steps of everything, to check that it runs; the result is useless."] = False


@dataclass(frozen=True)
class ShippedMatcher:
    """A matcher that was made, and where its parts lie."""

    name: str
    model: Path  # directory of the PyTorch model
    artefact: Path
    # Figures of both on test.tsv, or where there is none on dev.tsv, which chose the threshold.
    model_record: Path
    artefact_record: Path


@dataclass(frozen=True)
class ShipResult:
    """What `ship` made."""

    matchers: tuple[ShippedMatcher, ...]


def ship(config: ShipConfig, progress: Progress = quiet) -> ShipResult:
    """Make every matcher of a config; what is finished is not done again.

    Args:
        config: the options.
        progress: told of each step.

    Raises:
        OptionError: an option that no step can take; nothing was begun.
        DataError: a file of pairs is damaged, or has labels that a matcher does not tell apart.
        ResumeError: the folder holds a run with other inputs, or another process works there.
        VerificationError: an artefact does not agree with its model.
        UserError: see the steps, `train_matcher`, `distill`, `export` and `evaluate`.
    """
    from mobilebert_training.distillation.distillation_recipes import TRAINING_RECIPES
    from mobilebert_training.run_directory import claim, claimed, data_hashes, locked

    exports = export_requests(config, [*OPEN, *TRAINING_RECIPES])
    distilled = any(name in TRAINING_RECIPES for name in exports)
    parts = config.out / PARTS
    if splits(config.data) and parts.exists() and not claimed(config.out, "ship"):
        raise OptionError(
            f"--out {config.out}: {parts} is there already, and the parts of your pairs are written there; "
            "choose another folder"
        )
    _require_two_labels(config.data, [name for name in exports if name in OPEN])
    with locked(config.out):
        taken = {"data": data_hashes(config.data), "quick": config.quick, "debias": config.debias}
        claim(config.out, "ship", taken)
        if distilled:
            claim(config.out, "teachers", {"teachers": config.teachers})
        return _ship(config, exports, distilled, progress)


def _ship(
    config: ShipConfig, exports: dict[str, ExportRequest], distilled: bool, progress: Progress
) -> ShipResult:
    from mobilebert_export.pipeline.exporter import export
    from mobilebert_matching.data.labelled_pairs import read_labelled
    from mobilebert_matching.data.repeated_pairs import TRAINING_PAIRS, save_training_pairs

    data = parts_of(config, progress)
    if not (config.out / TRAINING_PAIRS).is_file():  # for `evaluate` of the artefacts, which lie beside it
        save_training_pairs(config.out, read_labelled(data / "train.tsv").pairs)
    teachers = tuple(config.out / f"teacher-{seed}" / "model" for seed in range(config.teachers))
    for seed, teacher in enumerate(teachers):
        if distilled:
            if not teacher.is_dir():
                progress(f"teacher {seed}: fine-tune")
            _train("minilm", teacher.parent, config, data, progress, seed=seed)
    made = []
    for name, request in exports.items():
        if name not in OPEN:
            _distill(name, config, teachers, data, progress)
        elif not request.out.is_dir():
            fine_tuned(name, config, data, progress)
        if not request.out.is_dir():
            progress(f"  {name}: export")
            export(request, progress)
        made.append(_measured(name, request, config, data, progress))
    return ShipResult(tuple(made))


def parts_of(config: ShipConfig, progress: Progress = quiet) -> Path:
    """The folder with train.tsv and dev.tsv: the user's, or one in which a share is kept back for dev.tsv."""
    if not splits(config.data):
        return config.data
    if config.data.is_file():
        return split_file(config.data, config.out / PARTS, progress)
    folder = split_file(config.data / "train.tsv", config.out / PARTS, progress)
    if (config.data / "test.tsv").is_file():
        shutil.copyfile(config.data / "test.tsv", folder / "test.tsv")
    return folder


def splits(data: Path) -> bool:
    """Whether a share of the pairs has to be kept back: of one file, or of a folder without dev.tsv."""
    return data.is_file() or not (data / "dev.tsv").is_file()


def _require_two_labels(data: Path, matchers: Sequence[str]) -> None:
    """Read every file of pairs; `DataError` for a label that `matchers` do not tell apart."""
    from mobilebert_matching.data.labelled_pairs import read_labelled

    files = [data] if data.is_file() else [data / f"{part}.tsv" for part in ("train", "dev", "test")]
    for file in (file for file in files if file.is_file()):
        highest = read_labelled(file).labels.max()
        if matchers and highest > 1:
            raise DataError(f"{file}: has label {highest}; {matchers[0]} tells two apart, 0 and 1")


def fine_tuned(name: str, config: ShipConfig, data: Path, progress: Progress = quiet) -> Path:
    """Model directory of an open matcher that was trained on train.tsv, with a decision fitted on dev.tsv.

    Args:
        name: one of `OPEN`.
        config: the options.
        data: folder that `parts_of` gives.
        progress: told of the steps, and of what became of the length bias.
    """
    from mobilebert_models import MatcherSettings, load_pair_network
    from mobilebert_runtime.tokenizer import PairTokenizer
    from mobilebert_training.finetuning.calibration import fit_decision

    model = config.out / name / "model"
    if not model.is_dir():
        progress(f"{name}: fine-tune")
    _train(name, model.parent, config, data, progress)
    keep_four_bits(model, name, data / "train.tsv")
    said: list[str] = []
    settings = fit_decision(
        load_pair_network(model),
        PairTokenizer.load(model),
        MatcherSettings.load(model),
        data,
        debias=None if config.debias == 1 else config.debias,
        progress=said.append,
    )
    settings.write(model / "matcher.json")
    (model.parent / LENGTH_BIAS).write_text(said[0] + "\n", encoding="utf-8")
    for line in said:
        progress(f"  {line}")
    return model


def _train(
    arch: str, out: Path, config: ShipConfig, data: Path, progress: Progress, *, seed: int = 0
) -> None:
    from mobilebert_training.finetuning.matcher_training import train_matcher

    train_matcher(
        data,
        out,
        arch=arch,
        seed=seed,
        threads=config.threads,
        epochs=0.1 if config.quick else None,
        keep_finished=True,
        progress=progress,
    )


def _distill(
    name: str, config: ShipConfig, teachers: tuple[Path, ...], data: Path, progress: Progress
) -> None:
    """Distil a matcher by its recipes, each of which goes on from the model of the one before."""
    from mobilebert_training.distillation.distillation import claim_folder, distill
    from mobilebert_training.distillation.distillation_config import DistillationConfig
    from mobilebert_training.distillation.distillation_recipes import TRAINING_RECIPES

    start = None
    for recipe, debiased in TRAINING_RECIPES[name]:
        folder = config.out / (name if debiased else f"{name}-original")
        distillation = DistillationConfig(
            teacher=tuple(map(str, teachers)),
            data=data,
            out=folder,
            student=name,
            recipe="smoke" if config.quick else recipe,
            start=start,
            debias=config.debias if debiased else 0.0,
            labels=config.out / "labels",
            threads=config.threads,
        )
        if (folder / "model").is_dir():
            claim_folder(distillation)
        else:
            distill(distillation, lambda said: progress(f"{name}: {said}"))
        start = str(folder / "model")


def _measured(
    name: str, request: ExportRequest, config: ShipConfig, data: Path, progress: Progress
) -> ShippedMatcher:
    """A matcher and its artefact, measured on test.tsv, or dev.tsv where there is none."""
    from mobilebert_export.evaluation.scoring import evaluate
    from mobilebert_runtime.files import write_json

    model, artefact = Path(request.model), request.out
    part = "test" if (data / "test.tsv").is_file() else "dev"
    records = config.out / f"{name}.json", config.out / f"{artefact.name}.json"
    start = config.out / f"{name}{BEFORE}"
    subjects: dict[Path, str | Path] = {start: name} if name in OPEN else {}
    for record, subject in (subjects | dict(zip(records, (model, artefact), strict=True))).items():
        if not record.is_file():
            progress(f"{record.stem}: measure on {part}.tsv")
            found = evaluate(subject, data / f"{part}.tsv", data / "train.tsv", threads=config.threads)
            write_json(record, {"part": part, **found.to_json()})
    if not (artefact / PAGE_FILE).is_file():
        (artefact / PAGE_FILE).write_text(_card(name, model, records[1], start), encoding="utf-8")
    if start.is_file():
        progress(f"  {name} as it ships: {_figures(start)}")
    progress(f"  {summary(artefact, records[1])}")
    return ShippedMatcher(name, model, artefact, *records)


def _card(name: str, model: Path, record: Path, start: Path) -> str:
    """What an artefact is, where it was measured, and its figures by length divergence."""
    import json

    found = json.loads(record.read_text(encoding="utf-8"))
    bias = model.parent / LENGTH_BIAS
    chosen = (
        ". These pairs also chose the step of training, the probabilities and the threshold, so expect "
        "less of new pairs"
        if found["part"] == "dev"
        else ""
    )
    lines = [f"# {model.parent.name}, made by `mobilebert ship --matcher {name}`", ""]
    lines += [f"Measured on {found['part']}.tsv{chosen}. Threshold {found['threshold']:.3f}.", ""]
    if start.is_file():
        lines += [f"Before fine-tuning, {name} as it ships: {_figures(start)}.", ""]
    if bias.is_file():
        said = bias.read_text(encoding="utf-8").strip()
        lines += [f"{said[0].upper()}{said[1:]}. What is left of it is the recall gap below.", ""]
    return "\n".join(lines) + "\n" + to_markdown(found)


def _figures(record: Path) -> str:
    """The figures of a record that matter most, and how many pairs they are of."""
    import json

    found = json.loads(record.read_text(encoding="utf-8"))
    figures = ", ".join(
        f"{name} {found[key]:.3f}"
        for name, key in (("accuracy", "accuracy"), ("F1", "f1"), ("AUC", "auc"))
        if found[key] is not None
    )
    return f"{figures} on {found['pairs']:,} {found['part']} pairs"


def summary(artefact: Path, record: Path) -> str:
    """Where an artefact and its figures are, and the figures that matter most."""
    return f"{artefact}: {_figures(record)}; all figures in {record}"


def keep_four_bits(trained: Path, name: str, train: Path) -> None:
    """Put a fine-tuned model's layers on grids of four bits where those of the shipped one are, in place.

    Args:
        trained: its model directory.
        name: of the shipped matcher.
        train: labelled pairs, whose texts say which errors matter.
    """
    from mobilebert_matching.data.labelled_pairs import read_labelled
    from mobilebert_models import MatcherSettings, find_directory, load_pretrained, save_pretrained
    from mobilebert_models.weights.four_bit import four_bit_layers
    from mobilebert_quantize.four_bit_layers import round_as
    from mobilebert_runtime.tokenizer import PairTokenizer

    origin, model = load_pretrained(find_directory(name)), load_pretrained(trained)
    if four_bit_layers(origin) <= four_bit_layers(model):
        return
    text = PairTokenizer.load(trained).encode(read_labelled(train)[0][:ROUNDED_ON], MAX_TOKENS)
    settings = MatcherSettings.load(trained)
    save_pretrained(round_as(origin, model, text), trained, tokenizer_from=trained, settings=settings)


def split_file(path: Path, folder: Path, progress: Progress = quiet) -> Path:
    """Write one file of labelled pairs as `folder`/train.tsv and dev.tsv, apart by a fixed seed; the folder.

    Both parts have the labels in the file's proportion, and each label at least once. All rows of a pair, in
    either order, are in one part.

    Args:
        path: of the file.
        folder: gets the two parts.
        progress: told of repeated pairs.

    Raises:
        DataError: the file is damaged, has one class only, or a class of fewer than `FEWEST` different pairs.
    """
    import numpy as np

    from mobilebert_matching.data.labelled_pairs import read_labelled, require_two_classes
    from mobilebert_matching.data.repeated_pairs import fitting, pair_numbers, repetitions
    from mobilebert_matching.data.table_files import MARKS_ARE_TEXT
    from mobilebert_runtime.files import replacing

    pairs, labels = read_labelled(path)
    require_two_classes(labels, str(path))
    numbers = pair_numbers(pairs)
    _, first, sizes = np.unique(numbers, return_index=True, return_counts=True)
    order = np.random.default_rng(0).permutation(len(first))
    share = min(DEV_SHARE, DEV_PAIRS / len(pairs))
    chosen: list[int] = []
    for label in np.unique(labels):
        own = order[labels[first[order]] == label]  # of several labels a pair counts by its first
        if len(own) < FEWEST:
            raise DataError(
                f"{path}: {len(own)} of {len(first):,} different pairs have the label {label}; "
                f"give at least {FEWEST} of each label, or a folder with train.tsv and dev.tsv"
            )
        chosen += fitting(own, sizes, round(share * sizes[own].sum()))
    held_out = np.isin(numbers, chosen)
    dev, train = np.flatnonzero(held_out), np.flatnonzero(~held_out)
    if said := repetitions(pairs, labels).describe():
        progress(f"  {path}: {said}; all rows of a pair stay in one part")
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("dev", dev), ("train", train)):
        lines = [f"label\ttext_a\ttext_b\t{MARKS_ARE_TEXT}"]
        for row in rows:
            # A line is a pair: what breaks one inside a text is a space.
            texts = (" ".join(text.split()) for text in pairs[row])
            lines.append("\t".join([str(labels[row]), *texts, ""]))
        with replacing(folder / f"{name}.tsv", force=True) as partial:
            partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def export_requests(config: ShipConfig, matchers: list[str]) -> dict[str, ExportRequest]:
    """The export of each matcher to make; `matchers` are those that there are.

    Raises:
        OptionError: an option is unknown or out of range.
    """
    if unknown := [name for name in config.matcher if name not in matchers]:
        raise OptionError(f"matcher {unknown[0]!r} is unknown; expected one of {', '.join(matchers)}")
    if config.teachers < 1 or config.threads < 1:
        raise OptionError(f"--teachers {config.teachers}, --threads {config.threads}: expected at least 1")
    if not 0 <= config.debias < float("inf"):
        raise OptionError(f"--debias {config.debias}: expected a number of at least 0")
    exports = {}
    for name in config.matcher or matchers:
        exports[name] = ExportRequest(
            out=config.out / f"{name}-{config.quant}",
            model=str(config.out / name / "model"),
            quant=config.quant,
            buckets=(128,) if config.quick else None,
            measure=not config.quick,
        )
        exports[name].recipe()
    return exports
