"""`mobilebert mine`: pairs of similar texts, scored by an embedder, on one machine or many."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_export.console import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray


def mine(
    texts: Annotated[list[Path], opt.INPUT_FILE, Argument(help="Text, one per line (.txt, .xz, .gz).")],
    embedder: Annotated[Path, opt.INPUT_FOLDER, Option(help="Artefact folder of an embedding model.")],
    out: Annotated[
        Path, opt.RUN_FOLDER, Option(help="Folder of the job; an interrupted job there is resumed.")
    ],
    stage: Annotated[
        str,
        opt.Choice("all", "vectors", "neighbours", "pairs"),
        Option(help="One step alone, for shards: vectors, neighbours or pairs."),
    ] = "all",
    shard: Annotated[str, Option(help="The part of the blocks to do here, such as 3/8.")] = "1/1",
    near: Annotated[int, opt.COUNT_OR_NONE, Option(help="Pairs per text with its nearest texts.")] = 3,
    farther: Annotated[int, opt.COUNT_OR_NONE, Option(help="Pairs per text with texts of rank 5 to 50.")] = 1,
    random: Annotated[int, opt.COUNT_OR_NONE, Option(help="Pairs per text with random texts.")] = 1,
    block_size: Annotated[int, opt.COUNT, Option(help="Texts per block.")] = 4096,
    seed: opt.Seed = 0,
    ray: Annotated[str | None, Option(help="Address of a Ray cluster, or 'local' for workers here.")] = None,
    workers: Annotated[int, opt.COUNT, Option(help="Ray's worker processes.")] = 2,
) -> None:
    """Mine pairs of texts at all distances, scored by the cosine of an embedder.

    Each text draws some of its nearest texts, some of rank 5 to 50, and some at random. OUT/pairs.tsv gets
    the pairs: sentence1, sentence2, score, drawn. With --shard every shard runs --stage vectors, then
    neighbours, then pairs; the last one merges them. One process, shards and Ray write the same bytes.
    """
    from mobilebert_export.terminal import Terminal
    from mobilebert_matching.mining.job import STAGES, MiningConfig, MiningJob, Shard, read_texts
    from mobilebert_matching.mining.stages import merge_pairs, work_of
    from mobilebert_runtime.card import read_card
    from mobilebert_runtime.errors import OptionError
    from mobilebert_runtime.files import file_sha256

    part = Shard.parse(shard)
    if part.of > 1 and (stage == "all" or ray is not None):
        raise OptionError("--shard does one --stage at a time, without --ray: a later stage reads all shards")
    model = embedder / read_card(embedder).model_file
    named = f"{embedder.resolve().name}, SHA-256 {file_sha256(model)}"
    config = MiningConfig(named, block_size, near, farther, random, seed)
    job = MiningJob(out, read_texts(texts), config)
    for name in STAGES if stage == "all" else (stage,):
        job.require_before(name)
        missing = set(job.missing(name))
        blocks = [block for block in part.blocks(job.blocks) if block in missing]
        make_work = partial(work_of, name, job, partial(load_embedder, embedder))
        _run(f"mining: {name}", blocks, make_work, ray, workers)
    if not job.missing("pairs"):
        path, pairs = merge_pairs(job)
        Terminal(stderr=True, highlight=False).print(
            f"{path}: {pairs:,} pairs of {len(job.texts):,} texts in {job.blocks:,} blocks"
        )


def load_embedder(directory: Path) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """Texts → unit vectors (N, H) of an artefact, in one thread: the same bits on every machine of a kind."""
    from mobilebert_runtime.embedder import Embedder

    embed = Embedder.load(directory, threads=1).embed

    def unit(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = embed(texts)
        return vectors / (vectors**2).sum(axis=1, keepdims=True) ** 0.5

    return unit


def _run(
    title: str,
    blocks: list[int],
    make_work: Callable[[], Callable[[int], None]],
    ray: str | None,
    workers: int,
) -> None:
    if ray is not None:
        from mobilebert_matching.mining.cluster import connected, run_blocks

        with connected(ray, workers) as cluster:
            run_blocks(cluster, blocks, make_work, workers)
        return
    with reading(title) as progress:
        if blocks:
            work = make_work()
            for done, block in enumerate(blocks):
                progress(done, len(blocks))
                work(block)
