"""The stages of a mining job, block by block: vectors, near texts (faiss), and the pairs that are drawn.

A text draws some of its nearest texts, some of rank 5 to 50, and some at random: easy and hard pairs in one
mix, none twice. A pair's score is the cosine of the embedder's vectors: what a student can learn from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from mobilebert_matching.mining.job import PAIRS, MiningJob
from mobilebert_runtime.errors import ToolError
from mobilebert_runtime.files import replacing, save_array

# Texts → float32 (N, H) of unit length; one text's vector must not depend on the others'.
Embed = Callable[[Sequence[str]], np.ndarray]
NEAREST = 3  # ranks from which near pairs are drawn, at least
FARTHER = range(5, 51)  # ranks, 1 the nearest
RANKS = FARTHER.stop - 1
HEADER = "sentence1\tsentence2\tscore\tdrawn\n"


def embed_block(job: MiningJob, embed: Embed, block: int) -> None:
    """Write a block's vectors."""
    vectors = embed([job.texts[row] for row in job.rows(block)])
    save_array(job.path("vectors", block), vectors.astype(np.float16))


def search_block(job: MiningJob, block: int) -> None:
    """Write the nearest texts of a block's texts among all, by inner product, the texts themselves left out.

    Raises:
        ToolError: faiss is not installed.
        DataError: a block has no vectors yet.
    """
    near = nearest(list(job.arrays("vectors")), block, job.rows(block).start)
    save_array(job.path("neighbours", block), near)


def nearest(vectors: Sequence[np.ndarray], block: int, first: int) -> np.ndarray:
    """Numbers of the `RANKS` nearest texts of a block's texts, int32 (B, RANKS), -1 where there are fewer.

    Args:
        vectors: (B, H) of every block.
        block: whose texts ask.
        first: number of the block's first text.
    """
    try:
        import faiss
    except ImportError as error:
        raise ToolError("faiss is missing; run `pip install mobilebert-export[mining]` first") from error
    faiss.omp_set_num_threads(1)  # how sums are split over threads changes their last bits
    index = faiss.IndexFlatIP(vectors[0].shape[1])
    for part in vectors:
        index.add(part.astype(np.float32))
    _, found = index.search(vectors[block].astype(np.float32), RANKS + 1)
    own = np.arange(first, first + len(found))[:, None]
    # The text itself comes first but for texts with the same vector: it goes to the end and is cut off.
    order = np.argsort(found == own, axis=1, kind="stable")
    return np.take_along_axis(found, order, 1)[:, :RANKS].astype(np.int32)


def draw_block(job: MiningJob, block: int) -> None:
    """Write the pairs that a block's texts draw; a pair that both texts draw is the earlier text's.

    Raises:
        DataError: a block has no near texts yet.
    """
    vectors, neighbours = _Rows(list(job.arrays("vectors"))), _Rows(list(job.arrays("neighbours")))
    lines = []
    for row in job.rows(block):
        for other, how in drawn(row, neighbours[row], len(job.texts), job).items():
            if other < row and row in drawn(other, neighbours[other], len(job.texts), job):
                continue
            score = float(vectors[row].astype(np.float64) @ vectors[other].astype(np.float64))
            lines.append(f"{job.texts[row]}\t{job.texts[other]}\t{score:.4f}\t{how}\n")
    path = job.path("pairs", block)
    with replacing(path, force=True) as unfinished:
        unfinished.write_text("".join(lines), encoding="utf-8")


def drawn(row: int, near: np.ndarray, count: int, job: MiningJob) -> dict[int, str]:
    """The texts that a text draws, and how: a matter of the seed, its number and its near texts alone."""
    random, config = np.random.default_rng((job.config.seed, row)), job.config
    near = near[near >= 0]
    top, far = near[: max(NEAREST, config.near)], near[FARTHER.start - 1 : FARTHER.stop - 1]
    chosen = {int(i): "near" for i in random.permutation(top)[: config.near]}
    chosen |= {int(i): "farther" for i in random.permutation(far)[: config.farther] if int(i) not in chosen}
    for i in random.integers(0, count, config.random):
        if int(i) != row:
            chosen.setdefault(int(i), "random")
    return chosen


def work_of(stage: str, job: MiningJob, load: Callable[[], Embed]) -> Callable[[int], None]:
    """What does one block of a stage; `load` makes the embedder, for the stage that needs it."""
    if stage == "vectors":
        return partial(embed_block, job, load())
    return partial({"neighbours": search_block, "pairs": draw_block}[stage], job)


def merge_pairs(job: MiningJob) -> tuple[Path, int]:
    """Write all blocks' pairs, in order, into OUT/pairs.tsv; also returns how many they are.

    Raises:
        DataError: a block has no pairs yet.
    """
    job.require("pairs")
    path, count = job.out / PAIRS, 0
    with replacing(path, force=True) as unfinished, unfinished.open("w", encoding="utf-8") as file:
        file.write(HEADER)
        for block in range(job.blocks):
            text = job.path("pairs", block).read_text(encoding="utf-8")
            file.write(text)
            count += text.count("\n")
    return path, count


class _Rows:
    """Rows of arrays one after the other, all but the last of one length."""

    def __init__(self, parts: list[np.ndarray]) -> None:
        self.parts, self.size = parts, len(parts[0])

    def __getitem__(self, row: int) -> np.ndarray:
        return self.parts[row // self.size][row % self.size]
