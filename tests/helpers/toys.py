"""Labelled pairs that are learnable in a few steps, and the file that holds them."""

import numpy as np

WORDS = ["swim", "learn", "best", "phone", "money", "india", "python", "cook", "rice", "run"]


def toy_pairs(count=48, seed=0):
    """Pairs whose label a single word gives away."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    texts = [" ".join(rng.choice(WORDS, rng.integers(2, 6))) for _ in range(count)]
    return [(t, f"{'yes' if y else 'no'} {t}") for t, y in zip(texts, labels, strict=True)], labels


def write_pairs(path, pairs, labels):
    """Pairs as a TSV file with a header; its path."""
    rows = [f"{label}\t{a}\t{b}" for (a, b), label in zip(pairs, labels, strict=True)]
    path.write_text("\n".join(["label\tsentence1\tsentence2", *rows]) + "\n", encoding="utf-8")
    return path
