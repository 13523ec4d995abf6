"""Pairs made by rule: near-identical texts that differ in one thing that matters, and same texts reworded.

Templates and slot fillers of the two sides (`train`, `test`) have nothing in common, so that a test asks
about forms and words that no training pair had. The matchers for Quora's questions learn from `train`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from recipes.general_matchers.minimal_pair_templates import (
    ACTS,
    CHANGED,
    EVENTS,
    FIRMS,
    NAMES,
    PLACES,
    REWRITTEN,
    THINGS,
)
from recipes.general_matchers.numerics import generator

DIFFERENT = ("number", "name", "negation", "before_after", "swapped_roles")
SAME = ("synonym", "word_order")


@dataclass(frozen=True)
class MadePair:
    """Two texts, what was done to them, and whether they still say the same (1) or not (0)."""

    kind: str
    label: int
    left: str
    right: str


def generate(side: str, each: int, seed: int) -> Iterator[MadePair]:
    """`each` distinct pairs of every kind, as far as the templates reach."""
    draw = generator(f"{side} {seed}")
    for kind in (*DIFFERENT, *SAME):
        found: set[MadePair] = set()
        for _ in range(each * 20):
            if len(found) == each:
                break
            pair = make(kind, side, draw)
            if pair not in found and pair.left != pair.right:
                found.add(pair)
                yield pair


def _fill(side: str, draw: random.Random) -> dict[str, str]:
    a, b = draw.sample(NAMES[side], 2)
    p, q = draw.sample(PLACES[side], 2)
    f, g = draw.sample(FIRMS[side], 2)
    numbers = range(3, 60) if side == "train" else range(4, 90)
    return {
        "a": a,
        "b": b,
        "p": p,
        "q": q,
        "f": f,
        "g": g,
        "n": str(draw.choice(numbers)),
        "x": draw.choice(ACTS[side]),
        "t": draw.choice(THINGS[side]),
        "e": draw.choice(EVENTS[side]),
        "c": draw.choice(("cat", "boy", "goat", "horse")),
    }


def make(kind: str, side: str, draw: random.Random) -> MadePair:
    """One pair of a kind."""
    slots = _fill(side, draw)
    label = int(kind in SAME)
    if kind in CHANGED:
        form = draw.choice(CHANGED[kind][side])
        other = dict(slots)
        fresh = _fill(side, draw)
        names = ["n"] if kind == "number" else [s for s in "apf" if f"{{{s}}}" in form]
        change = draw.choice(names)
        while fresh[change] == slots[change]:
            fresh = _fill(side, draw)
        other[change] = fresh[change]
        left, right = form.format(**slots), form.format(**other)
    else:
        first, second = draw.choice(REWRITTEN[kind][side])
        left, right = first.format(**slots), second.format(**slots)
    if draw.random() < 0.3:
        left, right = left.lower(), right.lower()
    return MadePair(kind, label, *((left, right) if draw.random() < 0.5 else (right, left)))
