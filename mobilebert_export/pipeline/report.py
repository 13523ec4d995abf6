"""What an export did and found: report.json, and the recipe.json that says how an artefact was made."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from mobilebert_export import samples
from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_export.pipeline.exact_rewrites import Rewrites, Rewritten
from mobilebert_export.pipeline.plan import Plan
from mobilebert_export.pipeline.recipe_choice import Chosen, Rejected, Written
from mobilebert_export.pipeline.targets import Graph
from mobilebert_export.verification.accuracy_budget import Budget
from mobilebert_export.verification.library_answers import LibraryAgreement
from mobilebert_export.verification.verify import Verification
from mobilebert_quantize.product_noise import ProductForm
from mobilebert_quantize.recipes import Recipe
from mobilebert_runtime.files import write_json

if TYPE_CHECKING:
    from mobilebert_quantize.kronecker_lowering import LoweredLayer

# Packages whose version decides what the files look like.
_WRITERS = (
    "torch",
    "litert-torch",
    "ai-edge-quantizer",
    "ai-edge-litert",
    "onnx",
    "onnxscript",
    "onnxruntime",
)


@dataclass(frozen=True)
class Bytes:
    """Sizes."""

    model: int  # of the model file
    float32: int  # of the float file that it was quantised from
    folder: int


@dataclass(frozen=True)
class Latency:
    """The float and the quantised artefact, measured in turn in one run."""

    threads: int
    float32: dict[str, float]  # `android_bench.measuring.latency.Comparison.summary`
    quantised: dict[str, float]
    ratio: float  # time of the quantised one over that of the float one
    machine: dict[str, object]
    sessions: int
    troubled_sessions: int  # in which the machine was busy with something else


@dataclass(frozen=True)
class Report:
    """The content of report.json, part by part."""

    task: str
    target: str
    quant: str
    seq_len: int
    buckets: tuple[int, ...]
    model: dict[str, str]  # name and SHA-256 of the PyTorch weights
    recipe: str
    recipes_not_tried: tuple[Rejected, ...]
    recipes_tried: tuple[Rejected, ...]  # and not taken
    minimum_runtime: dict[str, str]
    verification: Verification
    bytes: Bytes
    graph: Graph
    float32_graph: Graph | None  # of the file that it was quantised from; None for a float export
    latency: Latency | None
    products: tuple[ProductForm, ...]  # empty where the recipe has no static ranges
    budget: Budget | None
    rewrites: Rewrites | None
    weight_rounding: dict[str, float] | None
    kronecker: tuple[LoweredLayer, ...]
    made_with: dict[str, str]
    library: LibraryAgreement | None  # with the model's own library; None for a network of this project
    not_read: tuple[str, ...]  # files and settings of the model directory that nobody knows

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "to_json"):
        return value.to_json()
    return asdict(value) if isinstance(value, Bytes | Latency) else value


def make_report(
    plan: Plan,
    rewritten: Rewritten,
    made: Chosen,
    plain: Path,
    folder: Path,
    latency: Latency | None,
    library: LibraryAgreement | None,
) -> Report:
    """The report of an export.

    Args:
        plan: what was to be done.
        rewritten: what was done to the network before it was converted.
        made: how it was quantised and how it compares with the PyTorch model.
        plain: folder of the float artefact; the same as `folder` for a float export.
        folder: of the artefact.
        latency: of both, where it was measured.
        library: how the float artefact compares with the model's own library.
    """
    card = plan.card
    path, source = folder / card.model_file, plain / card.model_file
    return Report(
        task=card.task,
        target=card.target,
        quant=card.quant,
        seq_len=card.seq_len,
        buckets=tuple(bucket.seq_len for bucket in card.buckets),
        model=plan.model.source,
        recipe=made.recipe.name,
        recipes_not_tried=plan.left_out,
        recipes_tried=made.rejected,
        minimum_runtime=made.recipe.minimum_runtime,
        verification=made.verification,
        bytes=Bytes(_size(path), _size(source), sum(map(_size, folder.iterdir()))),
        graph=plan.target.describe(path),
        float32_graph=plan.target.describe(source) if plain != folder else None,
        latency=latency,
        products=made.written.products,
        budget=made.written.budget,
        rewrites=rewritten.rewrites,
        weight_rounding=rewritten.rounding,
        kronecker=rewritten.kronecker,
        made_with={"python": platform.python_version()} | _versions(_WRITERS),
        library=library,
        not_read=plan.model.unread,
    )


def write_report(folder: Path, report: Report) -> None:
    """Write report.json and report.md into an artefact folder."""
    from mobilebert_export.pipeline.report_page import to_markdown

    write_json(folder / "report.json", report.to_json())
    (folder / "report.md").write_text(to_markdown(report), encoding="utf-8")


def write_recipe(
    folder: Path, plan: Plan, recipe: Recipe, made: Written, rejected: Sequence[Rejected] = ()
) -> None:
    """Write recipe.json: how the artefact was quantised, from what, and which recipes were not taken."""
    calibration = None
    if plan.calibration:
        calibration = {"pairs": len(plan.calibration["input_ids"]), "from": plan.calibration_source}
    write_json(
        folder / "recipe.json",
        {"recipe": recipe.to_json(), "model": plan.model.source, "calibration": calibration}
        | ({"budget": made.budget.to_json()} if made.budget else {})
        | ({"not_tried": _plain(plan.left_out)} if plan.left_out else {})
        | ({"tried": _plain(tuple(rejected))} if rejected else {})
        | ({} if plan.target.is_tflite else {"opset": plan.target.opset}),
    )
    write_checksums(folder)


def measure_pair(plain: Path, quantised: Path, threads: int) -> Latency:
    """Latency of the float and the quantised artefact, interleaved in one run."""
    from android_bench.measuring.latency import compare

    run = compare([plain, quantised], threads=threads, inputs=samples.verification_pairs()[:24])
    first, second = (candidate.name for candidate in run.candidates)
    return Latency(
        threads=threads,
        float32=run.summary(first),
        quantised=run.summary(second),
        ratio=run.ratio(first, second),
        machine=run.machine,
        sessions=len(run.sessions),
        troubled_sessions=len(run.troubles()),
    )


def _size(path: Path) -> int:
    return path.stat().st_size


def _versions(packages: Iterable[str]) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
