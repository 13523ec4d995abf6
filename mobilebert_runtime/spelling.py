"""Misspelt words put right before a text becomes tokens: unknown words at one edit of a frequent one.

Standard library only. The idea is Norvig's ("How to Write a Spelling Corrector", 2007) with the rank in a
corpus as the only model; where nothing lies at one edit the word stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from string import ascii_lowercase

from mobilebert_runtime.card_parts import SPELLING_FILE
from mobilebert_runtime.checked import read_text
from mobilebert_runtime.errors import ArtefactError

# Letters of a word that is looked at: nearly every string of three letters is at one edit of a word.
SHORTEST, LONGEST = 4, 24
# A capital within a text begins a name, and short names are at one edit of words.
SHORTEST_CAPITALISED = 6
CORRECTIONS = 20_000  # words of a list, the most frequent, that others are corrected to
MOST_WORDS = 500_000
# Characters of a text that are looked at, more than any network reads.
READ = 4096
# Between spaces or at punctuation; what holds digits, apostrophes, hyphens, dots or other letters is no word.
_WORD = re.compile(
    rf'(?<![^\s"(\[])[A-Za-z]{{{SHORTEST},{LONGEST}}}(?=[\s,;:!?")\]]|\.?(?![\s\S])|\.\s)', re.ASCII
)
_LINE = re.compile(rf"[a-z]{{{SHORTEST},{LONGEST}}}")
_LETTER = re.compile("[A-Za-z]")


class SpellingCorrector:
    """Corrects the words of a text that a list does not hold. Many threads may use one at once.

    Args:
        words: lower-case words of a to z, the most frequent first.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._known = frozenset(words)
        self._rank = {word: rank for rank, word in enumerate(islice(words, CORRECTIONS))}

    @classmethod
    def load(cls, directory: str | Path) -> SpellingCorrector:
        """Read spelling.txt of a model directory or an artefact: a word a line, the most frequent first.

        Raises:
            ArtefactError: the file is missing or damaged.
        """
        path = Path(directory) / SPELLING_FILE
        lines = read_text(path).split("\n")
        if lines.pop() or not 1 <= len(lines) <= MOST_WORDS:
            raise ArtefactError(f"{path}: expected 1 to {MOST_WORDS:,} lines, each with an end")
        seen: set[str] = set()
        for number, word in enumerate(lines, 1):
            if not _LINE.fullmatch(word) or word in seen:
                raise ArtefactError(
                    f"{path}: line {number} is {word[:40]!r}; expected another word of {SHORTEST} to "
                    f"{LONGEST} letters a to z"
                )
            seen.add(word)
        return cls(lines)

    def corrected(self, text: str) -> str:
        """The text with every word that is not in the list and at one edit of a frequent one replaced by it.

        Of several the most frequent is taken. A replaced word is in lower case. Left alone are words with a
        capital after their first letter, and shorter ones that begin with one, unless they begin the text.
        """
        parts, done = [], 0
        for match in _WORD.finditer(text):
            if match.start() >= READ:
                break
            found = self._correction(match.group(), first=_LETTER.search(text).start() == match.start())  # type: ignore[union-attr]
            if found is not None:
                parts += [text[done : match.start()], found]
                done = match.end()
        return "".join([*parts, text[done:]]) if parts else text

    def _correction(self, word: str, *, first: bool) -> str | None:
        lower = word.lower()
        name = word[0] != lower[0] and not first and len(word) < SHORTEST_CAPITALISED
        if name or word[1:] != lower[1:] or lower in self._known:
            return None
        found = [edit for edit in _edits(lower) if edit in self._rank]
        return min(found, key=self._rank.__getitem__) if found else None


def _edits(word: str) -> Iterator[str]:
    """All strings at one deletion, swap of neighbours, replacement or insertion of a letter."""
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        yield from (head + letter + tail for letter in ascii_lowercase)
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in ascii_lowercase)
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
