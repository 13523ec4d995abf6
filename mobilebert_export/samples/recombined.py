"""Makes many text pairs from the bundled ones by recombining and editing them, the same on every machine.

A matcher meets pairs of every kind here: the same text twice with slips of the keyboard, paraphrases with a
word left out, a near miss by one number or one negation, two texts on different things, short questions and
long paragraphs. Nothing says which of them match; what is compared is two forms of one network.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from mobilebert_runtime.tokenizer import Pair

_FILLERS = ("please", "really", "in the end", "for my sister", "again", "on Monday", "3 times", "not")


def _drop_word(words: list[str], draw: random.Random) -> list[str]:
    place = int(draw.random() * len(words))
    return words[:place] + words[place + 1 :] if len(words) > 2 else words


def _insert_word(words: list[str], draw: random.Random) -> list[str]:
    place = int(draw.random() * (len(words) + 1))
    return [*words[:place], _FILLERS[int(draw.random() * len(_FILLERS))], *words[place:]]


def _swap_words(words: list[str], draw: random.Random) -> list[str]:
    if len(words) < 2:
        return words
    place = int(draw.random() * (len(words) - 1))
    return [*words[:place], words[place + 1], words[place], *words[place + 2 :]]


def _slip(words: list[str], draw: random.Random) -> list[str]:
    """Two neighbouring letters of a word change places."""
    place = int(draw.random() * len(words))
    word = words[place]
    if len(word) < 3:
        return words
    at = int(draw.random() * (len(word) - 1))
    return [*words[:place], word[:at] + word[at + 1] + word[at] + word[at + 2 :], *words[place + 1 :]]


def _change_number(words: list[str], draw: random.Random) -> list[str]:
    digits = [place for place, word in enumerate(words) if any(letter.isdigit() for letter in word)]
    if not digits:
        return _insert_word(words, draw)
    place = digits[int(draw.random() * len(digits))]
    changed = "".join(
        str((int(letter) + 1) % 10) if letter in "0123456789" else letter for letter in words[place]
    )
    return [*words[:place], changed, *words[place + 1 :]]


def _lowercase(words: list[str], _draw: random.Random) -> list[str]:
    return [word.lower().strip(".,;:!?") or word for word in words]


_RULES: tuple[Callable[[list[str], random.Random], list[str]], ...] = (
    _drop_word,
    _insert_word,
    _swap_words,
    _slip,
    _change_number,
    _lowercase,
)
# Share of pairs whose second text is: the partner, the first text itself, any other text.
_PARTNER, _ITSELF = 0.55, 0.8


def recombined(pairs: Sequence[Pair], count: int, seed: int) -> list[Pair]:
    """A number of different pairs made from some, none of them given.

    Args:
        pairs: to start from, at least two.
        count: pairs to make; a few thousand per hundred given.
        seed: of the choices.
    """
    draw = random.Random(seed)  # noqa: S311 (`random()` gives the same numbers in every version of Python)
    made: dict[Pair, None] = {}
    given = set(pairs)
    while len(made) < count:
        first, second = pairs[int(draw.random() * len(pairs))]
        if draw.random() < 0.5:
            first, second = second, first
        kind = draw.random()
        if kind >= _ITSELF:
            second = pairs[int(draw.random() * len(pairs))][int(draw.random() * 2)]
        elif kind >= _PARTNER:
            second = first
        changed = _changed(first, draw), _changed(second, draw)
        if all(changed) and changed not in given:
            made[changed] = None
    return list(made)


def _changed(text: str, draw: random.Random) -> str:
    """The text after none, one, two or three of the rules."""
    words = text.split()
    for _ in range(int(draw.random() * 4)):
        if words:
            words = _RULES[int(draw.random() * len(_RULES))](words, draw)
    return " ".join(words)
