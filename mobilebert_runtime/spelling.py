"""Corrects misspelt words before tokenization: unknown or rare ones that are one edit from a frequent word.

Standard library only. A noisy channel (Kernighan, Church and Gale 1990; Norvig 2007) in whole numbers: how
often a word occurs is taken to fall as its line in the list (Zipf), and each kind of edit has a factor that
says how much rarer it is than a dropped, a doubled or two swapped letters. The word with the least product is
the correction, where that product is small enough; elsewhere the word stays as it is.

In a pair, a known word of the other text comes before all others: the two often speak of the same things
(a cache model of language, Kuhn and De Mori 1990). A word that stands in both texts is meant, and stays.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path
from string import ascii_lowercase

from mobilebert_runtime.card_parts import SPELLING_FILE
from mobilebert_runtime.checked import read_text
from mobilebert_runtime.errors import ArtefactError

SHORTEST, LONGEST = 3, 24  # letters of a word that is looked at
# A capital within a text begins a name, and names of three letters are at one edit of many words.
SHORTEST_NAME = 4
# The first lines of a list are never corrected. A word further down is one whose product is this many times
# smaller than its own line: lists hold misspellings too, and rare words that are typed less often by intent
# than by mistake.
PROTECTED, RARER = 20_000, 50
# The largest product is this times 2 for each letter up to the eighth: a string of few letters is at one edit
# of some word by chance. A name counts as a letter shorter, for many names are in no list.
REACH, REACHING = 1000, 8
# Factors of edits. A slip to a key beside the one meant is that much rarer than a dropped, doubled or swapped
# letter, any other letter replaced or added again; the first letter is seldom wrong.
BESIDE, OTHER, FIRST = 2, 16, 2
# From so many letters on, a word of a pair's other text may be two edits off, but for its first letter.
TWO_EDITS = 6
# Of as many as begin with the same letter, the most frequent ones: more than a text that is read holds.
MOST_BESIDE = 64
MOST_WORDS = 500_000
# Words whose near ones are kept.
MOST_LOOKED_UP = 4096
# Characters of a text that are looked at, more than any network reads.
READ = 4096
# Between spaces, hyphens or at punctuation; what holds digits, dots or other letters is no word.
_WORD = re.compile(
    rf"""(?<![^\s"(\[-])[A-Za-z]{{{SHORTEST},{LONGEST}}}(?=[\s,;:!?")\]-]|\.?(?![\s\S])|\.\s|'s)""", re.ASCII
)
_LINE = re.compile(rf"[a-z]{{{SHORTEST},{LONGEST}}}")
_LETTER = re.compile("[A-Za-z]")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def _neighbours() -> dict[str, str]:
    """Keys beside each key on a QWERTY keyboard."""
    found = dict.fromkeys(ascii_lowercase, "")
    for row, keys in enumerate(_ROWS):
        for column, key in enumerate(keys):
            for down, right in ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, 0), (1, -1)):
                if 0 <= row + down < len(_ROWS) and 0 <= column + right < len(_ROWS[row + down]):
                    found[key] += _ROWS[row + down][column + right]
    return found


NEIGHBOURS = _neighbours()
_OTHERS = {key: [one for one in ascii_lowercase if one not in near] for key, near in NEIGHBOURS.items()}
# A word of the list: its line times the factor of the edit, its line, the word.
_Near = tuple[int, int, str]


