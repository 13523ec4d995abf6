"""Pairs made by editing natural sentences: a number, name, negation, before/after or two names changed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

from recipes.general_matchers.minimal_pairs import MadePair

_VERBS = r"\b(is|are|was|were|can|could|will|would|should|has been|have been|does|do|did)\b"
_NAME = r"(?<=[a-z,] )[A-Z][a-z]{2,}\b"
_JOINED = re.compile(r"^[,\s]*(and|or|,|&)?[,\s]*$")

Edit = Callable[[str, Sequence[str], random.Random], "str | None"]


def _number(text: str, names: Sequence[str], draw: random.Random) -> str | None:  # noqa: ARG001
    found = list(re.finditer(r"\b\d{1,4}\b", text))
    if not found:
        return None
    match = draw.choice(found)
    value = int(match.group())
    other = value + draw.choice((-1, 1)) * draw.randint(1, max(2, value // 3))
    return None if other < 0 else text[: match.start()] + str(other) + text[match.end() :]


def _name(text: str, names: Sequence[str], draw: random.Random) -> str | None:
    found = list(re.finditer(_NAME, text))
    if not found or not names:
        return None
    match = draw.choice(found)
    return text[: match.start()] + draw.choice(names) + text[match.end() :]


def _negation(text: str, names: Sequence[str], draw: random.Random) -> str | None:  # noqa: ARG001
    if re.search(r"\bnot\b", text):
        return re.sub(r"\bnot ", "", text, count=1)
    match = re.search(_VERBS, text)
    if match is None:
        return None
    word = match.group()
    short = f"{word}n't" if word in ("is", "are", "was", "were", "does", "did") else f"{word} not"
    return text[: match.start()] + draw.choice((f"{word} not", short)) + text[match.end() :]


def _before_after(text: str, names: Sequence[str], draw: random.Random) -> str | None:  # noqa: ARG001
    match = re.search(r"\b(before|after)\b", text)
    if match is None:
        return None
    return text[: match.start()] + {"before": "after", "after": "before"}[match.group()] + text[match.end() :]


def _swapped_roles(text: str, names: Sequence[str], draw: random.Random) -> str | None:  # noqa: ARG001
    found = list(re.finditer(_NAME, text))
    if len(found) < 2:
        return None
    one, two = sorted(draw.sample(found, 2), key=lambda m: m.start())
    between = text[one.end() : two.start()]
    if one.group() == two.group() or _JOINED.match(between) or len(between.split()) < 2:
        return None
    return text[: one.start()] + two.group() + between + one.group() + text[two.end() :]


def _fronted(text: str, names: Sequence[str], draw: random.Random) -> str | None:  # noqa: ARG001
    """The same with its last phrase of time or place in front."""
    match = re.fullmatch(
        r"([A-Z].{15,}?) ((?:in|on|at|during|after|before|since|by) [^,;]{3,40})([.!])", text
    )
    if match is None:
        return None
    body, phrase, end = match.groups()
    if body.split()[0] in ("The", "A", "An", "He", "She", "It", "They", "There", "This", "Two", "His", "Her"):
        body = body[0].lower() + body[1:]
    return f"{phrase[0].upper()}{phrase[1:]}, {body}{end}"


EDITS: dict[str, tuple[int, Edit]] = {
    "number": (0, _number),
    "name": (0, _name),
    "negation": (0, _negation),
    "before_after": (0, _before_after),
    "swapped_roles": (0, _swapped_roles),
    "word_order": (1, _fronted),
}


def edited(texts: Sequence[str], each: int, seed: int) -> Iterator[MadePair]:
    """Up to `each` pairs of every kind out of `texts`."""
    draw = random.Random(seed)  # noqa: S311 (texts are drawn, no secrets)
    names = sorted({m for text in texts[:5000] for m in re.findall(_NAME, text)})
    for kind, (label, edit) in EDITS.items():
        count = 0
        for text in draw.sample(list(texts), len(texts)):
            if count == each:
                break
            other = edit(text, names, draw)
            if other is None or other == text:
                continue
            count += 1
            left, right = (text, other) if draw.random() < 0.5 else (other, text)
            if draw.random() < 0.3:
                left, right = left.lower(), right.lower()
            yield MadePair(kind, label, left, right)
