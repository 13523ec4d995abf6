"""Exact simplification of a trained network by named passes, each proved when it is applied."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from torch import nn

from mobilebert_quantize.algebra.attention import drop_key_bias, fold_query_scale, move_value_bias
from mobilebert_quantize.algebra.embeddings import merge_token_types
from mobilebert_quantize.algebra.last_layer import first_row_only
from mobilebert_quantize.algebra.norms import fold_layer_norm_affine, fold_no_norm
from mobilebert_quantize.algebra.proof import (
    TOLERANCE,
    AlgebraError,
    Encoded,
    outputs_of,
    relative_difference,
)
from mobilebert_runtime.errors import OptionError

# A pass rewrites a float64 network in place and returns counts of what changed and what it left, and why.
Pass = Callable[[nn.Module], tuple[dict[str, int], list[str]]]

# In the order of application: biases that folding creates are moved on by the passes after it.
PASSES: dict[str, Pass] = {
    "fold-no-norm": fold_no_norm,
    "fold-layer-norm-affine": fold_layer_norm_affine,
    "merge-token-types": merge_token_types,
    "fold-query-scale": fold_query_scale,
    "drop-key-bias": drop_key_bias,
    "move-value-bias": move_value_bias,
    "first-row-only": first_row_only,
}
DEFAULT_PASSES = tuple(PASSES)


@dataclass(frozen=True)
class PassReport:
    """What one pass did.

    Attributes:
        name: key of `PASSES`.
        identity: the equation it rests on, the first sentence of its documentation.
        changed: counts by what was changed.
        skipped: what it left as it was, with the reason.
        relative_difference: of the outputs in float64 before and after this pass; None if not asked for.
    """

    name: str
    identity: str
    changed: dict[str, int]
    skipped: tuple[str, ...]
    relative_difference: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain data for report.json."""
        return asdict(self)


@dataclass(frozen=True)
class Simplified:
    """A rewritten network and what each pass did."""

    network: Any
    passes: tuple[PassReport, ...]


def simplify(
    network: nn.Module,
    *,
    passes: Sequence[str] = DEFAULT_PASSES,
    proof: Encoded | None = None,
    spread_limit: float = math.inf,
) -> Simplified:
    """A new network with the same inputs and outputs; the one given is left untouched.

    Weights are rewritten in float64 and rounded once, to the dtype they had.

    Args:
        network: a head of `mobilebert_models.networks.heads`, or a bare encoder; in eval mode.
        passes: names in `PASSES`, carried out in the order of that table.
        proof: encoded pairs, int32 (N, S) by input name, a handful: after every pass the outputs in float64
            are compared with those before it.
        spread_limit: of `norms.fold_no_norm`.

    Raises:
        OptionError: naming what is known.
        AlgebraError: a pass changed the function by more than `proof.TOLERANCE`.
    """
    chosen = _in_order(passes)
    dtype = next(network.parameters()).dtype
    work = copy.deepcopy(network).double().eval()
    before = outputs_of(work, proof) if proof is not None else None
    reports = []
    for name in chosen:
        fold = name == "fold-no-norm"
        changed, skipped = fold_no_norm(work, spread_limit) if fold else PASSES[name](work)
        difference = None
        if proof is not None and before is not None:
            after = outputs_of(work, proof)
            difference = relative_difference(before, after)
            if not difference <= TOLERANCE:
                raise AlgebraError(
                    f"pass {name}: outputs differ by {difference:.1e} in float64; report this model, and "
                    "export it without exact rewrites"
                )
            before = after
        reports.append(PassReport(name, _identity(name), changed, tuple(skipped), difference))
    for parameter in work.parameters():
        parameter.requires_grad = False
    return Simplified(work.to(dtype), tuple(reports))


def _in_order(passes: Sequence[str]) -> list[str]:
    unknown = sorted(set(passes) - PASSES.keys())
    if unknown:
        raise OptionError(f"pass {unknown[0]!r} is unknown; expected some of {', '.join(PASSES)}")
    return [name for name in PASSES if name in set(passes)]


def _identity(name: str) -> str:
    return cast(str, PASSES[name].__doc__).strip().splitlines()[0]
