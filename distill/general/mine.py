"""Near texts of every labelled text, by a teacher's vectors (faiss, inner product).

pip install faiss-cpu==1.15.1
python -m studies.general_matcher.mine
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from typer import Option

from distill.general.options import CACHE, Cache
from distill.general.teachers import load_shards, read_texts
from distill.general.trunk import HELD, Targets, mapped
from mobilebert_runtime.errors import ToolError
from studies.common.script import console, run


def main(
    cache: Cache = CACHE,
    ranks: Annotated[int, Option(min=1, help="Near texts of each text, from the nearest on.")] = 30,
    teacher: Annotated[Literal["mpnet", "minilm"], Option(help="Whose vectors.")] = "mpnet",
    cells: Annotated[
        int, Option(min=1, help="Cells of the index, of which an eighth is searched; 1: exact.")
    ] = 1,
) -> None:
    """Write CACHE/neighbours.npy (N, ranks), -1 where a text has no vector of the teacher yet."""
    try:
        import faiss
    except ImportError as error:
        raise ToolError("faiss is missing; run `pip install faiss-cpu==1.15.1` first") from error
    count = len(read_texts(cache / "texts.tsv"))
    vectors, there = load_shards(cache / teacher, count)
    rows = np.flatnonzero(there)
    rows = rows[rows >= HELD]
    found = vectors[rows].astype(np.float32)
    if teacher == "mpnet":
        found = mapped(found, Targets(cache, count, 0.0).map)
    index: Any = faiss.index_factory(
        found.shape[1], f"IVF{cells},Flat" if cells > 1 else "Flat", faiss.METRIC_INNER_PRODUCT
    )
    index.train(found)
    if cells > 1:
        index.nprobe = max(1, cells // 8)
    index.add(found)
    _, near = index.search(found, ranks + 1)  # the nearest is the text itself
    out = np.full((count, ranks), -1, np.int32)
    out[rows] = rows[near[:, 1:]]
    partial = cache / "neighbours.partial.npy"
    np.save(partial, out)
    partial.replace(cache / "neighbours.npy")
    console().print(f"{len(rows):,} texts with neighbours")


if __name__ == "__main__":
    run(main)
