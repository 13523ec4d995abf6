"""`mobilebert verify`: repeat the comparison with the PyTorch model and with the model's own library."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt


def verify(
    *,
    artefact: Annotated[Path, opt.MODEL, Argument(help="Artefact folder.")],
    model: Annotated[
        str | None,
        opt.MODEL,
        Option(help="Model directory or name; needed unless a shipped matcher was exported."),
    ] = None,
    pairs: Annotated[
        Path | None, opt.INPUT_FILE, Option(help="TSV of at least 200 pairs; default: the bundled samples.")
    ] = None,
    text_a: opt.TextA = None,
    text_b: opt.TextB = None,
    threads: opt.Threads = 1,
) -> None:
    """Repeat an artefact's verification against the PyTorch model and the model's own library.

    Exits 1 when a tolerance of its recipe is broken, 2 when the artefact is damaged or was made from other
    weights than --model holds.
    """
    from mobilebert_export.console import shown_steps
    from mobilebert_export.pipeline import verifier
    from mobilebert_export.pipeline.report_page import print_rows, verification_rows
    from mobilebert_matching.data.pairs import read_text_pairs

    opt.of_file("--pairs", pairs, {"--text-a": text_a, "--text-b": text_b})
    table = read_text_pairs(pairs, text_a, text_b) if pairs else None
    with shown_steps() as progress:
        result = verifier.verify(artefact, model, pairs=table, threads=threads, progress=progress)
    print_rows(f"{artefact} against PyTorch", verification_rows(result))
    result.require_passed(artefact)
