"""`mobilebert export`: a model directory becomes a verified artefact folder."""

from pathlib import Path
from typing import Annotated

from typer import Option

from mobilebert_export import options as opt


def export(
    *,
    out: Annotated[Path, opt.ARTEFACT_FOLDER, Option(help="Artefact folder to make; must not exist.")],
    model: Annotated[str, opt.MODEL, Option(help="Model directory, or 'shipped'.")] = "shipped",
    target: Annotated[str, opt.TARGETS, Option(help="tflite or onnx.")] = "tflite",
    quant: Annotated[
        str, opt.QUANTS, Option(help="none, dynamic, int8 or int16x8 (the last two static, calibrated).")
    ] = "int8",
    seq_len: Annotated[
        int, opt.TOKENS, Option(help="Tokens; longer pairs are truncated, shorter ones padded.")
    ] = 128,
    buckets: Annotated[
        str | None,
        Option(
            help="Sequence lengths up to --seq-len; a pair runs in the smallest that holds it. [16,32,64,128]"
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        opt.INPUT_FILE,
        Option(help="TSV of text pairs for int8 ranges; default: the bundled samples."),
    ] = None,
    max_accuracy_drop: Annotated[
        float | None,
        opt.POINTS,
        Option(help="Points that quantising may cost on --pairs; products go back to float until it holds."),
    ] = None,
    pairs: Annotated[
        Path | None, opt.INPUT_FILE, Option(help="Labelled pairs for --max-accuracy-drop.")
    ] = None,
    text_a: opt.TextA = None,
    text_b: opt.TextB = None,
    atol: Annotated[
        float | None, opt.ABOVE_ZERO, Option(help="Largest |Δlogit| against PyTorch; default: the recipe's.")
    ] = None,
    opset: Annotated[int, opt.OPSETS, Option(help="ONNX operator set, 18 to 20.")] = 20,
    threads: opt.Threads = 1,
    measure: Annotated[bool, Option(help="Measure the latency of the float and the quantised file.")] = True,
    simplify: Annotated[
        bool, Option(help="Exact rewrites before conversion; for int8 also equalised ranges.")
    ] = True,
    kronecker: Annotated[
        str,
        opt.FORMS,
        Option(help="Kronecker layers: factored, materialised, or auto: whatever is faster, layer by layer."),
    ] = "auto",
    sign: Annotated[
        Path | None, opt.INPUT_FILE, Option(help="Sign with this minisign key, made by `minisign -G -W`.")
    ] = None,
    force: opt.Force = False,
) -> None:
    """Write a verified TFLite or ONNX artefact folder.

    The artefact is run on real padded pairs in its own runtime and compared with the PyTorch model; beyond
    the recipe's tolerance the command exits 1 and leaves nothing under the final name.
    """
    from mobilebert_export.console import progress_console
    from mobilebert_export.export_report import print_summary
    from mobilebert_export.exporter import ExportRequest, parse_buckets
    from mobilebert_export.exporter import export as run

    request = ExportRequest(
        out=out,
        model=model,
        target=target,
        quant=quant,
        seq_len=seq_len,
        buckets=parse_buckets(buckets) if buckets is not None else None,
        calibration=calibration,
        max_accuracy_drop=max_accuracy_drop,
        pairs=pairs,
        text_a=text_a,
        text_b=text_b,
        atol=atol,
        opset=opset,
        force=force,
        simplify=simplify,
        kronecker=kronecker,
        threads=threads,
        measure=measure,
        sign=sign,
    )
    report = run(request, progress_console())
    print_summary(report, out)
