"""From labelled pairs to matchers that a phone can run: teachers, students, artefacts and their figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_runtime.errors import DataError, OptionError

if TYPE_CHECKING:
    from rich.console import Console


# The shipped matchers that are fine-tuned; those of `TRAINING_RECIPES` are distilled from teachers.
OPEN = ("matcher-open-m", "matcher-open-s")
# Of one file of pairs this share, and at most so many, are development pairs.
DEV_SHARE, DEV_PAIRS = 0.2, 1000
FEWEST = 2  # pairs of a label: one to learn from, one to choose the threshold by
ROUNDED_ON, MAX_TOKENS = 400, 128  # pairs, and tokens of each, whose activations say how weights are rounded


@dataclass(frozen=True)
class ShipConfig:
    """The options of `mobilebert ship`."""

    data: Annotated[
        Path,
        "Folder with train.tsv, dev.tsv and, to be measured on, test.tsv; or one file of labelled pairs.",
    ]
    out: Annotated[Path, "Folder of all of it; an interrupted run there is taken up again."]
    matcher: Annotated[
        tuple[str, ...],
        "matcher-open-m or matcher-open-s; of labelled pairs also, distilled, matcher-m or matcher-s "
        "(repeat for more).",
    ] = OPEN[:1]
    teachers: Annotated[int, "Teachers, of seeds 0, 1, …; their answers are averaged."] = 1
    debias: Annotated[float, "Share of the length-divergence bias taken out of the targets; 1: all."] = 1.0
    quant: Annotated[str, "Of the artefacts, as in `export`."] = "int8"
    threads: Annotated[int, "CPU threads."] = 2
    quick: Annotated[bool, "A few steps of everything: shows that it runs, teaches nothing."] = False


def ship(config: ShipConfig, console: Console) -> None:
    """Make every matcher of a config; what is finished is not done again.

    Raises:
        OptionError: an option that no step can take; nothing was begun.
        VerificationError: an artefact does not agree with its model.
        UserError: see the steps, `train_matcher`, `distill`, `export` and `evaluate_matcher`.
    """
    from mobilebert_export.console import progress_console
    from mobilebert_export.evaluation.scoring import evaluate_matcher
    from mobilebert_export.pipeline.exporter import export
    from mobilebert_runtime.files import write_json
    from mobilebert_training.distillation.distillation import distill
    from mobilebert_training.distillation.distillation_config import DistillationConfig
    from mobilebert_training.distillation.distillation_recipes import TRAINING_RECIPES
    from mobilebert_training.finetuning.matcher_training import train_matcher

    exports = export_requests(config, [*OPEN, *TRAINING_RECIPES])
    data = config.data if config.data.is_dir() else split_file(config.data, config.out / "data")
    epochs = 0.1 if config.quick else None
    distilled = any(name in TRAINING_RECIPES for name in exports)
    teachers = tuple(config.out / f"teacher-{seed}" / "model" for seed in range(config.teachers))
    for seed, teacher in enumerate(teachers):
        if distilled and not teacher.is_dir():
            console.rule(f"teacher {seed}")
            train_matcher(data, teacher.parent, seed=seed, threads=config.threads, epochs=epochs)
    for name, request in exports.items():
        console.rule(name)
        start = None
        if name in OPEN and not Path(request.model).is_dir():
            train_matcher(data, config.out / name, arch=name, threads=config.threads, epochs=epochs)
        if name in OPEN:
            keep_four_bits(Path(request.model), name, data / "train.tsv")
        for recipe, debiased in TRAINING_RECIPES.get(name, ()):
            folder = config.out / (name if debiased else f"{name}-original")
            if not (folder / "model").is_dir():
                distillation = DistillationConfig(
                    teacher=teachers,
                    data=data,
                    out=folder,
                    student=name,
                    recipe="smoke" if config.quick else recipe,
                    start=start,
                    debias=config.debias if debiased else 0.0,
                    labels=config.out / "labels",
                    threads=config.threads,
                )
                with console.status("") as status:
                    distill(distillation, status.update)
            start = str(folder / "model")
        if not request.out.is_dir():
            export(request, progress_console())
        # Where no pairs are kept for a test, the development pairs, which chose the threshold, say something.
        part = "test" if (data / "test.tsv").is_file() else "dev"
        for subject in (Path(request.model), request.out):
            record = config.out / f"{subject.parent.name if subject.name == 'model' else subject.name}.json"
            if not record.is_file():
                pairs, train = data / f"{part}.tsv", data / "train.tsv"
                found = evaluate_matcher(str(subject), pairs, train, threads=config.threads)
                write_json(record, {"part": part, **found})
        console.print(summary(request.out, record), highlight=False, soft_wrap=True)


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


def summary(artefact: Path, record: Path) -> str:
    """Where an artefact and its figures are, and the figures that matter most."""
    import json

    found = json.loads(record.read_text(encoding="utf-8"))
    figures = ", ".join(
        f"{name} {found[key]:.3f}"
        for name, key in (("accuracy", "accuracy"), ("F1", "f1"), ("AUC", "auc"))
        if found[key] is not None
    )
    where = f"on {found['pairs']:,} {found['part']} pairs"
    return f"{artefact}: {figures} {where}; all figures in {record}"


def split_file(path: Path, folder: Path) -> Path:
    """Write one file of labelled pairs as `folder`/train.tsv and dev.tsv, apart by a fixed seed; the folder.

    Both parts have the labels in the file's proportion, and each label at least once.

    Raises:
        DataError: the file is damaged, has one class only, or a class of fewer than `FEWEST` pairs.
    """
    import numpy as np

    from mobilebert_matching.data.labelled_pairs import read_labelled, require_two_classes
    from mobilebert_runtime.files import replacing

    pairs, labels = read_labelled(path)
    require_two_classes(labels, str(path))
    order = np.random.default_rng(0).permutation(len(pairs))
    share = min(DEV_SHARE, DEV_PAIRS / len(pairs))
    dev: list[int] = []
    for label in np.unique(labels):
        rows = order[labels[order] == label]
        if len(rows) < FEWEST:
            raise DataError(
                f"{path}: {len(rows)} of {len(pairs):,} pairs have the label {label}; "
                f"give at least {FEWEST} of each label, or a folder with train.tsv and dev.tsv"
            )
        dev += rows[: max(1, round(share * len(rows)))].tolist()
    train = np.setdiff1d(order, dev)
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("dev", np.array(dev)), ("train", train)):
        lines = ["label\ttext_a\ttext_b"]
        for row in np.sort(rows):
            # A line is a pair: what breaks one inside a text is a space.
            texts = (" ".join(text.split()) for text in pairs[row])
            lines.append("\t".join([str(labels[row]), *texts]))
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
