"""Result types of the task classes."""

from __future__ import annotations

from typing import NamedTuple


class Hit(NamedTuple):
    """One of the texts that were searched or ranked."""

    place: int  # among them, from 0
    score: float
    text: str


class LabelledSpan(NamedTuple):
    """A part of a text and its label."""

    label: str
    score: float  # probability
    start: int  # characters of the text
    end: int
    text: str


class Answer(NamedTuple):
    """A part of a context that answers a question; empty, with an empty text, where there is no answer."""

    text: str
    score: float  # probability
    start: int  # characters of the context
    end: int
