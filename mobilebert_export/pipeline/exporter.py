"""From a model directory to a verified artefact folder: plan → rewrite → write → verify → report.

Nothing is visible under the final name until every step has passed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mobilebert_export import samples
from mobilebert_export.console import Progress, quiet, silenced
from mobilebert_export.pipeline.artefact_folder import check_output, complete, new_folder, write_checksums
from mobilebert_export.pipeline.card import artefact_card
from mobilebert_export.pipeline.exact_rewrites import (
    PROOF_PAIRS,
    Rewritten,
    lower_kronecker,
    rewrite,
    rounded,
)
from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_export.pipeline.loading import load_model
from mobilebert_export.pipeline.own_library import check_from_text
from mobilebert_export.pipeline.plan import Plan
from mobilebert_export.pipeline.recipe_choice import Chosen, Written, choose, recipes_of
from mobilebert_export.pipeline.report import Report, make_report, measure_pair, write_recipe, write_report
from mobilebert_export.pipeline.targets import Target
from mobilebert_export.verification.accuracy_budget import meet_budget, products_by_harm, read_goal
from mobilebert_export.verification.artefact_check import ArtefactCheck
from mobilebert_export.verification.network_outputs import network_inputs
from mobilebert_export.verification.verify import Verification
from mobilebert_matching.data.pairs import read_text_pairs
from mobilebert_quantize.calibration_data import encode_calibration
from mobilebert_quantize.product_noise import ProductForm
from mobilebert_quantize.recipes import Recipe
from mobilebert_runtime.signature import sign

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class ExportResult:
    """An artefact that was written, and what was found out about it."""

    path: Path  # of the artefact folder
    report: Report  # the content of its report.json

    @property
    def recipe(self) -> str:
        """Name of the recipe that was taken, such as "tflite-int8-mixed"."""
        return self.report.recipe

    @property
    def verification(self) -> Verification:
        """How the artefact compares with the PyTorch model."""
        return self.report.verification


def export(request: ExportRequest, progress: Progress = quiet) -> ExportResult:
    """Resolve a request into a plan, reading and checking all that it names, and carry the plan out.

    Args:
        request: what is asked for.
        progress: told of each step.

    Raises:
        UserError: something is wrong in the request, the model directory or the calibration file; nothing
            was written.
        VerificationError: the artefact does not agree with the PyTorch model. The output folder is then as
            it was.
    """
    check_output(request.out, force=request.force)
    asked = request.recipe()
    progress("Load the PyTorch model")
    given = None
    if request.calibration is not None:
        given = read_text_pairs(request.calibration, request.text_a, request.text_b)
    model = load_model(request.model, task=request.task, texts=request.texts, positive=request.positive)
    card = artefact_card(model, asked, request.card_buckets(model.longest))
    goal = read_goal(request.pairs, request.max_accuracy_drop, card)
    recipes, left_out = recipes_of(model.network, asked, budget=goal is not None)
    calibration = None
    if asked.needs_calibration:
        texts = samples.calibration_texts(card.task, card.texts, given)
        calibration = encode_calibration(texts, model.tokenizer, card.seq_len, card.inputs)
    plan = Plan(
        out=request.out,
        force=request.force,
        target=Target(request.target, request.opset),
        model=model,
        card=card,
        recipe=asked,
        recipes=recipes,
        left_out=left_out,
        simplify=request.simplify,
        kronecker=request.kronecker,
        calibration=calibration,
        calibration_source=request.calibration.name if request.calibration else "bundled samples",
        goal=goal,
        texts=samples.verification_texts(card.task, card.texts),
        pairs=samples.generated_pairs(request.verify_pairs),
        threads=request.threads if request.measure and asked.quant != "none" else None,
        secret_key=request.sign,
    )
    return carry_out(plan, progress)


def carry_out(plan: Plan, progress: Progress) -> ExportResult:
    """The steps of an export.

    Raises:
        VerificationError: see `export`.
    """
    for one in plan.left_out:
        progress(f"  {one}")
    rewritten = rewrite_network(plan, progress)
    with new_folder(plan.out, force=plan.force) as folder, tempfile.TemporaryDirectory() as scratch:
        plain = folder if plan.recipe.quant == "none" else Path(scratch) / "float32"
        write_plain(plan, rewritten.network, plain, progress)
        library = check_from_text(plan.model, plain, progress, in_pytorch=rewritten.rounding is not None)
        if library is not None:
            library.require_passed(plan.out)
        made = write_verified(plan, rewritten.network, plain, folder, progress)
        latency = None
        if plan.threads is not None:
            progress("Measure float and quantised, interleaved")
            latency = measure_pair(plain, folder, plan.threads)
        progress("Report")
        with silenced():
            report = make_report(plan, rewritten, made, plain, folder, latency, library)
        write_report(folder, report)
        write_checksums(folder)
        sign(folder, plan.secret_key)
    return ExportResult(plan.out, report)


def rewrite_network(plan: Plan, progress: Progress) -> Rewritten:
    """The network to convert: Kronecker layers lowered, rewritten exactly with --simplify, rounded for int8.

    Raises:
        OptionError: --kronecker for a network that has no Kronecker layers.
        AlgebraError: a rewrite changed the function.
    """
    card, calibration = plan.card, plan.calibration
    lengths = [bucket.seq_len for bucket in card.buckets]
    done = lower_kronecker(plan.model.network, plan.kronecker, plan.recipe, lengths)
    if plan.simplify:
        progress("Rewrite exactly")
        proof = network_inputs(plan.texts[:PROOF_PAIRS], plan.model.tokenizer, card.seq_len, card.inputs)
        done = rewrite(done, plan.recipe, proof, calibration)
    # An accuracy budget puts products back to float, which then need the weights as they were trained.
    if plan.recipe.weights == "int8" and calibration is not None and plan.goal is None:
        progress("Round weights")
        done = rounded(done, plan.recipe, calibration)
    return done


def write_plain(plan: Plan, network: nn.Module, plain: Path, progress: Progress) -> None:
    """Write the float artefact into the folder `plain`, which is made."""
    plain.mkdir(exist_ok=True)
    outputs = tuple(plan.card.outputs(plan.card.seq_len))
    progress(f"Convert to float {plan.card.target}")
    with silenced():
        path = plain / plan.card.model_file
        plan.target.write_float(network, path, plan.card.buckets, outputs, plan.recipe)
    complete(plain, replace(plan.card, quant="none"), plan.model)


def write_verified(plan: Plan, network: nn.Module, plain: Path, folder: Path, progress: Progress) -> Chosen:
    """Write the quantised artefact by the fastest recipe that passes verification, and its recipe.json.

    Args:
        plan: of the export.
        network: that was converted.
        plain: folder of the float artefact; the same as `folder` for a float export.
        folder: of the artefact.
        progress: told of each step.

    Raises:
        VerificationError: no recipe passes.
    """
    comparison = ArtefactCheck(plan.model.network, plan.texts, plan.pairs, progress)

    def write(recipe: Recipe) -> Written:
        made = Written()
        if recipe.quant != "none":
            made = write_quantised(plan, recipe, network, plain, folder, progress)
        write_recipe(folder, plan, recipe, made)
        return made

    def check(recipe: Recipe) -> Verification:
        return comparison.check(folder, recipe.tolerance)

    chosen = choose(plan.recipes, write, check, plan.out, progress)
    if chosen.rejected:
        write_recipe(folder, plan, chosen.recipe, chosen.written, chosen.rejected)
    return chosen


def write_quantised(
    plan: Plan, recipe: Recipe, network: nn.Module, plain: Path, folder: Path, progress: Progress
) -> Written:
    """Quantise the float artefact by one recipe, within the accuracy budget where there is one."""
    card = replace(plan.card, minimum_runtime=recipe.minimum_runtime)
    source, path = plain / card.model_file, folder / card.model_file
    calibration = plan.calibration
    products: tuple[ProductForm, ...] = ()

    def quantise_all_but(kept: Collection[int] = ()) -> None:
        nonlocal products
        products = plan.target.quantise(source, path, recipe, calibration, kept)
        complete(folder, card, plan.model)

    progress(f"Quantise: {recipe.name}")
    with silenced():
        quantise_all_but()
    budget = None
    if plan.goal and calibration:
        progress(f"Accuracy on {len(plan.goal.labelled.pairs)} labelled pairs")
        with silenced():
            budget = meet_budget(
                plain,
                folder,
                quantise_all_but,
                lambda: products_by_harm(network, plan.target.product_widths(source), calibration, recipe),
                plan.goal,
            )
    return Written(products, budget)
