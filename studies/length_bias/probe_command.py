"""`mobilebert probe`: how much of a text's length can be read off a network's representation of it."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def probe(
    corpus: Annotated[list[Path], Option(help="Text, a paragraph a line (.txt, .xz, .gz); may be repeated.")],
    json_file: Annotated[Path, Option("--json", help="The record; what it holds already is not redone.")],
    model: Annotated[
        list[str] | None,
        Argument(help="Before training: bimpm, esim, minilm, or the model directory of an encoder."),
    ] = None,
    runs: Annotated[
        Path | None,
        Option(help="Folder of trained matchers, as `mobilebert reproduce length-bias` leaves it."),
    ] = None,
    train: Annotated[int, Option(min=1, help="Sentences a length bin to train the classifier on.")] = 2000,
    dev: Annotated[int, Option(min=1, help="Sentences a bin to stop it by.")] = 500,
    test: Annotated[int, Option(min=1, help="Sentences a bin to test it on.")] = 1000,
    seed: Annotated[int, Option(help="Of the drawn sentences.")] = 0,
    random_networks: Annotated[
        int, Option(min=1, help="Random bimpm and esim networks to average over.")
    ] = 3,
    threads: Annotated[int, Option(help="CPU threads.")] = 2,
) -> None:
    """Probe representations for sentence length: SentLen of Conneau et al. 2018, six bins of 5 to 28 words.

    A small classifier is trained on frozen representations: the max-pooled BiLSTM outputs of BiMPM and ESIM,
    the averaged output layer and the [CLS] output of a BERT. Of the trained matchers those of the original
    training sets are probed, as in Table 3 of Jiang et al. 2022.
    """
    import torch
    from rich.console import Console

    from studies.length_bias.probe_runs import ProbeRecord, representations, subjects
    from studies.length_bias.sentlen import ProbeConfig, sentlen

    torch.set_num_threads(threads)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    wanted = subjects(model or [], runs, random_networks)
    config = ProbeConfig()
    record = ProbeRecord.open(
        json_file,
        config,
        {"corpus": [path.name for path in corpus], "per_bin": [train, dev, test], "seed": seed},
    )
    with console.status("drawing sentences"):
        task = sentlen(corpus, (train, dev, test), seed)
    for subject in wanted:
        if record.has(subject):
            console.print(f"{subject.name}: there already", markup=False)
            continue
        with console.status(subject.name):
            rows = record.add(subject, representations(subject, task.texts), task)
        for row in rows:
            low, high = row["interval"]
            console.print(
                f"{subject.name} {row['representation']}: {row['accuracy']:.4f} [{low:.4f}, {high:.4f}]",
                markup=False,
            )
