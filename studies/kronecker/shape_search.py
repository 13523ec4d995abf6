"""Factor shapes that meet a budget of parameters and FLOPs (KroneckerBERT section 3.6).

    python -m studies.kronecker.shape_search minilm shapes.json --max-parameters 4000000

The `rules` of a candidate in the record are what `mobilebert factorize --factors` reads. No weights are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from typer import Argument, Option

from mobilebert_models import PRESETS, find_directory, read_config
from mobilebert_models.config import EncoderConfig, KroneckerRule
from mobilebert_models.inventory import SEQUENCE
from mobilebert_models.kronecker.compress import FactoredLayer
from mobilebert_models.kronecker.factor_shapes import (
    ATTENTION,
    NARROW,
    WIDEN,
    WORDS,
    costs,
    plan,
    shape_rules,
)
from mobilebert_models.kronecker.factored_layers import kronecker_macs
from mobilebert_runtime.errors import ModelError, OptionError
from mobilebert_runtime.files import write_json
from studies.common.script import console, run

ROLES = {"attention": ATTENTION, "feed_forward": (WIDEN, NARROW), "embedding": (WORDS,)}


def main(
    model: Annotated[str, Argument(help="Model directory, or a name of `mobilebert models`.")],
    out: Annotated[Path, Argument(help="The record.")],
    max_parameters: Annotated[int | None, Option(min=1, help="Budget of the whole encoder.")] = None,
    max_flops: Annotated[int | None, Option(min=1, help="Budget of the layers' linear maps.")] = None,
    rank: Annotated[int, Option(min=1, help="Products in the sum of a linear map.")] = 1,
    words_rank: Annotated[int, Option(min=1, help="Products in the sum of the word embedding.")] = 1,
    seq_len: Annotated[int, Option(min=1, help="Tokens that FLOPs are counted for.")] = SEQUENCE,
    top: Annotated[int, Option(min=1, help="Candidates that are listed.")] = 20,
) -> None:
    """List factor shapes that meet a budget, most parameters first."""
    if max_parameters is None and max_flops is None:
        raise OptionError("give --max-parameters, --max-flops or both")
    config = PRESETS[model] if model in PRESETS else read_config(find_directory(model))
    limits = {"max_parameters": max_parameters, "max_flops": max_flops}
    found = search(config, **limits, rank=rank, words_rank=words_rank, seq_len=seq_len, top=top)
    rows = [asdict(one) | {"rules": [asdict(rule) for rule in one.rules(config)]} for one in found]
    write_json(out, {"model": Path(model).name, "seq_len": seq_len, **limits, "candidates": rows})
    for one in found:
        shapes = f"attention {one.attention}, feed-forward {one.feed_forward}, words 1×{one.embedding}"
        console().print(f"{shapes}: {one.parameters:,} parameters, {one.flops:,} FLOPs")


@dataclass(frozen=True)
class Candidate:
    """Factor shapes that meet a budget, and what an encoder with them costs.

    `attention` and `feed_forward` are (m1, n1), the latter of the widening matrix; `embedding` is d/n.
    """

    attention: tuple[int, int]
    feed_forward: tuple[int, int]
    embedding: int
    rank: int
    parameters: int
    flops: int
    words_rank: int = 1

    def rules(self, config: EncoderConfig) -> tuple[KroneckerRule, ...]:
        """The rules to compress with."""
        return shape_rules(
            config, self.attention, self.feed_forward, self.embedding, self.rank, self.words_rank
        )


def search(
    config: EncoderConfig,
    *,
    max_parameters: int | None = None,
    max_flops: int | None = None,
    rank: int = 1,
    words_rank: int = 1,
    seq_len: int = SEQUENCE,
    top: int = 20,
) -> list[Candidate]:
    """Shapes of section 3.6's form that meet a budget, counted as `factor_shapes.costs` counts.

    Only shapes that shrink every matrix are considered, and no weights are looked at. If the entries of W
    were independent, the first singular value of Eq. 3 would be about √(m1·n1) + √(m2·n2): the expected error
    falls with the number of parameters, whatever the shape. A Frobenius error summed over real weights is a
    worse guide: it favours one number a word, which keeps only what all words have in common.

    Args:
        config: of the dense encoder.
        max_parameters: of the whole encoder; None is no limit.
        max_flops: of the layers' linear maps over `seq_len` tokens; None is no limit.
        rank: products in the sum of a linear map.
        words_rank: products in the sum of the embedding; 1 in the paper.
        seq_len: tokens that `max_flops` is for.
        top: how many to return.

    Returns:
        The `top` candidates: most parameters first, of these the fewest FLOPs.

    Raises:
        ModelError: no shape meets the budget.
    """
    layers = plan(config, shape_rules(config, (1, 1), (1, 1), 1))
    roles = [
        _options(_members(layers, patterns), words_rank if role == "embedding" else rank)
        for role, patterns in ROLES.items()
    ]
    before = costs(config, seq_len)
    # Axes: attention shape × feed-forward shape × embedding shape.
    parameters = before["parameters"] + _sum_over_roles([[o.parameters for o in role] for role in roles])
    flops = before["flops"] + 2 * seq_len * _sum_over_roles([[o.macs for o in role] for role in roles])
    fits = np.ones(parameters.shape, bool)
    for count, limit in ((parameters, max_parameters), (flops, max_flops)):
        fits &= True if limit is None else count <= limit
    if not fits.any():
        least = f"fewest: {parameters.min():,} and {flops.min():,}" if parameters.size else "too many sums"
        raise ModelError(
            f"search: no shapes of rank {rank} have at most {max_parameters or 'any'} parameters and "
            f"{max_flops or 'any'} FLOPs ({least}); raise a limit or change the rank"
        )
    order = np.lexsort((flops[fits], -parameters[fits]))[:top]
    return [
        Candidate(
            attention=roles[0][i].shape,
            feed_forward=roles[1][j].shape,
            embedding=roles[2][k].shape[1],
            rank=rank,
            words_rank=words_rank,
            parameters=int(parameters[i, j, k]),
            flops=int(flops[i, j, k]),
        )
        for i, j, k in np.argwhere(fits)[order]
    ]


class _Member(NamedTuple):
    """A matrix of a role, and whether the role's shape is transposed for it."""

    layer: FactoredLayer
    transposed: bool

    def shape(self, shape: tuple[int, int]) -> tuple[int, int]:
        return (shape[1], shape[0]) if self.transposed else shape


