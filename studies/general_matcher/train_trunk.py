"""Make a general sentence encoder of MiniLM, `recipes.general_matchers.train_trunk`; resumable.

python -m studies.general_matcher.train_trunk --out runs/general/m
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Option

from recipes.general_matchers.four_bit_weights import in_four_bits
from recipes.general_matchers.train_trunk import TrunkConfig, train_trunk
from recipes.general_matchers.trainable_grids import Layers
from studies.common.script import Threads, console, run
from studies.general_matcher.options import CACHE, SHARED, Cache, Shared


def main(
    out: Annotated[Path, Option(help="Folder of the run; an interrupted run there is resumed.")],
    arch: Annotated[
        str, Option(help="Preset of the trunk: MiniLM's feature map and heads.")
    ] = "matcher-open-m",
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    kept: Annotated[
        float,
        Option(min=0, max=1, help="Of the weights before training in what is written; chosen on dev pairs."),
    ] = 0.0,
    joint: Annotated[float, Option(min=0, help="Seconds of the first stage.")] = 900,
    vectors: Annotated[float, Option(min=0, help="Seconds of the second stage.")] = 1800,
    transfer_rate: Annotated[float, Option(help="Peak rate of joint.")] = 3e-4,
    rate: Annotated[float, Option(help="Peak rate of vectors.")] = 3e-4,
    size: Annotated[int, Option(min=2, help="Labelled texts a batch.")] = 96,
    noise: Annotated[float, Option(min=0, max=1, help="Share of texts that are misspelt.")] = 0.25,
    share: Annotated[
        float, Option(min=0, max=1, help="Of MiniLM in the target; the rest is MPNet. 1: MPNet is not read.")
    ] = 0.5,
    fresh: Annotated[float, Option(min=0, max=1, help="Share of batches that only MiniLM has read.")] = 0.5,
    asked: Annotated[
        int, Option(min=1, help="Times a question that someone asked counts where texts are drawn.")
    ] = 1,
    four_bits: Annotated[
        Layers, Option(help="Linear layers whose weights are put on a grid of four bits at the end.")
    ] = "none",
    seed: Annotated[int, Option(help="Of the embedding's fit, batches and misspellings.")] = 0,
    threads: Threads = 1,
) -> None:
    """Run the stages that are not finished, and write OUT/trunk."""
    config = TrunkConfig(
        out=out,
        cache=cache,
        arch=arch,
        data=shared / "data",
        kept=kept,
        joint=joint,
        vectors=vectors,
        transfer_rate=transfer_rate,
        rate=rate,
        size=size,
        noise=noise,
        share=share,
        fresh=fresh,
        asked=asked,
        seed=seed,
        threads=threads,
    )
    train_trunk(config, partial(in_four_bits, layers=four_bits), console().print)


if __name__ == "__main__":
    run(main)
