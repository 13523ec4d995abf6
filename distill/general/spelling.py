"""The words by which the open matchers correct misspelt texts, the most frequent first."""

from __future__ import annotations

import lzma
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mobilebert_runtime.files import replacing
from mobilebert_runtime.spelling import LONGEST, MOST_WORDS, SHORTEST

LEAST = 3  # times a word must occur
PIECE = 1 << 22  # characters


def frequent_words(texts: Iterable[str], least: int = LEAST) -> list[str]:
    """Words of a to z that occur at least so often, the most frequent first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(re.findall(r"[a-z]+", text.lower()))
    words = [
        (-count, word)
        for word, count in counts.items()
        if count >= least and SHORTEST <= len(word) <= LONGEST
    ]
    return [word for _, word in sorted(words)]


def corpus_pieces(paths: Sequence[Path]) -> Iterator[str]:
    """The text of .xz files in pieces that end between two words."""
    for path in paths:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            rest = ""
            while piece := file.read(PIECE):
                whole, _, rest = (rest + piece).rpartition(" ")
                yield whole
            yield rest


def known_beside(words: Sequence[str], own: Sequence[str]) -> list[str]:
    """`words`, and behind them those of `own` that they lack: these are left as they are."""
    return list(dict.fromkeys([*words, *own]))[:MOST_WORDS]


def write_words(words: Sequence[str], out: Path, *, force: bool = False) -> None:
    """Write a list that `SpellingCorrector` reads, a word a line, whole or not at all."""
    with replacing(out, force=force) as partial:
        partial.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
