"""The words by which the open matchers correct misspelt texts, the most frequent first."""

from __future__ import annotations

import lzma
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mobilebert_runtime.files import replacing
from mobilebert_runtime.spelling import LONGEST, MOST_WORDS, PROTECTED, SHORTEST

LEAST = 3  # times a word must occur
NEAR = 24  # times a word of a text to learn from counts beside one of the corpora, which are so much larger
PIECE = 1 << 22  # characters


def frequent_words(texts: Iterable[str], near: Iterable[str] = (), least: int = LEAST) -> list[str]:
    """Words of a to z that occur at least so often, the most frequent first.

    Args:
        texts: what is counted once.
        near: texts of the kind that will be read; their words count `NEAR` times in the order.
        least: times a word must occur in both together.
    """
    counts, more = (_counted(some) for some in (texts, near))
    words = [
        (-count - NEAR * more[word], word)
        for word in (counts | more)
        if (count := counts[word]) + more[word] >= least and SHORTEST <= len(word) <= LONGEST
    ]
    return [word for _, word in sorted(words)][:MOST_WORDS]


def _counted(texts: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(re.findall(r"[a-z]+", text.lower()))
    return counts


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
    """`words` with those of `own` raised to the last of the lines that are never corrected.

    At most half of these lines are taken; own words beyond that stay where they are or go to the end.
    """
    first = set(words[:PROTECTED])
    raised = [word for word in dict.fromkeys(own) if word not in first][: PROTECTED // 2]
    there = set(raised)
    others = [word for word in words if word not in there]
    before = PROTECTED - len(raised)
    return list(dict.fromkeys([*others[:before], *raised, *others[before:], *own]))[:MOST_WORDS]


def write_words(words: Sequence[str], out: Path, *, force: bool = False) -> None:
    """Write a list that `SpellingCorrector` reads, a word a line, whole or not at all."""
    with replacing(out, force=force) as partial:
        partial.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
