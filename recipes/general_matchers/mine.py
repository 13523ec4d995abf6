"""Near texts of every labelled text, by a teacher's vectors (faiss, inner product)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mobilebert_runtime.errors import ToolError
from mobilebert_runtime.files import save_array
from mobilebert_training.distillation.vector_targets import mapped
from recipes.general_matchers.teachers import load_shards, read_text_column
from recipes.general_matchers.trunk import Targets, held

RANKS = 30


def write_neighbours(cache: Path, teacher: str, ranks: int = RANKS, cells: int = 1) -> int:
    """Write neighbours.npy (N, ranks), -1 where a text has no vector of the teacher yet.

    Args:
        cache: folder of texts.tsv and of the teachers' vectors.
        teacher: whose vectors; those of mpnet are brought into the student's width.
        ranks: near texts of each text, from the nearest on.
        cells: of the index, of which an eighth is searched; 1: exact.

    Returns:
        How many texts have neighbours.

    Raises:
        ToolError: faiss is not installed.
    """
    try:
        import faiss
    except ImportError as error:
        raise ToolError("faiss is missing; run `pip install faiss-cpu==1.15.1` first") from error
    count = len(read_text_column(cache / "texts.tsv"))
    vectors, there = load_shards(cache / teacher, count)
    rows = np.flatnonzero(there)
    rows = rows[rows >= held(count)]
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
    save_array(cache / "neighbours.npy", out)
    return len(rows)
