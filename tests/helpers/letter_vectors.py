"""An embedder that needs no model: hashed character trigrams, projected; and a mining job on Ray with it."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from mobilebert_matching.mining.cluster import connected, run_blocks
from mobilebert_matching.mining.job import STAGES, MiningConfig, MiningJob
from mobilebert_matching.mining.stages import merge_pairs, work_of

WIDTH = 48
WORDS = [
    "how",
    "do",
    "i",
    "cook",
    "rice",
    "learn",
    "python",
    "money",
    "phone",
    "best",
    "way",
    "to",
    "swim",
    "india",
    "run",
    "fast",
    "what",
    "is",
    "the",
    "moon",
]


def some_texts() -> list[str]:
    """300 distinct texts."""
    random = np.random.default_rng(0)
    found: dict[str, None] = {}
    while len(found) < 300:
        found[" ".join(random.choice(WORDS, random.integers(3, 9)))] = None
    return list(found)


def letter_vectors(texts: Sequence[str]) -> np.ndarray:
    """Unit vectors (N, WIDTH), each of its text alone."""
    hashed = HashingVectorizer(analyzer="char", ngram_range=(3, 3), n_features=512, norm=None).transform(
        texts
    )
    project = np.random.default_rng(1).normal(size=(512, WIDTH))
    vectors = np.stack([row @ project for row in hashed.toarray()])
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def mine_on_ray(out: str) -> None:
    """All stages with two workers of a local cluster."""
    job = MiningJob(Path(out), some_texts(), MiningConfig("letters", block_size=32))
    with connected("local", 2) as ray:
        for stage in STAGES:
            run_blocks(ray, job.missing(stage), partial(work_of, stage, job, load), 2)
    merge_pairs(job)


def load():
    """What a worker embeds with."""
    return letter_vectors
