"""Small data sets whose labels lengths give away: folders of pairs and of lists, and examples in memory."""

import numpy as np

from mobilebert_matching.length_bias.training_sets import Examples
from studies.length_bias.word_level.word_vectors import WordVectors

WORDS = ["swim", "learn", "best", "phone", "money", "india", "python", "cook", "rice", "run", "yes", "no"]


def rows(count, seed, *, longer_negatives=False):
    """Pairs that are alike when their label is 1; negatives may also be longer, which is the bias."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        label = int(rng.random() < 0.4)
        text = list(rng.choice(WORDS[:10], rng.integers(2, 5), replace=False))
        other = text[::-1] if label else list(rng.choice(WORDS, len(text), replace=False))
        if longer_negatives and rng.random() < (0.3 if label else 0.8):
            other += list(rng.choice(WORDS, rng.integers(1, 4 if label else 7)))
        out.append((label, " ".join(text), " ".join(other)))
    return out


def examples(count=64, seed=0):
    made = rows(count, seed)
    return Examples([(a, b) for _, a, b in made], np.array([y for y, *_ in made]), None)


def write_data_sets(root):
    """Stand-ins for a data set of pairs and one of lists, named as the real ones; returns `root`."""
    for name, header in (
        ("qqp", "label\tquestion1\tquestion2"),
        ("trecqa", "label\tqid\tquestion\tsentence"),
    ):
        folder = root / name
        folder.mkdir(parents=True)
        for seed, (part, count) in enumerate((("train", 400), ("dev", 80), ("test", 160))):
            lines = [header]
            for i, (label, a, b) in enumerate(rows(count, seed, longer_negatives=True)):
                query = f"{i // 8}\t" if name == "trecqa" else ""
                lines.append(f"{label}\t{query}{a}\t{b}")
            (folder / f"{part}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


def use_small_vectors(monkeypatch):
    """Random word vectors of `WORDS` in the place of the installed ones."""
    rng = np.random.default_rng(0)
    made = WordVectors.of({word: rng.normal(size=300) for word in WORDS}, unknown=16)
    monkeypatch.setattr(WordVectors, "installed", classmethod(lambda cls: made))
    return made