class _Option(NamedTuple):
    """A shape (m1, n1) for all matrices of a role: the change of parameters and of MACs a token."""

    shape: tuple[int, int]
    parameters: int
    macs: int


def _members(layers: Sequence[FactoredLayer], patterns: Sequence[str]) -> list[_Member]:
    """The layers of a role; attention's output also looks like a narrowing matrix and is not one."""
    attention = {layer.name for layer in layers if any(fnmatchcase(layer.name, p) for p in ATTENTION)}
    return [
        _Member(layer, pattern == NARROW)
        for pattern in patterns
        for layer in layers
        if fnmatchcase(layer.name, pattern) and (patterns == ATTENTION or layer.name not in attention)
    ]


def _options(members: Sequence[_Member], rank: int) -> list[_Option]:
    """Every shape that divides and shrinks all matrices of a role."""
    first = members[0].layer
    lookup = first.name == WORDS
    rows = [first.m] if lookup else divisors(first.m)
    options = (_option(members, (m1, n1), rank) for m1 in rows for n1 in divisors(first.n))
    return [option for option in options if option is not None]


def _option(members: Sequence[_Member], shape: tuple[int, int], rank: int) -> _Option | None:
    parameters = macs = 0
    for member in members:
        layer, (m1, n1) = member.layer, member.shape(shape)
        if layer.m % m1 or layer.n % n1:
            return None
        m2, n2 = layer.m // m1, layer.n // n1
        stored = rank * (m1 * n1 + m2 * n2)
        if rank > min(m1 * n1, m2 * n2) or stored >= layer.parameters_before:
            return None
        parameters += stored - layer.parameters_before
        if layer.macs_before:
            macs += kronecker_macs(m1, n1, m2, n2, rank) - layer.macs_before
    return _Option(shape, parameters, macs)


def divisors(number: int) -> list[int]:
    """Of a whole number, ascending."""
    return [d for d in range(1, number + 1) if number % d == 0]


def _sum_over_roles(values: Sequence[Sequence[float]]) -> np.ndarray:
    """(a,), (f,), (e,) → (a, f, e), every sum of one value each."""
    attention, feed_forward, embedding = (np.asarray(v) for v in values)
    return attention[:, None, None] + feed_forward[None, :, None] + embedding[None, None, :]


if __name__ == "__main__":
    run(main)
