"""What a network goes through before conversion: Kronecker lowering, exact rewrites, ranges, rounding."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mobilebert_quantize.recipes import Recipe

if TYPE_CHECKING:
    from mobilebert_quantize.kronecker_lowering import LoweredLayer

Encoded = Mapping[str, NDArray[np.int32]]

# Pairs that every pass is proved on, in float64.
PROOF_PAIRS = 4


@dataclass(frozen=True)
class Rewritten:
    """The network to convert, and the `rewrites`, `kronecker` and `weight_rounding` parts of report.json."""

    network: Any
    report: dict[str, Any] | None
    kronecker: "Sequence[LoweredLayer]" = ()
    rounding: dict[str, float] | None = None


def lower_kronecker(
    network: Any, form: str, recipe: Recipe, lengths: Sequence[int]
) -> "tuple[Any, list[LoweredLayer]]":
    """`mobilebert_quantize.kronecker_lowering.lower` with the measured costs of the recipe's runtime."""
    from mobilebert_quantize.kronecker_costs import costs_of
    from mobilebert_quantize.kronecker_lowering import lower

    return lower(network, form, costs_of(recipe), lengths)


def rewrite(network: Any, recipe: Recipe, proof: Encoded, calibration: Encoded | None) -> Rewritten:
    """Simplify a network for conversion, as suits its recipe; with static 8-bit ranges also equalise it.

    Args:
        network: the trained pair classifier, which stays as it is.
        recipe: how the artefact will be quantised.
        proof: encoded pairs, int32 (N, S) by input name; the first `PROOF_PAIRS` prove every pass.
        calibration: encoded pairs that ranges are measured on, where the recipe needs them.

    Raises:
        AlgebraError: a rewrite changed the function.
    """
    from mobilebert_quantize.algebra import simplify
    from mobilebert_quantize.algebra.norms import INT8_SPREAD_LIMIT
    from mobilebert_quantize.algebra.work import count_work
    from mobilebert_quantize.equalisation import equalise

    seq_len = proof["input_ids"].shape[1]
    few = {name: values[:PROOF_PAIRS] for name, values in proof.items()}
    spread_limit = INT8_SPREAD_LIMIT if recipe.activation_bits == 8 else math.inf
    simplified = simplify(network, proof=few, spread_limit=spread_limit)
    work = {"before": count_work(network, seq_len), "after": count_work(simplified.network, seq_len)}
    report: dict[str, Any] = {
        "passes": [done.to_json() for done in simplified.passes],
        "work": {when: {"operators": found.operators, "macs": found.macs} for when, found in work.items()},
        "equalisation": None,
    }
    if calibration is None or not recipe.static_ranges or recipe.activation_bits != 8:
        return Rewritten(simplified.network, report)
    equalised = equalise(simplified.network, calibration)
    return Rewritten(equalised.network, report | {"equalisation": equalised.report})


def rounded(before: Rewritten, recipe: Recipe, calibration: Encoded) -> Rewritten:
    """The same with weights on the integer grid of a recipe that has int8 weights.

    Args:
        before: what was done to the network so far.
        recipe: how the artefact will be quantised.
        calibration: encoded texts, int32 (N, S) by input name.
    """
    from mobilebert_quantize.weight_rounding import round_weights

    keep = [
        name
        for name, _ in before.network.named_modules()
        if recipe.float_embedding_layer and name.endswith("embedding_transformation")
    ]
    done = round_weights(before.network, calibration, recipe.weight_bits, keep)
    return replace(before, network=done.network, rounding=done.report)
