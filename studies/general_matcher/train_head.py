"""Teach the pair decision on a frozen trunk, `recipes.general_matchers.train_head`.

python -m studies.general_matcher.train_head --trunk runs/general/m/trunk --out runs/general/open-m
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

from typer import Option

from mobilebert_runtime.errors import OptionError
from recipes.general_matchers.train_head import (
    OVERLAP,
    QUESTIONS,
    STATEMENTS,
    HeadConfig,
    Overlap,
    Weights,
    write_matcher,
)
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.options import CACHE, SHARED, Cache, Shared


def main(
    trunk: Annotated[Path, Option(help="Model directory of the trunk.")],
    out: Annotated[Path, Option(help="The model directory to write.")],
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    made: Annotated[int, Option(min=1, help="Pairs of each kind from templates, and as many edited.")] = 400,
    mined: Annotated[int, Option(min=1, help="Pairs mined.")] = 4000,
    alike: Annotated[int, Option(min=0, help="Further mined pairs that share nearly all tokens.")] = 0,
    epochs: Annotated[int, Option(min=1, help="Passes over the pairs.")] = 6,
    statements: Annotated[
        str, Option(help="Weights of the four cosines in statements after the training, with commas.")
    ] = ",".join(map(str, STATEMENTS)),
    questions: Annotated[str, Option(help="The same in questions.")] = ",".join(map(str, QUESTIONS)),
    overlap: Annotated[
        str,
        Option(
            help="How much the distance of two questions counts, by how much more, from which overlap on."
        ),
    ] = ",".join(map(str, OVERLAP)),
    rare: Annotated[
        bool, Option("--rare", help="Rare tokens count more in the mean of the embedding output.")
    ] = False,
    penalty: Annotated[float, Option(min=0, help="Share of the trained penalty that is kept.")] = 1.0,
    eight_bit: Annotated[bool, Option("--eight-bit", help="Write the weights in eight bits.")] = False,
    seed: Annotated[int, Option(help="Of pairs, first weights and order.")] = 0,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Train the head, write the directory, print dev figures."""
    config = HeadConfig(
        trunk=trunk,
        out=out,
        cache=cache,
        data=shared / "data",
        made=made,
        mined=mined,
        alike=alike,
        epochs=epochs,
        statements=_weights("--statements", statements),
        questions=_weights("--questions", questions),
        overlap=_overlap(overlap),
        rare=rare,
        penalty=penalty,
        eight_bit=eight_bit,
        seed=seed,
        threads=threads,
        force=force,
    )
    write_matcher(config, console().print)


def _weights(option: str, given: str) -> Weights:
    try:
        vectors, first, words, nearest = (float(weight) for weight in given.split(","))
    except ValueError as error:
        raise OptionError(f"{option} {given!r}: expected four numbers, as 1,0.2,0.3,0.6") from error
    if not 0 < vectors + first + words + nearest < math.inf:
        raise OptionError(f"{option} {given!r}: the sum of the four must be a number above 0")
    return vectors, first, words, nearest


def _overlap(given: str) -> Overlap:
    try:
        least, slope, start = (float(part) for part in given.split(","))
    except ValueError as error:
        raise OptionError(f"--overlap {given!r}: expected three numbers, as 0.85,6,0.78") from error
    if not (0 < least < math.inf and 0 <= slope < math.inf and math.isfinite(start)):
        raise OptionError(
            f"--overlap {given!r}: a distance counts more than 0 times, and not less from there on"
        )
    return least, slope, start


if __name__ == "__main__":
    run(main)
