"""`mobilebert train-matcher`: train a text matcher of any architecture on labelled pairs."""

from pathlib import Path
from typing import Annotated

from typer import Option

from mobilebert_export.command_line import options as opt
from mobilebert_export.command_line.named_columns import ColumnNames, known_columns


def train_matcher(
    data: Annotated[
        Path,
        opt.INPUT_FOLDER,
        Option(help="Folder with train.tsv and, unless part of it is to be held out, dev.tsv."),
    ],
    out: opt.RunFolder,
    arch: Annotated[
        str,
        opt.MODEL,
        Option(help="A shipped matcher or a directory to go on from; or minilm, bert-tiny."),
    ] = "matcher-open-m",
    train_set: Annotated[
        str, Option(help="original, or adversarial: without length-divergence bias.")
    ] = "original",
    init: Annotated[
        Path | None, opt.INPUT_FOLDER, Option(help="Model directory that bert-tiny starts from.")
    ] = None,
    group: Annotated[str | None, Option(help="Column of the query key, where a folder holds lists.")] = None,
    text_a: opt.TextA = None,
    text_b: opt.TextB = None,
    label: opt.Label = None,
    positive_label: opt.PositiveLabel = None,
    max_pairs: Annotated[
        int | None, opt.COUNT, Option(help="Train on this many pairs, drawn at random.")
    ] = None,
    epochs: Annotated[float | None, opt.RATE, Option(help="Passes over the training pairs, at most.")] = None,
    batch_size: Annotated[int | None, opt.BATCH, Option(help="Pairs a step.")] = None,
    lr: Annotated[float | None, opt.RATE, Option(help="Peak learning rate.")] = None,
    patience: Annotated[
        int | None,
        opt.COUNT_OR_NONE,
        Option(help="Stop after this many epochs without improvement on dev; 0: never."),
    ] = None,
    dtype: opt.TrainingType = "float32",
    seed: opt.Seed = 0,
    threads: opt.Threads = 2,
    force: opt.Force = False,
) -> None:
    """Train a text matcher on labelled pairs.

    `mobilebert ship` does this and the rest: it also removes length bias, exports, verifies and measures. The
    default goes on from matcher-open-m, of which a few hundred pairs make a better matcher. minilm and
    bert-tiny become cross-encoders, teachers for `distill`, of thousands of pairs.

    Leaves OUT/model (with decision settings fitted on the development pairs) and OUT/finetune.json (settings,
    loss curve, development figures). Options that are not given come from the architecture's row in a table;
    for matcher-open-m: at most 4 epochs, batch 32, learning rate 3e-5.
    """
    from mobilebert_export import library
    from mobilebert_export.console import plain_lines

    names = ColumnNames(text_a, text_b, label, positive_label, group)
    with known_columns(data, names) as folder:
        library.train(
            folder,
            out,
            arch=arch,
            train_set=train_set,
            init=init,
            group=group,
            max_pairs=max_pairs,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=lr,
            patience=patience,
            dtype=dtype,
            seed=seed,
            threads=threads,
            force=force,
            bar=True,
            progress=plain_lines,
        )
