"""`mobilebert calibrate`: fit what turns a matcher's logits into a decision."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_export.command_line.named_columns import ColumnNames, known_columns


def calibrate(
    model: Annotated[Path, opt.INPUT_FOLDER, Argument(help="Model directory of a matcher with two labels.")],
    data: Annotated[
        Path, opt.INPUT_FOLDER, Option(help="Folder with dev.tsv and, for --debias, the biased train.tsv.")
    ],
    debias: Annotated[
        bool, Option("--debias", help="For pairs whose difference in length says nothing of the label.")
    ] = False,
    equal_recall: Annotated[
        bool,
        Option("--equal-recall", help="With --debias: as many matches found at equal and unequal lengths."),
    ] = False,
    positive: opt.PositiveClass = None,
    text_a: opt.TextA = None,
    text_b: opt.TextB = None,
    label: opt.Label = None,
    positive_label: opt.PositiveLabel = None,
    threads: opt.Threads = 2,
    force: opt.Force = False,
) -> None:
    """Fit temperature and threshold on dev.tsv, and write them to MODEL/matcher.json.

    Of an embedding matcher, whose logits are a cosine's, also an offset of the log-odds.

    With --debias development pairs are weighted so that their length divergence says nothing of the label,
    and what of the training pairs' length prior the matcher still has is taken out of its score: a number
    added to the log-odds by length-divergence category, which every runtime of ours applies. How much is
    taken out is a matter of likelihood; with --equal-recall it is as much as makes the true positive rates of
    pairs of similar (CAT1) and of very different length (CAT4) equal, false positive rates then differ.
    """
    from rich.console import Console

    from mobilebert_export import library

    names = ColumnNames(text_a, text_b, label, positive_label)
    with (
        known_columns(data, names) as folder,
        Console(stderr=True).status(f"scoring the pairs of {data}/dev.tsv"),
    ):
        settings = library.calibrate(
            model,
            folder,
            debias=debias,
            equal_recall=equal_recall,
            positive=positive,
            threads=threads,
            force=force,
        )
    console = Console()
    console.print(f"temperature {settings.temperature:.3f}, threshold {settings.threshold:.3f}")
    if settings.length_shift:
        added = settings.length_shift["added"]
        if len(set(added)) == 1:
            console.print(f"added to the log-odds: {added[0]:+.3f}")
        else:
            shown = ", ".join(f"{value:+.3f}" for value in added)
            console.print(f"added to the log-odds in CAT1 to CAT4: {shown}")
