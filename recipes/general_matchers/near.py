"""Near texts of each text, by the vectors of a teacher."""

from __future__ import annotations

import faiss
import numpy as np

NEAREST = 8
PROBED = 4  # cells that are searched


def neighbours(vectors: np.ndarray) -> np.ndarray:
    """The nearest others of each of N unit vectors (N, H): places (N, `NEAREST`), −1 where there is none."""
    count, size = vectors.shape
    cells = max(1, min(2048, count // 64))
    found = np.asarray(vectors, np.float32)
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(size), size, cells, faiss.METRIC_INNER_PRODUCT)
    index.cp.niter = 4
    index.cp.max_points_per_centroid = 64
    index.train(found)
    index.add(found)
    index.nprobe = PROBED
    _, near = index.search(found, NEAREST + 1)
    own = near == np.arange(count)[:, None]
    own[~own.any(1), -1] = True  # a text whose twin comes first: the last one goes
    return near[~own].reshape(count, NEAREST)
