"""Chooses the recipe of an artefact: the fastest that passes verification with a margin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mobilebert_export.console import Progress
from mobilebert_export.verification.accuracy_budget import Budget
from mobilebert_export.verification.verify import Verification, VerificationError
from mobilebert_quantize.product_noise import ProductForm
from mobilebert_quantize.recipes import Recipe, recipes_to_try
from mobilebert_runtime.errors import OptionError

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Written:
    """What quantising by one recipe made.

    Attributes:
        products: how each product is computed; empty where the recipe has no static ranges.
        budget: what an accuracy budget cost; None where none was asked for.
    """

    products: tuple[ProductForm, ...] = ()
    budget: Budget | None = None


@dataclass(frozen=True)
class Rejected:
    """A rejected recipe and the reason: a broken limit, too little margin, or a budget it could not keep."""

    recipe: str
    failures: tuple[str, ...]
    outcome: str = "does not pass"

    def __str__(self) -> str:
        """As a line for the user."""
        return f"{self.recipe} {self.outcome}: {'; '.join(self.failures)}"

    def to_json(self) -> dict[str, object]:
        """Plain data for recipe.json and report.json."""
        return asdict(self) | {"failures": list(self.failures)}


@dataclass(frozen=True)
class Chosen:
    """The recipe that passed, what comparing its artefact found, and the other recipes that were tried."""

    recipe: Recipe
    written: Written
    verification: Verification
    rejected: tuple[Rejected, ...]


def recipes_of(
    network: nn.Module, asked: Recipe, *, budget: bool
) -> tuple[tuple[Recipe, ...], tuple[Rejected, ...]]:
    """The recipes to try for a network, the fastest first, and those that are not tried, with the reason.

    A network with four-bit weights is tried only with recipes whose files keep them in four bits, where what
    was asked for has any (decision 026). Under an accuracy budget all are tried: only with static ranges can
    products go back to float. One with LayerNorm is not tried with dynamic ranges among static ones: its
    results are as wide before sums as elsewhere, and a file of dynamic ranges is not slower (decision 030).
    Nor is an embedding matcher tried with static ranges, unless these were asked for by name: such a TFLite
    file has no packed graph to rank candidates with, and is as fast (.98 of the time, measured).

    Args:
        network: to convert.
        asked: the recipe of the request.
        budget: whether there is an accuracy budget.

    Raises:
        OptionError: word embeddings are asked for as codes, and the network has no table to code.
    """
    from torch import nn

    from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher
    from mobilebert_models.weights.four_bit import four_bit_layers

    _check_word_bits(network, asked.word_bits)
    layers = len(four_bit_layers(network))
    every = recipes_to_try(asked)
    keeping = recipes_to_try(asked, keep_four_bits=layers > 0 and not budget)
    layer_norm = any(isinstance(part, nn.LayerNorm) for part in network.modules())
    packs = isinstance(network, EmbeddingMatcher) and asked.target == "tflite" and len(every) > 1
    reasons: dict[str, str] = {}
    for one in every:
        if one not in keeping:
            held = f"the four-bit weights of {layers} linear layers"
            reasons[one.name] = f"its file would hold {held} in eight bits"
        elif one.dynamic_into_sums and layer_norm:
            reasons[one.name] = "the network has LayerNorm, and with it a file of dynamic ranges is as fast"
        elif one.static_ranges and packs and not budget:
            reasons[one.name] = (
                "a file of static ranges has no packed graph, which ranks candidates in one run"
            )
    left_out = (Rejected(name, (why,), "is not tried") for name, why in reasons.items())
    return tuple(one for one in every if one.name not in reasons), tuple(left_out)


def _check_word_bits(network: nn.Module, bits: int) -> None:
    from torch import nn

    from mobilebert_models.weights.word_codes import SMALLEST_TABLE, can_be_coded, group_size

    tables = [part.weight for part in network.modules() if isinstance(part, nn.Embedding)]
    if bits != Recipe.word_bits and not any(can_be_coded(table, bits) for table in tables):
        raise OptionError(
            f"--word-bits {bits}: the model has no embedding table of {SMALLEST_TABLE:,} rows or more "
            f"whose columns divide by {group_size(bits)}; leave the option out"
        )


def choose(
    recipes: Sequence[Recipe],
    write: Callable[[Recipe], Written],
    check: Callable[[Recipe], Verification],
    where: Path,
    progress: Progress,
) -> Chosen:
    """Try recipes from the fastest on and take the first that passes with a margin.

    If none has a margin, the one that changes the fewest decisions is taken, of equal ones the faster; layers
    in float, which cost time and bytes, are for networks that nothing else passes with.

    Args:
        recipes: what was asked for and what may stand in for it, from `recipes_to_try`.
        write: makes the artefact by a recipe, over the one before.
        check: compares it with the PyTorch model.
        where: the artefact's folder, for messages.
        progress: told of each recipe that is not taken.

    Raises:
        VerificationError: none passes; it names each with its failures.
    """
    rejected: list[Rejected] = []
    passed: Chosen | None = None
    compared = ""
    for recipe in recipes:
        if passed and recipe.keeps_noisy_layers_float:
            break
        try:
            written = write(recipe)
        except VerificationError as error:  # an accuracy budget that this recipe can't meet
            rejected.append(Rejected(recipe.name, (str(error),)))
        else:
            found = check(recipe)
            compared = f"{found.pairs} {found.of}"
            if found.failures:
                rejected.append(Rejected(recipe.name, found.failures))
            else:
                made = Chosen(recipe, written, found, tuple(rejected))
                if not found.thin:
                    return made
                if passed is None or found.changed_share < passed.verification.changed_share:
                    passed = made
                rejected.append(Rejected(recipe.name, found.thin, "passes with little margin"))
        if recipe is not recipes[-1]:
            progress(f"  {rejected[-1]}")
    if passed:
        others = tuple(one for one in rejected if one.recipe != passed.recipe.name)
        if others != passed.rejected:  # another recipe has written over it
            progress(f"  {passed.recipe.name} is used: no other leaves more margin")
            passed = replace(passed, written=write(passed.recipe))
        return replace(passed, rejected=others)
    if len(rejected) == 1 and not compared:
        raise VerificationError(f"{where}: {rejected[0].failures[0]}")
    reasons = [
        "; ".join(one.failures) if len(rejected) == 1 else f"{one.recipe}: {'; '.join(one.failures)}"
        for one in rejected
    ]
    raise VerificationError(f"{where}: differs from the PyTorch model on {compared}: {' | '.join(reasons)}")
