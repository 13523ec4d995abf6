"""Unlabelled pairs for a teacher to label: near neighbours among the texts at hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

Pair = tuple[str, str]
_CHUNK = 1000  # rows of the similarity matrix that are held at a time


def mine_pairs(
    texts: Sequence[str],
    count: int,
    *,
    neighbours: int = 6,
    known: Sequence[Pair] = (),
    seed: int = 0,
) -> list[Pair]:
    """Draw `count` distinct pairs of texts that share rare words: the pairs a matcher finds hard.

    Each text proposes its nearest texts by the cosine of TF-IDF vectors over words and word pairs; half of
    what is drawn comes from the nearest third of the proposals. Neither identical texts nor known pairs are
    proposed. Deterministic from the seed.

    Args:
        texts: candidates, duplicates allowed.
        count: pairs wanted; fewer come back when there are not enough proposals.
        neighbours: proposals a text makes.
        known: pairs in either order that must not come back.
        seed: of the draw.
    """
    unique = list(dict.fromkeys(texts))
    common = max(
        10, len(unique) // 50
    )  # a word in more texts than this says little and costs most of the time
    vectors = TfidfVectorizer(
        ngram_range=(1, 2), min_df=2, max_df=common, sublinear_tf=True, dtype=np.float32
    )
    matrix = vectors.fit_transform(unique)
    seen = {frozenset(p) for p in known}
    found: dict[frozenset[str], tuple[float, Pair]] = {}
    transposed = matrix.T.tocsr()
    for start in range(0, len(unique), _CHUNK):
        similar = (matrix[start : start + _CHUNK] @ transposed).tocsr()
        for row in range(similar.shape[0]):
            data = similar.data[similar.indptr[row] : similar.indptr[row + 1]]
            columns = similar.indices[similar.indptr[row] : similar.indptr[row + 1]]
            best: np.ndarray | list[int] = (
                np.argpartition(-data, min(neighbours, len(data) - 1))[: neighbours + 1] if len(data) else []
            )
            for i in best:
                other, key = int(columns[i]), frozenset((unique[start + row], unique[columns[i]]))
                if other != start + row and len(key) == 2 and key not in seen:
                    found[key] = (float(data[i]), (unique[start + row], unique[other]))
    ranked = [pair for _, pair in sorted(found.values(), key=lambda item: (-item[0], item[1]))]
    rng = np.random.default_rng(seed)
    cut = len(ranked) // 3
    near = rng.permutation(cut)[: count // 2]
    far = cut + rng.permutation(len(ranked) - cut)[: count - len(near)]
    return [ranked[i] for i in np.sort(np.concatenate([near, far]))]
