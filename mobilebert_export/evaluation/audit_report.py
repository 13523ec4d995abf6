"""The audit of a model directory or an artefact: where to find the network, and the audit as JSON and PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mobilebert_export import samples
from mobilebert_export.pipeline.loading import LoadedModel, load_model, load_source
from mobilebert_quantize.calibration_data import encode_calibration
from mobilebert_quantize.product_audit import ProductAudit, TensorLoss, audit_products
from mobilebert_quantize.recipes import Recipe, find_recipe
from mobilebert_runtime.card import CARD_FILE, CLASSIFICATION, check_checksums, read_card, read_recipe
from mobilebert_runtime.errors import OptionError, OutputError
from mobilebert_runtime.files import replacing, write_json
from mobilebert_runtime.tokenizer import Pair

if TYPE_CHECKING:
    from mobilebert_export.terminal import Terminal

FILES = ("audit.json", "audit.png")
# Bars of the picture: the products that do the most harm.
BARS = 40


def audit_matcher(
    matcher: str,
    model: str | None,
    recipe_name: str,
    texts: Sequence[Pair] | None,
    *,
    limit: int,
    seq_len: int,
    out: Path,
    force: bool,
) -> tuple[str, Recipe, ProductAudit]:
    """ProductAudit the network of a model directory, or the one that an artefact was made from.

    Args:
        matcher: "shipped", a model directory or an artefact folder.
        model: model directory of an artefact that was not made from "shipped".
        recipe_name: TARGET-QUANT, for a model directory; an artefact has its own.
        texts: pairs; the bundled calibration pairs when None.
        limit: how many of them, spread evenly.
        seq_len: tokens.
        out: folder that the audit will be written to.
        force: whether earlier files there may be replaced.

    Returns:
        The model's name, the recipe and the audit.

    Raises:
        OutputError: `out` can't be written.
        OptionError: a recipe without static ranges, or not the model that an artefact was made from.
        UserError: as `load_model` and `encode_calibration` raise.
    """
    check_free(out, force=force)
    target, _, quant = recipe_name.partition("-")
    made = None
    if (Path(matcher) / CARD_FILE).is_file():
        check_checksums(matcher)
        card, made = read_card(matcher), read_recipe(matcher)
        target, quant = card.target, card.quant
    recipe = find_recipe(target, quant)
    if not recipe.static_ranges:
        raise OptionError(f"{recipe.name} measures no ranges; audit int8 or int16x8")
    loaded = _load_classifier(matcher) if made is None else load_source(made, matcher, model)
    longest = loaded.config.max_tokens
    if not 8 <= seq_len <= longest:
        raise OptionError(f"--seq-len {seq_len}: this model takes 8 to {longest}")
    pairs = list(texts if texts is not None else samples.calibration_pairs())
    pairs = pairs[:: max(1, len(pairs) // limit)][:limit]
    encoded = encode_calibration(pairs, loaded.tokenizer, seq_len)
    return loaded.source["name"], recipe, audit_products(loaded.network, encoded, recipe)


def _load_classifier(matcher: str) -> LoadedModel:
    """A pair classifier; which of its classes means a match does not matter here."""
    import mobilebert_models

    known = (mobilebert_models.find_directory(matcher) / "matcher.json").is_file()
    return load_model(matcher) if known else load_model(matcher, task=CLASSIFICATION, texts=2)


def check_free(out: Path, *, force: bool) -> None:
    """Raise `OutputError` where the audit's files can't be written."""
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out}: is a file; give a folder")
    if not force and (there := [name for name in FILES if (out / name).exists()]):
        raise OutputError(f"{out / there[0]}: exists already; choose another --out or add --force")


def write_audit(out: Path, name: str, recipe: Recipe, found: ProductAudit, *, force: bool) -> None:
    """Write audit.json and audit.png into a folder, which is made where it is missing."""
    check_free(out, force=force)
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / FILES[0], {"model": name, "recipe": recipe.name} | found.to_json())
    with replacing(out / FILES[1], force=True) as partial:
        draw(found, f"{name}, {recipe.name}: one product in integers at a time", partial)


def draw(found: ProductAudit, title: str, out: Path) -> None:
    """A bar per product, the most harmful on top: rms Δlogit when it alone is quantised."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    worst = found.worst_first()[:BARS]
    figure, axis = plt.subplots(figsize=(9, 1.4 + 0.24 * len(worst)), layout="constrained")
    places = range(len(worst))
    axis.barh(places, [product.rms_logit for product in worst], color="#4878a8")
    axis.set_yticks(places, [f"{product.name} ({product.kind})" for product in worst], fontsize="small")
    axis.invert_yaxis()
    for place, product in zip(places, worst, strict=True):
        role, loss = weakest(product.tensors)
        note = f" {role} {loss:.0f} dB" if loss is not None else ""
        axis.annotate(note, (product.rms_logit, place), va="center", fontsize="x-small", color="#555555")
    axis.margins(x=0.16)
    axis.set_xlabel(f"rms Δlogit over {found.pairs} pairs; all at once: {found.rms_logit:.3g}")
    axis.set_title(title)
    figure.savefig(out, dpi=130, format="png")
    plt.close(figure)


def weakest(tensors: Sequence[TensorLoss]) -> tuple[str, float | None]:
    """Role and SQNR of a product's tensor that loses most."""
    worst = min(tensors, key=lambda tensor: float("inf") if tensor.sqnr_db is None else tensor.sqnr_db)
    return worst.role, worst.sqnr_db


def print_audit(found: ProductAudit, console: Terminal) -> None:
    """The ten most harmful products as a table."""
    from rich.table import Table

    table = Table("product", "kind", "rms Δlogit", "labels moved", "weakest tensor")
    table.title = f"all {len(found.products)} at once: rms Δlogit {found.rms_logit:.4f}"
    for product in found.worst_first()[:10]:
        role, loss = weakest(product.tensors)
        weak = f"{role}, {loss:.1f} dB" if loss is not None else "exact"
        changes = f"{100 * product.label_changes:.1f}%"
        table.add_row(product.name, product.kind, f"{product.rms_logit:.4f}", changes, weak)
    console.print(table)
