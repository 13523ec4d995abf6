"""`mobilebert verify`: the comparison with the PyTorch model, again."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def verify(
    *,
    artefact: Annotated[Path, Argument(help="Artefact folder.")],
    model: Annotated[
        str | None, Option(help="Model directory or name; needed unless a shipped matcher was exported.")
    ] = None,
    pairs: Annotated[
        Path | None, Option(help="TSV of at least 200 pairs; default: the bundled samples.")
    ] = None,
    text_a: Annotated[str | None, Option(help="Column of the first texts in --pairs.")] = None,
    text_b: Annotated[str | None, Option(help="Column of the second texts.")] = None,
    threads: Annotated[int, Option(help="CPU threads of the runtime.")] = 1,
) -> None:
    """Repeat an artefact's verification against the PyTorch model.

    Exits 1 when a tolerance of its recipe is broken, 2 when the artefact is damaged or was made from other
    weights than --model holds.
    """
    from matching.data.pairs import read_pairs
    from mobilebert_export.console import progress_console
    from mobilebert_export.export_report import print_rows, verification_rows
    from mobilebert_export.exporter import require_passed, verify_artefact

    table = read_pairs(pairs, text_a, text_b).pairs if pairs else None
    result = verify_artefact(artefact, model, table, threads, progress_console())
    print_rows(f"{artefact} against PyTorch", verification_rows({"verification": result.to_json()}))
    require_passed(result, artefact)
