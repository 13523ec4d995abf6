"""Prepares a network for conversion: Kronecker lowering, exact rewrites, ranges, rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from mobilebert_export.verification.network_outputs import Encoded
from mobilebert_quantize.recipes import Recipe
from mobilebert_runtime.errors import OptionError

if TYPE_CHECKING:
    from torch import nn

    from mobilebert_quantize.algebra.simplify import PassReport
    from mobilebert_quantize.algebra.work import Work
    from mobilebert_quantize.kronecker_lowering import LoweredLayer

# Pairs that every pass is proved on, in float64.
PROOF_PAIRS = 4


@dataclass(frozen=True)
class Rewrites:
    """The exact passes, what they save, and what equalising does: the `rewrites` part of report.json."""

    passes: tuple[PassReport, ...]
    before: Work
    after: Work
    # By kind of tensors: `groups`, `noise_before` and `noise_after`; None where nothing was equalised.
    equalisation: dict[str, dict[str, float]] | None = None

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "passes": [done.to_json() for done in self.passes],
            "work": {"before": asdict(self.before), "after": asdict(self.after)},
            "equalisation": self.equalisation,
        }


@dataclass(frozen=True)
class Rewritten:
    """The network to convert, and what was done to it."""

    network: nn.Module
    rewrites: Rewrites | None = None
    kronecker: tuple[LoweredLayer, ...] = ()
    rounding: dict[str, float] | None = None  # `mobilebert_quantize.weight_rounding.Rounded.report`


def lower_kronecker(network: nn.Module, form: str, recipe: Recipe, lengths: Sequence[int]) -> Rewritten:
    """`mobilebert_quantize.kronecker_lowering.lower` with the measured costs of the recipe's runtime.

    Raises:
        OptionError: a form is asked for, and the network has no Kronecker layers.
    """
    from mobilebert_quantize.kronecker_costs import costs_of
    from mobilebert_quantize.kronecker_lowering import lower

    lowered, layers = lower(network, form, costs_of(recipe), lengths)
    if form != "auto" and not layers:
        raise OptionError(f"--kronecker {form}: the model has no Kronecker layers")
    return Rewritten(lowered, kronecker=tuple(layers))


def rewrite(before: Rewritten, recipe: Recipe, proof: Encoded, calibration: Encoded | None) -> Rewritten:
    """Simplify a network for conversion, as suits its recipe; with static 8-bit ranges also equalise it.

    Args:
        before: the trained network, which stays as it is, and what was done to it so far.
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
    done = simplify(before.network, proof=few, spread_limit=spread_limit)
    work = [count_work(network, seq_len) for network in (before.network, done.network)]
    rewrites = Rewrites(done.passes, before=work[0], after=work[1])
    if calibration is None or not recipe.static_ranges or recipe.activation_bits != 8:
        return replace(before, network=done.network, rewrites=rewrites)
    equalised = equalise(done.network, calibration)
    return replace(
        before, network=equalised.network, rewrites=replace(rewrites, equalisation=equalised.report)
    )


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
