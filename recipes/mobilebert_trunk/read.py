"""Let both teachers read the pool in a process of their own, beside `train --read-beside`.

    python -m recipes.mobilebert_trunk.read --out ~/mission/run --mpnet FOLDER

Ends when all texts are read, or so many; the same command goes on where an interrupted one stopped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
from rich.progress import track
from typer import Option

from mobilebert_models.loading.packaged import packaged_directory
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.pool import SHARD, Pool, write_pool_once
from recipes.general_matchers.teachers import load_minilm, load_mpnet
from studies.common.script import console, run


def main(
    out: Annotated[Path, Option(help="Folder of the run.")],
    mpnet: Annotated[Path, Option(help="Folder of all-mpnet-base-v2.")],
    shared: Annotated[Path, Option(help="Folder with data/ and corpora/.")] = Path("../shared"),
    texts: Annotated[int | None, Option(min=1, help="Stop at so many texts.")] = None,
    threads: Annotated[int, Option(min=1, help="Threads of the products.")] = 1,
) -> None:
    """Write OUT/pool, where there is none, and what the teachers say of its texts."""
    torch.set_num_threads(threads)
    tokenizer = PairTokenizer.load(packaged_directory("minilm"))
    write_pool_once(shared, out / "pool", tokenizer)
    pool = Pool(out / "pool", tokenizer)
    wanted = len(pool.texts) if texts is None else min(texts, len(pool.texts))
    near, wide = load_minilm(), load_mpnet(mpnet)
    for _ in track(range(pool.read, wanted, SHARD), "reading", console=console()):
        pool.read_shard(near, wide)


if __name__ == "__main__":
    run(main)
