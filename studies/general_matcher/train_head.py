"""Teach the pair decision on a frozen trunk, `distill.general.train_head`.

python -m studies.general_matcher.train_head --trunk runs/general/m/trunk --out runs/general/open-m
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from distill.general.train_head import HeadConfig, write_matcher
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
    cls: Annotated[
        float,
        Option(min=0, help="Weight of the [CLS] states' cosine beside the vectors'; chosen on dev pairs."),
    ] = 0.3,
    middle: Annotated[
        float, Option(min=0, help="Weight of the middle states' cosine; chosen on dev pairs.")
    ] = 0.1,
    share: Annotated[float, Option(min=0, max=1, help="Of the penalty; chosen on dev pairs.")] = 1.0,
    head: Annotated[
        str | None, Option(help="Model whose head and temperature to take as they are; nothing is trained.")
    ] = None,
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
        cls=cls,
        middle=middle,
        share=share,
        head=head,
        eight_bit=eight_bit,
        seed=seed,
        threads=threads,
        force=force,
    )
    write_matcher(config, console().print)


if __name__ == "__main__":
    run(main)
