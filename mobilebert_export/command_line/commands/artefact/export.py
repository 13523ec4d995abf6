"""`mobilebert export`: a model directory becomes a verified artefact folder."""

import sys
from typing import Annotated

from typer import Option

from mobilebert_export.command_line import options as opt
from mobilebert_export.command_line.config_command import command_from
from mobilebert_export.pipeline.export_request import ExportRequest


def run(request: ExportRequest, push: str | None = None) -> None:
    """Write a verified TFLite or ONNX artefact folder.

    The artefact is run on real padded pairs in its own runtime and compared with the PyTorch model; beyond
    the recipe's tolerance the command exits 1 and leaves nothing under the final name.
    """
    request.recipe()  # what the options alone decide is refused before torch is imported, which takes seconds
    from mobilebert_export import library
    from mobilebert_export.console import shown_steps
    from mobilebert_export.pipeline.report_page import print_summary

    with shown_steps() as progress:
        result = library.export(**vars(request), progress=progress)
    print_summary(result.report, result.path)
    if push is not None:
        from mobilebert_export.shipping.push import push as upload

        sys.stdout.write(upload(result.path, push) + "\n")


# Headings of `mobilebert export --help`; what most exports need comes before them.
PANELS = {
    "What the model does": ("task", "texts", "positive"),
    "Lengths": ("seq_len", "buckets"),
    "Quantisation": ("word_bits", "calibration", "text_a", "text_b", "max_accuracy_drop", "pairs"),
    "Network": ("simplify", "kronecker"),
    "Verification and latency": ("verify_pairs", "atol", "measure", "threads"),
    "File": ("minimum_runtime", "opset", "sign"),
}
PUSH_HELP = "OWNER/NAME: upload the artefact to the Hugging Face hub."
export = command_from(
    ExportRequest,
    run,
    {"push": Annotated[str | None, Option(help=PUSH_HELP, rich_help_panel="File")]},
    PANELS,
    out=opt.ARTEFACT_FOLDER,
    model=opt.MODEL,
    task=opt.TASKS,
    texts=opt.TEXTS,
    target=opt.TARGETS,
    layout=opt.LAYOUTS,
    quant=opt.QUANTS,
    word_bits=opt.Number(2, 8),
    minimum_runtime=opt.TFLITE_RUNTIMES,
    seq_len=opt.TOKENS,
    calibration=opt.INPUT_FILE,
    max_accuracy_drop=opt.POINTS,
    pairs=opt.INPUT_FILE,
    verify_pairs=opt.Number(200, 20_000),
    atol=opt.ABOVE_ZERO,
    opset=opt.OPSETS,
    threads=opt.THREADS,
    kronecker=opt.FORMS,
    sign=opt.INPUT_FILE,
)
