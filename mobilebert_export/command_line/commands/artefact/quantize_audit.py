"""`mobilebert quantize-audit`: how much each product of a network loses in integers, as JSON and a plot."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt


def quantize_audit(
    matcher: Annotated[str, opt.MODEL, Argument(help="Model directory, artefact folder, or 'shipped'.")],
    out: Annotated[Path, opt.RUN_FOLDER, Option(help="Folder for audit.json and audit.png; must not exist.")],
    model: Annotated[
        str | None,
        opt.MODEL,
        Option(help="Model directory that the artefact was made from, unless it is a shipped one."),
    ] = None,
    target: Annotated[
        str, opt.TARGETS, Option(help="tflite or onnx; an artefact brings its own.")
    ] = "tflite",
    quant: Annotated[str, opt.QUANTS, Option(help="int8 or int16x8; an artefact brings its own.")] = "int8",
    pairs: Annotated[
        Path | None,
        opt.INPUT_FILE,
        Option(help="Text pairs that ranges and errors are measured on; default: bundled ones."),
    ] = None,
    text_a: opt.TextA = None,
    text_b: opt.TextB = None,
    limit: Annotated[int, opt.COUNT, Option(help="Use this many pairs, spread over the file.")] = 32,
    seq_len: Annotated[int, opt.TOKENS, Option(help="Tokens; longer pairs are truncated.")] = 128,
    force: opt.Force = False,
) -> None:
    """Quantise one product of a network at a time and show what that does to the logits."""
    from mobilebert_export.console import progress_console, step
    from mobilebert_export.evaluation.audit_report import audit_matcher, print_audit, write_audit
    from mobilebert_export.terminal import Terminal
    from mobilebert_matching.data.pairs import read_text_pairs

    texts = read_text_pairs(pairs, text_a, text_b) if pairs else None
    console = progress_console()
    with step(console, "Audit"):
        name, recipe, found = audit_matcher(
            matcher, model, f"{target}-{quant}", texts, limit=limit, seq_len=seq_len, out=out, force=force
        )
    write_audit(out, name, recipe, found, force=force)
    print_audit(found, Terminal())
