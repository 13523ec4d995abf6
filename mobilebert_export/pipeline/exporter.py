"""From a model directory to a verified artefact folder: load → rewrite → write → verify.

Nothing is visible under the final name until every step has passed.
"""

import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from mobilebert_export import samples
from mobilebert_export.console import silenced, step
from mobilebert_export.pipeline.artefact_folder import check_output, new_folder, write_checksums
from mobilebert_export.pipeline.exact_rewrites import (
    PROOF_PAIRS,
    Rewritten,
    lower_kronecker,
    rewrite,
    rounded,
)
from mobilebert_export.pipeline.export_report import write_report
from mobilebert_export.pipeline.export_request import DEFAULT_WORD_BITS, ExportRequest
from mobilebert_export.pipeline.loading import LoadedModel, artefact_card, load_model
from mobilebert_export.pipeline.model_files import complete, quantise, write_float
from mobilebert_export.pipeline.recipe_choice import Chosen, Rejected, Written, choose, recipes_of
from mobilebert_export.verification.accuracy_budget import (
    meet_budget,
    products_by_harm,
    read_budget_pairs,
)
from mobilebert_export.verification.artefact_check import ArtefactCheck, Checked
from mobilebert_export.verification.network_outputs import Text, network_inputs
from mobilebert_matching.data.labelled_pairs import LabelledPairs
from mobilebert_matching.data.pairs import read_texts
from mobilebert_quantize.calibration_data import encode_calibration
from mobilebert_quantize.product_noise import ProductForm
from mobilebert_quantize.recipes import Recipe
from mobilebert_runtime.card import ArtefactCard
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from mobilebert_runtime.signature import sign
from mobilebert_runtime.tokenizer import Pair


@dataclass(frozen=True)
class ExportInputs:
    """All that an export reads, checked against the request before anything is written."""

    asked: Recipe  # what the network is rewritten for
    recipes: tuple[Recipe, ...]  # to try, the fastest first
    left_out: tuple[Rejected, ...]  # recipes that do not suit the network
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
    for one in inputs.left_out:
        console.print(f"{one.recipe} {one.outcome}: {'; '.join(one.failures)}")
    rewritten = rewrite_network(request, inputs, console)
    with new_folder(request.out, force=request.force) as folder, tempfile.TemporaryDirectory() as scratch:
        plain = folder if recipe.quant == "none" else Path(scratch) / "float32"
        write_plain(request, inputs, rewritten.network, plain, console)
        made = write_verified(request, inputs, rewritten.network, plain, folder, console)
        card = replace(inputs.card, minimum_runtime=made.recipe.minimum_runtime)
        latency = None
        if request.measure and plain is not folder:
            with step(console, "Measure float and quantised, interleaved"):
                latency = measure_pair(plain, folder, request.threads)
        with step(console, "Report"), silenced():
            report = write_report(
                folder,
                plain,
                card=card,
                model=inputs.model.source,
                made=made,
                left_out=inputs.left_out,
                latency=latency,
                rewrites=rewritten.report,
                kronecker=rewritten.kronecker,
                rounding=rewritten.rounding,
            )
        write_checksums(folder)
        sign(folder, request.sign)
    return report


def read_inputs(request: ExportRequest, asked: Recipe) -> ExportInputs:
    """Load the model and encode the calibration pairs; a `UserError` where they do not fit the request."""
    given = None
    if request.calibration is not None:
        given = read_texts(request.calibration, request.text_a, request.text_b)
    model = load_model(request.model, task=request.task, texts=request.texts, positive=request.positive)
    check_word_bits(request, model.network)
    card = artefact_card(request, model, asked)
    labelled = read_budget_pairs(request.pairs, request.max_accuracy_drop, card)
    recipes, left_out = recipes_of(model.network, asked, budget=labelled is not None)
    encoded = None
    if asked.needs_calibration:
        texts = calibration_texts(given, card)
        encoded = encode_calibration(texts, model.tokenizer, card.seq_len, card.inputs)
    return ExportInputs(asked, recipes, left_out, model, card, encoded, labelled)


def check_word_bits(request: ExportRequest, network: Any) -> None:
    """An `OptionError` where --word-bits asks for codes and the network has no table to code."""
    from torch import nn

    from mobilebert_models.weights.word_codes import SMALLEST_TABLE, can_be_coded, group_size

    bits = request.word_bits
    tables = [part.weight for part in network.modules() if isinstance(part, nn.Embedding)]
    if bits != DEFAULT_WORD_BITS and not any(can_be_coded(table, bits) for table in tables):
        raise OptionError(
            f"--word-bits {bits}: {request.model} has no embedding table of {SMALLEST_TABLE:,} rows or more "
            f"whose columns divide by {group_size(bits)}; leave the option away"
        )


def calibration_texts(given: list[Pair] | None, card: ArtefactCard) -> Sequence[Text]:
    """The user's pairs or the bundled ones; both texts of each where an input is one text."""
    if given is None:
        return samples.calibration_texts(card.task, card.texts)
    return given if card.texts == 2 else [text for pair in given for text in pair]


