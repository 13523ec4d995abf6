"""Exact folding of norms into the linear layers around them."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from mobilebert_models.networks.layers import NoNorm
from mobilebert_quantize.algebra.streams import (
    Basis,
    Multiply,
    Stream,
    affine,
    change_basis,
    find_streams,
)

# A stream's scale may drift this far from 1, either way, before one explicit multiplication sets it back: the
# normal numbers of float16. A trained stream stays within 2⁻⁷ to 2⁷; beyond lies a γ next to zero.
SCALE_LIMIT = 2.0**14
# For int8: how far a stream's channels may drift apart. One step serves all of them, of a tensor or of a row.
INT8_SPREAD_LIMIT = 4.0
# Why a stream must keep its basis.
_KRONECKER = "a Kronecker layer reads or writes it"
_AS_IT_IS = "it is the output, or a head compares its states"


def fold_no_norm(network: nn.Module, spread_limit: float = math.inf) -> tuple[dict[str, int], list[str]]:
    """NoNorm is affine: γ ∘ (x + W·h + b) + β. Kept in the basis x = s ∘ x̃ + t, it costs nothing.

    Every version takes s' = γ ∘ s and t' = β (`streams.change_basis`): what writes the stream is divided by
    s, what reads it is multiplied by it. Where a γ is zero, would take |s| out of [1 / SCALE_LIMIT,
    SCALE_LIMIT] or its largest beyond `spread_limit` times its least, the stream is set back to s' = 1 by one
    explicit multiplication with γ ∘ s; the last version is divided by nothing and needs none. A version that
    is read as it is (an encoder's output, what a head compares) keeps an affine map, with γ ∘ s and β.

    Returns:
        Counts of what changed, and the streams left as they were, with the reason.
    """
    changed = {"norms folded": 0, "explicit multiplications left": 0}
    skipped = []
    for stream in find_streams(network):
        norms = sum(isinstance(norm, NoNorm) for norm in stream.norms)
        if not norms:
            continue
        if not stream.dense:
            skipped.append(f"{stream.name}: {_KRONECKER}")
            continue
        change_basis(stream, _telescope(stream, spread_limit))
        changed["norms folded"] += norms - sum(isinstance(norm, NoNorm) for norm in stream.norms)
        changed["explicit multiplications left"] += sum(isinstance(norm, Multiply) for norm in stream.norms)
    return changed, skipped


def fold_layer_norm_affine(network: nn.Module) -> tuple[dict[str, int], list[str]]:
    """β of a LayerNorm moves into whatever reads it: x = x̃ + β is a change of basis with s = 1.

    Readers get b + W·β, and so does the next residual sum: b + β. γ must stay where a residual sum reads the
    stream, because the next LayerNorm has to see the true sum; the last version of a stream is read by linear
    layers alone and takes s = γ, which leaves nothing of the affine map.

    Returns:
        Counts of what changed, and the streams left as they were, with the reason.
    """
    changed = {"shifts folded": 0, "scales folded": 0}
    skipped = []
    for stream in find_streams(network):
        if not all(isinstance(norm, nn.LayerNorm) for norm in stream.norms):
            continue
        if not stream.dense or any(version.open for version in stream.versions):
            skipped.append(f"{stream.name}: {_AS_IT_IS if stream.dense else _KRONECKER}")
            continue
        norms: list[nn.LayerNorm] = [norm for norm in stream.norms if isinstance(norm, nn.LayerNorm)]
        ones = torch.ones_like(norms[0].weight)
        bases = [Basis(ones, norm.bias.detach().clone()) for norm in norms]
        bases[-1] = Basis(norms[-1].weight.detach().clone(), bases[-1].shift)
        change_basis(stream, bases)
        changed["shifts folded"] += len(norms)
        changed["scales folded"] += 1
    return changed, skipped


def _telescope(stream: Stream, spread_limit: float) -> list[Basis]:
    """The basis of every version in which the norms are 1, but for the explicit multiplications.

    The norm of a first version goes into its writer; where tables alone write, they stay as they are and the
    norm is the basis. An open version has the plain basis.
    """
    like = stream.versions[-1].writer.bias.detach()
    plain = Basis.plain(like)
    bases = [] if stream.versions[0].writer is None else [plain]
    for version in stream.versions[len(bases) :]:
        gamma, beta = affine(version.norm, like)
        scale = gamma * (bases[-1] if bases else plain).scale
        if version.open:
            bases.append(Basis.plain(like, multiply=scale, add=beta.clone()))
        elif version is stream.versions[-1] or _small(scale, spread_limit):
            bases.append(Basis(scale, beta.clone()))
        else:
            bases.append(Basis(torch.ones_like(like), beta.clone(), multiply=scale))
    return bases


def _small(scale: Tensor, spread_limit: float) -> bool:
    size = scale.abs()
    least, largest = float(size.min()), float(size.max())
    return least >= 1 / SCALE_LIMIT and largest <= min(SCALE_LIMIT, spread_limit * least)
