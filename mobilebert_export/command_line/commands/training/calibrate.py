"""`mobilebert calibrate`: fit what turns a matcher's logits into a decision."""

from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_export.command_line.input_texts import read_file
from mobilebert_export.command_line.named_columns import ColumnNames, known_columns
from mobilebert_runtime.errors import OptionError


def calibrate(
    model: Annotated[
        str,
        opt.MODEL,
        Argument(help="Model directory of a matcher with two labels; with --out also a shipped one's name."),
    ],
    data: Annotated[
        Path | None,
        opt.INPUT_FILE_OR_FOLDER,
        Option(
            help="One file of labelled pairs, or a folder with dev.tsv and, where there is one, the "
            "train.tsv whose bias is removed."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        opt.MODEL_FOLDER,
        Option(help="Write a calibrated copy there. [default: change MODEL itself]", show_default=False),
    ] = None,
    texts: Annotated[
        Path | None,
        opt.INPUT_FILE,
        Option(help="Instead of --data: stored texts without labels, each of another meaning, one a line."),
    ] = None,
    false_matches: Annotated[
        float | None,
        opt.Number(0, 0.5, above=True),
        Option(help="With --texts: share of the texts that may be taken for the nearest other one."),
    ] = None,
    debias: Annotated[
        bool | None,
        Option(
            "--debias/--no-debias",
            help="Remove the length bias with fewer pairs too, if every category has both labels; or leave "
            "it in.",
            show_default="where the pairs are enough",
        ),
    ] = None,
    equal_recall: Annotated[
        bool,
        Option("--equal-recall", help="Remove it so that recall is equal at similar and different lengths."),
    ] = False,
    positive: opt.PositiveClass = None,
    text_a: opt.TextA = None,
    text_b: opt.TextB = None,
    label: opt.Label = None,
    positive_label: opt.PositiveLabel = None,
    threads: opt.Threads = 2,
    force: opt.Force = False,
) -> None:
    """Fit temperature, threshold and length shift on labelled pairs, and write them to MODEL/matcher.json.

    With --out MODEL stays as it is, and a copy has them. An artefact keeps the decision that it was exported
    with: export again.

    The threshold is 0.5 unless cross-validation finds another one better. An embedding matcher, whose logits
    come from cosines, also gets an offset of the log-odds.

    Length bias is removed by default. Development pairs are weighted so that length says nothing about the
    label, and what the matcher kept of the length prior of train.tsv (else of dev.tsv) is subtracted from its
    score: one number per category of length divergence, added to the log-odds by every runtime. Its size is
    fitted by likelihood; with --equal-recall it is fitted so that pairs of similar length (CAT1) and of very
    different length (CAT4) have the same true positive rate. Their false positive rates then differ. Where a
    category has fewer than ten pairs of a label the bias stays, which is said; --debias fits it where each
    has one.

    Without labels, --texts sets the threshold of an embedding matcher alone. A stored text and the nearest
    other one are not the same: at the threshold no more than --false-matches of such pairs become matches. It
    may miss true ones. The closest pairs are shown: two texts of one meaning among them spoil it. A table's
    texts are its column "text", or --text-a.
    """
    from mobilebert_export import library
    from mobilebert_export.terminal import Terminal

    names = ColumnNames(text_a, text_b, label, positive_label)
    console, said = Terminal(), list[str]()
    fit = partial(
        library.calibrate,
        model,
        out=out,
        debias=debias,
        equal_recall=equal_recall,
        positive=positive,
        threads=threads,
        force=force,
        progress=said.append,
    )
    if texts is not None and data is None:
        if any((text_b, label, positive_label)):
            raise OptionError("--text-b, --label, --positive-label: name columns of --data, not of --texts")
        stored = [str(text) for text in read_file(texts, 1, text_a, None)]
        with Terminal(stderr=True).status(f"scoring the texts of {texts}"):
            settings = fit(texts=stored, false_matches=false_matches)
        console.print(f"threshold {settings.threshold:.3f}")
        for line in said:
            console.print(line)
        return
    if false_matches is not None and texts is None:
        raise OptionError("--texts, --false-matches: give both, or neither")
    if data is None or texts is not None:
        raise OptionError("--data, --texts: give one of them")
    with (
        known_columns(data, names) as folder,
        Terminal(stderr=True).status(f"scoring the pairs of {data}"),
    ):
        settings = fit(data=folder)
    console.print(f"temperature {settings.temperature:.3f}, threshold {settings.threshold:.3f}")
    for line in said:
        console.print(line)
    if settings.length_shift:
        added = settings.length_shift["added"]
        if len(set(added)) == 1:
            console.print(f"added to the log-odds: {added[0]:+.3f}")
        else:
            shown = ", ".join(f"{value - added[0]:+.3f}" for value in added[1:])
            console.print(f"added to the log-odds: {added[0]:+.3f}; against CAT1 in CAT2 to CAT4: {shown}")