class SpellingCorrector:
    """Corrects words that a list lacks or ranks as rare. Safe to use from many threads.

    Args:
        words: lower-case words of a to z, the most frequent first.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._line = {word: line for line, word in enumerate(words, 1)}
        self.kept: frozenset[str] = frozenset()  # words that stay, in lower case
        # What was looked up: both passes over a pair, and candidates of one query, ask for the same words.
        self._looked_up: dict[str, tuple[_Near, ...]] = {}

    @classmethod
    def load(cls, directory: str | Path) -> SpellingCorrector:
        """Read spelling.txt of a model directory: a word a line, the most frequent first.

        Raises:
            ArtefactError: the file is missing or damaged.
        """
        path = Path(directory) / SPELLING_FILE
        return cls.parse(read_text(path), path)

    @classmethod
    def parse(cls, text: str, path: Path) -> SpellingCorrector:
        """As `load`, of the file's text; the path is for what is said."""
        lines = text.split("\n")
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

    def keeping(self, texts: Iterable[str]) -> SpellingCorrector:
        """The same corrector, which leaves the words of some texts as they are, in any case."""
        made = copy(self)
        made.kept = self.kept.union(*map(_words, texts))
        return made

    def corrected(self, text: str) -> str:
        """The text with its unknown and rare words that are at one edit of a frequent one replaced by it.

        A replaced word is in lower case. Left alone are words with a capital after their first letter, unless
        it is only the second ("hWat"), and within a text those that begin with one and are known or short.
        """
        return self._corrected(text)

    def corrected_pair(self, a: str, b: str) -> tuple[str, str]:
        """Correct two texts of a pair, in either order: each as `corrected`, helped by the other's words.

        An unknown word at one edit of a known one of the other text becomes that one, whatever else it is
        near to; where it is near to nothing and has six letters or more, two edits after its first letter
        are allowed. Words that stand in both texts stay.
        """
        in_a, in_b = _words(a), _words(b)
        beside_a, beside_b = _words(self._corrected(b, kept=in_a)), _words(self._corrected(a, kept=in_b))
        return self._corrected(a, beside_a, in_b), self._corrected(b, beside_b, in_a)

    def _corrected(
        self, text: str, beside: frozenset[str] = frozenset(), kept: frozenset[str] = frozenset()
    ) -> str:
        """A text with its corrections.

        Args:
            text: as it was typed.
            beside: lower-case words of the text that it is compared with, after their correction.
            kept: the same before it, which stay.
        """
        parts, done = [], 0
        letter = _LETTER.search(text)
        for match in _matches(text):
            lower = match.group().lower()
            if lower in kept or lower in self.kept:
                continue
            first = letter is not None and letter.start() == match.start()
            found = self._correction(match.group(), beside, first=first)
            if found is not None:
                parts += [text[done : match.start()], found]
                done = match.end()
        return "".join([*parts, text[done:]]) if parts else text

    def _correction(self, word: str, beside: frozenset[str], *, first: bool) -> str | None:
        lower = word.lower()
        line = self._line.get(lower)
        slipped = word[1] != lower[1]  # the shift key, held too long or pressed too late
        if word[2:] != lower[2:] or (slipped and len(word) < SHORTEST_NAME):
            return None
        name = slipped or (word[0] != lower[0] and not first)
        if name and (line is not None or len(word) < SHORTEST_NAME):
            return None
        if line is not None and line <= PROTECTED:
            return None
        most = REACH << min(len(word) - name, REACHING)
        if line is not None:
            most = min(most, line // RARER)
        if line is not None:
            beside = frozenset()
        near = self._near(lower)
        best = next((one for one in near if one[-1] in beside), near[0] if near else None)
        if best is not None and (best[-1] in beside or best[0] <= most):
            return best[-1]
        return self._two_edits_off(lower, beside) if len(lower) >= TWO_EDITS else None

    def _near(self, word: str) -> tuple[_Near, ...]:
        """Words of the list at one edit, by their product."""
        found = self._looked_up.get(word)
        if found is None:
            found = tuple(
                sorted(
                    (self._line[edit] * factor, self._line[edit], edit)
                    for factor, edits in _edits(word)
                    for edit in edits
                    if edit in self._line
                )
            )
            if len(self._looked_up) >= MOST_LOOKED_UP:
                self._looked_up.clear()
            self._looked_up[word] = found
        return found

    def _two_edits_off(self, word: str, beside: frozenset[str]) -> str | None:
        """The most frequent known word beside that begins with the same letter and is so near."""
        alike = (one for one in beside if one[0] == word[0] and one in self._line)
        known = sorted(alike, key=self._line.__getitem__)[:MOST_BESIDE]
        return next((one for one in known if _within(one, word, 2)), None)


def _matches(text: str) -> Iterator[re.Match[str]]:
    """The words of a text that are looked at."""
    return itertools.takewhile(lambda match: match.start() < READ, _WORD.finditer(text))


def _words(text: str) -> frozenset[str]:
    return frozenset(match.group().lower() for match in _matches(text))


def _within(one: str, other: str, edits: int) -> bool:
    """Are two words at most so many insertions, deletions, replacements or swaps of neighbours apart?

    No letter is edited twice (optimal string alignment).
    """
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    one, other = one[same:], other[same:]
    if not one or not other or edits == 0:
        return len(one) + len(other) <= edits
    return (
        _within(one[1:], other[1:], edits - 1)
        or _within(one[1:], other, edits - 1)
        or _within(one, other[1:], edits - 1)
        or (one[1::-1] == other[:2] and _within(one[2:], other[2:], edits - 1))
    )


def _edits(word: str) -> Iterator[tuple[int, list[str]]]:
    """All strings at one insertion, deletion, replacement or swap of neighbours, by their edit's factor."""
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        first = FIRST if at == 0 else 1
        yield first, [head + letter + tail for letter in ascii_lowercase]
        if tail:
            after = tail[1:]
            doubled = tail[0] in (head[-1:], tail[1:2])
            yield first * (1 if doubled else OTHER), [head + after]
            yield first * BESIDE, [head + letter + after for letter in NEIGHBOURS[tail[0]]]
            yield first * OTHER, [head + letter + after for letter in _OTHERS[tail[0]]]
        if len(tail) > 1:
            yield 1, [head + tail[1] + tail[0] + tail[2:]]
