"""Misspellings for training and for tests: keyboard neighbours, swaps, drops, doubles, and real ones by word.

Words of `typos/words.tsv` are split by a hash of the correct word: a fifth is kept for tests.
"""

from __future__ import annotations

import csv
import random
import re
import zlib
from collections import defaultdict
from pathlib import Path

from mobilebert_runtime.spelling import NEIGHBOURS

MISSPELLINGS = "typos/words.tsv"  # in the folder of the data sets: real ones, by word
SHORTEST = 4  # characters a word needs to be misspelt


def is_test_word(word: str) -> bool:
    """Whether a word's misspellings are kept for tests."""
    return zlib.crc32(word.lower().encode()) % 5 == 0


def read_misspellings(path: Path, *, test: bool) -> dict[str, list[str]]:
    """Real misspellings by correct word, of one side of the split."""
    found: dict[str, list[str]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if is_test_word(row["word"]) == test and " " not in row["misspelling"]:
                found[row["word"].lower()].append(row["misspelling"])
    return dict(found)


def slip(word: str, draw: random.Random) -> str:
    """One slip of the finger: a neighbouring key, two letters swapped, one dropped, one doubled."""
    at = draw.randrange(len(word) - 1)
    kind = draw.choice(("key", "swap", "drop", "double", "key", "swap", "drop"))
    if kind == "key" and word[at].lower() in NEIGHBOURS:
        return word[:at] + draw.choice(NEIGHBOURS[word[at].lower()]) + word[at + 1 :]
    if kind == "swap" and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == "double":
        return word[: at + 1] + word[at:]
    return word[:at] + word[at + 1 :]


class Misspeller:
    """Misspells words of a text; half of the time with a real misspelling where one is known.

    Args:
        path: `typos/words.tsv`; without it no real misspelling is known.
        test: take the words kept for tests, and only them; else the other words.
    """

    def __init__(self, path: Path | None, *, test: bool = False) -> None:
        self.known = {} if path is None else read_misspellings(path, test=test)
        self.test = test

    def words(self, text: str) -> list[re.Match[str]]:
        """The words that may be misspelt."""
        found = re.finditer(rf"[A-Za-z]{{{SHORTEST},}}", text)
        return [w for w in found if not self.test or is_test_word(w.group())]

    def one(self, text: str, draw: random.Random) -> str:
        """The text with one word misspelt, unchanged where no word can be."""
        words = self.words(text)
        if not words:
            return text
        match = draw.choice(words)
        word = match.group()
        real = self.known.get(word.lower())
        wrong = draw.choice(real) if real and draw.random() < 0.5 else slip(word, draw)
        return text[: match.start()] + wrong + text[match.end() :]

    def noisy(self, text: str, draw: random.Random) -> str:
        """One misspelling, in longer texts sometimes two; now and then all in lower case."""
        text = self.one(text, draw)
        if len(text) > 40 and draw.random() < 0.3:
            text = self.one(text, draw)
        return text.lower() if draw.random() < 0.2 else text
