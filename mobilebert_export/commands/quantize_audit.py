"""`mobilebert quantize-audit`: which product of a network loses what in integers, as JSON and a picture."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def quantize_audit(
    matcher: Annotated[str, Argument(help="Model directory, artefact folder, or 'shipped'.")],
    out: Annotated[Path, Option(help="Folder for audit.json and audit.png; must not exist.")],
    model: Annotated[
        str | None, Option(help="Model directory an artefact was made from, unless from a shipped one.")
    ] = None,
    target: Annotated[str, Option(help="tflite or onnx; an artefact brings its own.")] = "tflite",
    quant: Annotated[str, Option(help="int8 or int16x8; an artefact brings its own.")] = "int8",
    pairs: Annotated[
        Path | None, Option(help="Text pairs that ranges and errors are measured on; default: bundled ones.")
    ] = None,
    text_a: Annotated[str | None, Option(help="Column of the first texts in --pairs.")] = None,
    text_b: Annotated[str | None, Option(help="Column of the second texts.")] = None,
    limit: Annotated[int, Option(min=16, help="Use so many pairs, spread over the file.")] = 32,
    seq_len: Annotated[int, Option(help="Tokens; longer pairs are truncated.")] = 128,
    force: Annotated[bool, Option("--force", help="Replace both files.")] = False,
) -> None:
    """Quantise one product of a network at a time and say what that does to the logits."""
    from rich.console import Console

    from mobilebert_export.audit_report import audit_matcher, print_audit, write_audit
    from mobilebert_export.console import progress_console, step
    from quantize.calibration_data import read_calibration

    texts = read_calibration(pairs, text_a, text_b) if pairs else None
    console = progress_console()
    with step(console, "Audit"):
        name, recipe, found = audit_matcher(
            matcher, model, f"{target}-{quant}", texts, limit=limit, seq_len=seq_len, out=out, force=force
        )
    write_audit(out, name, recipe, found, force=force)
    print_audit(found, Console())
