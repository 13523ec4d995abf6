"""From a model directory to a verified artefact folder: load → rewrite → write → verify.

Nothing is visible under the final name until every step has passed.
"""

import tempfile
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from matching.data.labelled_pairs import LabelledPairs
from matching.data.pairs import read_texts
from mobilebert_export import samples
from mobilebert_export.accuracy_budget import Budget, meet_budget, products_by_harm, read_budget_pairs
from mobilebert_export.artefact_folder import check_output, new_folder, write_checksums
from mobilebert_export.console import silenced, step
from mobilebert_export.exact_rewrites import PROOF_PAIRS, Rewritten, lower_kronecker, rewrite
from mobilebert_export.export_report import write_report
from mobilebert_export.export_request import ExportRequest
from mobilebert_export.loading import LoadedModel, artefact_card, load_model
from mobilebert_export.verification import require_passed, verify
from mobilebert_export.writing import complete, quantise, write_float
from mobilebert_runtime.card import ArtefactCard
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.signature import sign
from quantize.calibration_data import encode_calibration
from quantize.recipes import Recipe


@dataclass(frozen=True)
class ExportInputs:
    """All that an export reads, checked against the request before anything is written."""

    recipe: Recipe
    model: LoadedModel
    card: ArtefactCard
    calibration: dict[str, NDArray[np.int32]] | None  # (N, S) by input name, where the recipe has ranges
    labelled: LabelledPairs | None  # where there is an accuracy budget


def export(request: ExportRequest, console: Console) -> dict[str, Any]:
    """Carry out a request and return the report (the content of report.json).

    Raises:
        UserError: something is wrong in the request, the model directory or the calibration file; nothing
            was written.
        VerificationError: the artefact does not agree with the PyTorch model. The output folder is then as
            it was.
    """
    check_output(request.out, force=request.force)
    recipe = request.recipe()
    with step(console, "Load the PyTorch model"):
        inputs = read_inputs(request, recipe)
    model, card = inputs.model, inputs.card
    rewritten = rewrite_network(request, inputs, console)
    with new_folder(request.out, force=request.force) as folder, tempfile.TemporaryDirectory() as scratch:
        plain = folder if recipe.quant == "none" else Path(scratch) / "float32"
        budget = write_artefact(request, inputs, rewritten.network, plain, folder, console)
        checked = samples.verification_pairs()
        with step(console, f"Compare with PyTorch on {len(checked)} pairs"), silenced():
            result = verify(model.network, Matcher.load(folder), checked, recipe.tolerance)
        require_passed(result, request.out)
        latency = None
        if request.measure and plain is not folder:
            with step(console, "Measure float and quantised, interleaved"):
                latency = measure_pair(plain, folder, request.threads)
        with step(console, "Report"), silenced():
            report = write_report(
                folder,
                plain,
                card=card,
                recipe=recipe,
                model=model.source,
                result=result,
                latency=latency,
                budget=budget,
                rewrites=rewritten.report,
                kronecker=rewritten.kronecker,
            )
        write_checksums(folder)
        sign(folder, request.sign)
    return report


def read_inputs(request: ExportRequest, recipe: Recipe) -> ExportInputs:
    """Load the model and encode the calibration pairs; a `UserError` where they do not fit the request."""
    pairs = samples.calibration_pairs()
    if request.calibration is not None:
        pairs = read_texts(request.calibration, request.text_a, request.text_b)
    model = load_model(request.model)
    card = artefact_card(request, model, recipe)
    labelled = read_budget_pairs(request.pairs, request.max_accuracy_drop, card)
    encoded = None
    if recipe.needs_calibration:
        encoded = encode_calibration(pairs, model.tokenizer, request.seq_len)
    return ExportInputs(recipe, model, card, encoded, labelled)


def rewrite_network(request: ExportRequest, inputs: ExportInputs, console: Console) -> Rewritten:
    """The network to convert: Kronecker layers lowered and, with --simplify, rewritten exactly.

    Raises:
        OptionError: --kronecker for a network that has no Kronecker layers.
        AlgebraError: a rewrite changed the function.
    """
    lengths = [bucket.seq_len for bucket in inputs.card.buckets]
    lowered, layers = lower_kronecker(inputs.model.network, request.kronecker, inputs.recipe, lengths)
    if request.kronecker != "auto" and not layers:
        raise OptionError(f"--kronecker {request.kronecker}: {request.model} has no Kronecker layers")
    if not request.simplify:
        return Rewritten(lowered, None, layers)
    with step(console, "Rewrite exactly"):
        proof = inputs.model.tokenizer.encode(samples.verification_pairs()[:PROOF_PAIRS], request.seq_len)
        return replace(rewrite(lowered, inputs.recipe, proof, inputs.calibration), kronecker=layers)


def write_artefact(
    request: ExportRequest, inputs: ExportInputs, network: Any, plain: Path, folder: Path, console: Console
) -> Budget | None:
    """Write the float artefact, the quantised one, and recipe.json.

    Args:
        request: what was asked for.
        inputs: what it works on.
        network: to convert, from `rewrite_network`.
        plain: folder of the float artefact; `folder` itself for a float export.
        folder: of the artefact.
        console: for the steps.

    Returns:
        What an accuracy budget cost; None where none was asked for.
    """
    recipe, model, card, calibration = inputs.recipe, inputs.model, inputs.card, inputs.calibration
    plain.mkdir(exist_ok=True)
    with step(console, f"Convert to float {request.target}"), silenced():
        write_float(network, plain / card.model_file, request, card.buckets)
    complete(plain, replace(card, quant="none"), model)
    budget = None
    if recipe.quant != "none":

        def write_quantised(keep_float: Collection[int] = ()) -> None:
            quantise(plain / card.model_file, folder / card.model_file, recipe, calibration, keep_float)
            complete(folder, card, model)

        with step(console, f"Quantise: {recipe.name}"), silenced():
            write_quantised()
        if inputs.labelled and calibration and request.max_accuracy_drop is not None:
            with step(console, f"Accuracy on {len(inputs.labelled.pairs)} labelled pairs"), silenced():
                budget = meet_budget(
                    plain,
                    folder,
                    write_quantised,
                    lambda: products_by_harm(network, plain / card.model_file, calibration, recipe),
                    inputs.labelled,
                    request.max_accuracy_drop,
                )
    source = None
    if calibration:
        name = request.calibration.name if request.calibration else "bundled samples"
        source = {"pairs": len(calibration["input_ids"]), "from": name}
    write_json(
        folder / "recipe.json",
        {"recipe": recipe.to_json(), "model": model.source, "calibration": source}
        | ({"budget": budget.to_json()} if budget else {})
        | ({"opset": request.opset} if request.target == "onnx" else {}),
    )
    write_checksums(folder)
    return budget


def measure_pair(plain: Path, quantised: Path, threads: int) -> dict[str, Any]:
    """Latency of the float and the quantised artefact, interleaved in one run: ms, and their ratio."""
    from android_bench.latency import compare

    run = compare([plain, quantised], threads=threads, inputs=samples.verification_pairs()[:24])
    first, second = (candidate.name for candidate in run.candidates)
    return {
        "threads": threads,
        "float32": run.summary(first),
        "quantised": run.summary(second),
        "ratio": run.ratio(first, second),
        "machine": run.machine,
        "sessions": len(run.sessions),
        "troubled_sessions": len(run.troubles()),
    }
