"""`mobilebert ship`: from labelled pairs to matchers that a phone can run, in one command."""

from pathlib import Path
from typing import Annotated

from typer import Option

from mobilebert_export import options as opt


def ship(
    data: Annotated[
        Path,
        opt.INPUT_FOLDER,
        Option(help="Folder with train.tsv, dev.tsv and, to be measured on, test.tsv."),
    ],
    out: opt.RunFolder,
    matcher: Annotated[
        list[str] | None, Option(help="matcher-m or matcher-s (repeat for both). [both]")
    ] = None,
    teachers: Annotated[
        int, opt.COUNT, Option(help="Teachers, of seeds 0, 1, …; their words are averaged.")
    ] = 1,
    level: Annotated[
        float, opt.LEVEL, Option(help="Share of the length-divergence bias taken out of the targets; 1: all.")
    ] = 1.0,
    quant: Annotated[str, opt.QUANTS, Option(help="Of the artefacts, as in `export`.")] = "int8",
    threads: opt.Threads = 2,
    quick: Annotated[
        bool, Option("--quick", help="A few steps of everything: shows that it runs, teaches nothing.")
    ] = False,
) -> None:
    """Make the shipped matchers, or yours from your own pairs.

    Fine-tunes the teachers, lets them label mined pairs, takes the length-divergence bias out of their
    labels, distils each matcher, fits temperature, threshold and length shift on dev.tsv, exports, verifies,
    and measures it on test.tsv. Leaves OUT/MATCHER/model, the artefact OUT/MATCHER-QUANT and the records
    OUT/MATCHER.json and OUT/MATCHER-QUANT.json; of a matcher that is taught the original labels first also
    OUT/MATCHER-original/model. What is finished is not done again.
    """
    from rich.console import Console

    from distill.task.distillation_recipes import TRAINING_RECIPES
    from mobilebert_export.commands.distill import distill
    from mobilebert_export.commands.evaluate import evaluate
    from mobilebert_export.commands.export import export
    from mobilebert_export.commands.train_matcher import train_matcher
    from mobilebert_runtime.errors import OptionError

    chosen = matcher or list(TRAINING_RECIPES)
    if unknown := [name for name in chosen if name not in TRAINING_RECIPES]:
        raise OptionError(f"matcher {unknown[0]!r} is unknown; expected one of {', '.join(TRAINING_RECIPES)}")
    console = Console(stderr=True)
    masters = [out / f"teacher-{seed}" / "model" for seed in range(teachers)]
    for seed, master in enumerate(masters):
        if not master.is_dir():
            console.rule(f"teacher {seed}")
            epochs = 0.1 if quick else None
            train_matcher(data, master.parent, seed=seed, threads=threads, epochs=epochs)
    for name in chosen:
        console.rule(name)
        model, artefact = out / name / "model", out / f"{name}-{quant}"
        start = None
        for recipe, levelled in TRAINING_RECIPES[name]:
            taught = model if levelled else out / f"{name}-original" / "model"
            if not taught.is_dir():
                distill(
                    masters,
                    data,
                    taught.parent,
                    student=name,
                    recipe="smoke" if quick else recipe,
                    start=start,
                    level=level if levelled else 0.0,
                    labels=out / "labels",
                    threads=threads,
                )
            start = str(taught)
        if not artefact.is_dir():
            export(
                out=artefact,
                model=str(model),
                quant=quant,
                buckets="128" if quick else None,
                measure=not quick,
            )
        if (data / "test.tsv").is_file():
            for subject, record in ((model, out / f"{name}.json"), (artefact, out / f"{artefact.name}.json")):
                if not record.is_file():
                    evaluate(
                        str(subject),
                        data / "test.tsv",
                        train=data / "train.tsv",
                        threads=threads,
                        json_file=record,
                    )