def rewrite_network(request: ExportRequest, inputs: ExportInputs, console: Console) -> Rewritten:
    """The network to convert: Kronecker layers lowered, rewritten exactly with --simplify, rounded for int8.

    Raises:
        OptionError: --kronecker for a network that has no Kronecker layers.
        AlgebraError: a rewrite changed the function.
    """
    lengths = [bucket.seq_len for bucket in inputs.card.buckets]
    lowered, layers = lower_kronecker(inputs.model.network, request.kronecker, inputs.asked, lengths)
    if request.kronecker != "auto" and not layers:
        raise OptionError(f"--kronecker {request.kronecker}: {request.model} has no Kronecker layers")
    done = Rewritten(lowered, None)
    if request.simplify:
        with step(console, "Rewrite exactly"):
            texts = samples.verification_texts(inputs.card.task, inputs.card.texts)[:PROOF_PAIRS]
            proof = network_inputs(texts, inputs.model.tokenizer, inputs.card.seq_len, inputs.card.inputs)
            done = rewrite(lowered, inputs.asked, proof, inputs.calibration)
    # An accuracy budget puts products back to float, which then need the weights as they were trained.
    if inputs.asked.weights == "int8" and inputs.calibration is not None and inputs.labelled is None:
        with step(console, "Round weights"):
            done = rounded(done, inputs.asked, inputs.calibration)
    return replace(done, kronecker=layers)


def write_plain(
    request: ExportRequest, inputs: ExportInputs, network: Any, plain: Path, console: Console
) -> None:
    """Write the float artefact.

    Args:
        request: what was asked for.
        inputs: what it works on.
        network: to convert, from `rewrite_network`.
        plain: folder of the float artefact; the artefact's own for a float export.
        console: for the step.
    """
    plain.mkdir(exist_ok=True)
    outputs = tuple(inputs.card.outputs(inputs.card.seq_len))
    with step(console, f"Convert to float {request.target}"), silenced():
        write_float(network, plain / inputs.card.model_file, request, inputs.card.buckets, outputs)
    complete(plain, replace(inputs.card, quant="none"), inputs.model)


def write_verified(
    request: ExportRequest, inputs: ExportInputs, network: Any, plain: Path, folder: Path, console: Console
) -> Chosen:
    """Write the quantised artefact by the fastest recipe that passes verification, and its recipe.json.

    Arguments as those of `write_plain`; `folder` is the artefact's.

    Raises:
        VerificationError: no recipe passes.
    """
    checked = samples.verification_texts(inputs.card.task, inputs.card.texts)

    def write(recipe: Recipe) -> Written:
        made = Written()
        if recipe.quant != "none":
            made = write_quantised(recipe, request, inputs, network, plain, folder, console)
        write_recipe(folder, recipe, request, inputs, made)
        return made

    counted = samples.generated_pairs(request.verify_pairs)
    comparison = ArtefactCheck(inputs.model.network, checked, counted, console)

    def check(recipe: Recipe) -> Checked:
        return comparison.check(folder, recipe.tolerance)

    chosen = choose(inputs.recipes, write, check, request.out, console)
    if chosen.rejected:
        write_recipe(folder, chosen.recipe, request, inputs, chosen.written, chosen.rejected)
    return chosen


def write_quantised(
    recipe: Recipe,
    request: ExportRequest,
    inputs: ExportInputs,
    network: Any,
    plain: Path,
    folder: Path,
    console: Console,
) -> Written:
    """Quantise the float artefact by one recipe, within the accuracy budget where there is one."""
    card = replace(inputs.card, minimum_runtime=recipe.minimum_runtime)
    products: tuple[ProductForm, ...] = ()

    def quantise_all_but(keep_float: Collection[int] = ()) -> None:
        nonlocal products
        source, target = plain / card.model_file, folder / card.model_file
        products = quantise(source, target, recipe, inputs.calibration, keep_float)
        complete(folder, card, inputs.model)

    with step(console, f"Quantise: {recipe.name}"), silenced():
        quantise_all_but()
    budget = None
    calibration, labelled = inputs.calibration, inputs.labelled
    if labelled and calibration and request.max_accuracy_drop is not None:
        with step(console, f"Accuracy on {len(labelled.pairs)} labelled pairs"), silenced():
            budget = meet_budget(
                plain,
                folder,
                quantise_all_but,
                lambda: products_by_harm(network, plain / card.model_file, calibration, recipe),
                labelled,
                request.max_accuracy_drop,
            )
    return Written(products, budget)


def write_recipe(
    folder: Path,
    recipe: Recipe,
    request: ExportRequest,
    inputs: ExportInputs,
    made: Written,
    rejected: tuple[Rejected, ...] = (),
) -> None:
    """Write recipe.json: how the artefact was quantised, from what, and which recipes were not taken."""
    source = None
    if inputs.calibration:
        name = request.calibration.name if request.calibration else "bundled samples"
        source = {"pairs": len(inputs.calibration["input_ids"]), "from": name}
    write_json(
        folder / "recipe.json",
        {"recipe": recipe.to_json(), "model": inputs.model.source, "calibration": source}
        | ({"budget": made.budget.to_json()} if made.budget else {})
        | ({"not_tried": [one.to_json() for one in inputs.left_out]} if inputs.left_out else {})
        | ({"tried": [one.to_json() for one in rejected]} if rejected else {})
        | ({"opset": request.opset} if request.target == "onnx" else {}),
    )
    write_checksums(folder)


def measure_pair(plain: Path, quantised: Path, threads: int) -> dict[str, Any]:
    """Latency of the float and the quantised artefact, interleaved in one run: ms, and their ratio."""
    from android_bench.measuring.latency import compare

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
