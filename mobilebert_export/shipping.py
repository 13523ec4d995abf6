"""From labelled pairs to matchers that a phone can run: teachers, students, artefacts and their figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mobilebert_export.export_request import ExportRequest
from mobilebert_runtime.errors import OptionError

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class ShipConfig:
    """The options of `mobilebert ship`."""

    data: Annotated[Path, "Folder with train.tsv, dev.tsv and, to be measured on, test.tsv."]
    out: Annotated[Path, "Folder of all of it; an interrupted run there is taken up again."]
    matcher: Annotated[tuple[str, ...], "matcher-m or matcher-s (repeat for both). [both]"] = ()
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
    from distill.distillation import distill
    from distill.distillation_config import DistillationConfig
    from distill.task.distillation_recipes import TRAINING_RECIPES
    from mobilebert_export.console import progress_console
    from mobilebert_export.exporter import export
    from mobilebert_export.scoring import evaluate_matcher
    from mobilebert_runtime.files import write_json
    from training.matcher_training import train_matcher

    exports = check(config, list(TRAINING_RECIPES))
    teachers = tuple(config.out / f"teacher-{seed}" / "model" for seed in range(config.teachers))
    for seed, teacher in enumerate(teachers):
        if not teacher.is_dir():
            console.rule(f"teacher {seed}")
            epochs = 0.1 if config.quick else None
            train_matcher(config.data, teacher.parent, seed=seed, threads=config.threads, epochs=epochs)
    for name, request in exports.items():
        console.rule(name)
        start = None
        for recipe, debiased in TRAINING_RECIPES[name]:
            folder = config.out / (name if debiased else f"{name}-original")
            if not (folder / "model").is_dir():
                distillation = DistillationConfig(
                    teacher=teachers,
                    data=config.data,
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
        test = config.data / "test.tsv"
        for subject in (Path(request.model), request.out):
            record = config.out / f"{subject.parent.name if subject.name == 'model' else subject.name}.json"
            if test.is_file() and not record.is_file():
                train = config.data / "train.tsv"
                write_json(record, evaluate_matcher(str(subject), test, train, threads=config.threads))


def check(config: ShipConfig, matchers: list[str]) -> dict[str, ExportRequest]:
    """The export of each matcher to make, after checking the options; `matchers` are those that there are.

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
