"""A mixed recipe: the most harmful products stay in float until accuracy is within a budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mobilebert_export.verification.agreement import decisions
from mobilebert_export.verification.network_outputs import Encoded
from mobilebert_export.verification.verify import VerificationError
from mobilebert_matching.data.labelled_pairs import LabelledPairs, read_labelled
from mobilebert_runtime.card import MATCHING, ArtefactCard
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.matcher import Matcher

if TYPE_CHECKING:
    from torch import nn

    from mobilebert_quantize.product_audit import ProductLoss
    from mobilebert_quantize.recipes import Recipe

# Pairs that products are audited on; a pass over them per product.
AUDIT_PAIRS = 16


@dataclass(frozen=True)
class AccuracyGoal:
    """What quantising may cost, and on what."""

    labelled: LabelledPairs
    max_drop: float  # points


@dataclass(frozen=True)
class Budget:
    """What the budget cost, as recipe.json and report.json say it; accuracies in percent."""

    max_accuracy_drop: float  # points
    pairs: int
    float32_accuracy: float
    accuracy_before: float  # every product in integers
    accuracy: float
    kept_float: tuple[str, ...]  # products, the most harmful first
    products: int  # that could have been kept

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return asdict(self) | {"kept_float": list(self.kept_float)}


def read_goal(path: Path | None, allowed: float | None, card: ArtefactCard) -> AccuracyGoal | None:
    """The goal of a request with an accuracy budget, None of one without.

    Raises:
        OptionError: one of the two is missing, or they contradict the model.
        DataError: see `mobilebert_matching.data.labelled_pairs.read_labelled`.
    """
    if path is None and allowed is None:
        return None
    if path is None or allowed is None:
        raise OptionError("--max-accuracy-drop POINTS and --pairs LABELLED.tsv go together; give both")
    if not 0 <= allowed < 100:
        raise OptionError(f"--max-accuracy-drop {allowed}: expected points from 0 to below 100")
    if card.task != MATCHING:
        raise OptionError(f"--max-accuracy-drop: applies to matchers only; this model is for {card.task}")
    labelled = read_labelled(path)
    if labelled.labels.max() >= max(2, len(card.labels)):
        raise OptionError(
            f"{path}: has label {labelled.labels.max()}, the model knows 0 to {len(card.labels) - 1}"
        )
    return AccuracyGoal(labelled, allowed)


def meet_budget(
    plain: Path,
    folder: Path,
    quantise: Callable[[Collection[int]], None],
    worst_first: Callable[[], Sequence[ProductLoss]],
    goal: AccuracyGoal,
) -> Budget:
    """Quantise again, with ever more products in float, until the accuracy goal is met.

    Args:
        plain: the float artefact.
        folder: the quantised artefact, every product in integers.
        quantise: writes the quantised artefact anew with these products
            (`mobilebert_quantize.product_audit`) in float.
        worst_first: the products by falling harm, none where none can stay in float; asked only when
            something must go back.
        goal: the accuracy to keep.

    Raises:
        VerificationError: the budget is not met even with every product in float.
    """
    labelled, allowed = goal.labelled, goal.max_drop
    target = accuracy(plain, labelled)
    before = accuracy(folder, labelled)
    found = {0: before}
    if target - before <= allowed:
        return Budget(allowed, len(labelled.labels), target, before, before, (), 0)
    products = worst_first()
    if not products:
        raise VerificationError(
            f"accuracy on {len(labelled.labels)} pairs falls from {target:.2f}% to {before:.2f}%; "
            f"allowed are {allowed} points"
        )

    def meets(count: int) -> bool:
        quantise([product.number for product in products[:count]])
        found[count] = accuracy(folder, labelled)
        return target - found[count] <= allowed

    # Doubling finds a number that is enough, halving the interval then the smallest: few files are written.
    low, high = 0, 1
    while not meets(high):
        if high == len(products):
            raise VerificationError(
                f"accuracy on {len(labelled.labels)} pairs falls from {target:.2f}% to {found[high]:.2f}% "
                f"even with all {high} products in float; allowed are {allowed} points"
            )
        low, high = high, min(2 * high, len(products))
    written = high
    while high - low > 1:
        written = (low + high) // 2
        low, high = (low, written) if meets(written) else (written, high)
    if written != high:
        meets(high)
    names = tuple(f"{product.name} ({product.kind})" for product in products[:high])
    return Budget(allowed, len(labelled.labels), target, before, found[high], names, len(products))


def accuracy(folder: Path, labelled: LabelledPairs) -> float:
    """Percentage of pairs that an artefact labels correctly.

    Of one or two labels, label 1 of the pairs is a match, as for `evaluate`; of more it is the class.
    """
    matcher = Matcher.load(folder)
    card, labels = matcher.card, labelled.labels
    called = decisions(matcher.logits(labelled.pairs), card, card.shift(labelled.pairs))
    if len(card.labels) == 2:
        called, labels = called == card.positive, labels == 1
    return 100 * float((called == labels).mean())


def products_by_harm(
    network: nn.Module, widths: Sequence[int], calibration: Encoded, recipe: Recipe
) -> list[ProductLoss]:
    """The products of a network by falling harm, after checking that the file computes the same ones.

    None for a recipe without static ranges: its products can't be mixed with float.

    Args:
        network: that the float file was written from.
        widths: last axis of the result of each product in that file (`Target.product_widths`).
        calibration: encoded texts, int32 (N, S) by input name.
        recipe: how the artefact is quantised.

    Raises:
        OptionError: the file's products are not the network's.
    """
    if not recipe.static_ranges:
        return []
    from mobilebert_quantize.product_audit import audit_products

    step_size = max(1, len(calibration["input_ids"]) // AUDIT_PAIRS)
    some = {name: values[::step_size][:AUDIT_PAIRS] for name, values in calibration.items()}
    found = audit_products(network, some, recipe)
    if len(widths) != found.computed or any(widths[one.number] != one.width for one in found.products):
        raise OptionError(
            f"{type(network).__name__}: the converter reordered this network's products, so none can be "
            "kept in float; export without --max-accuracy-drop"
        )
    return found.worst_first()
