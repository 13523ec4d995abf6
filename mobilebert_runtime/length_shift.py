"""Removes the length prior from a score at run time: two word counts, three cuts, four numbers.

Standard library only, for it travels with an artefact. Definitions: Jiang et al. 2022, Eq. 1 and 2;
`mobilebert calibrate` fits the numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

CATEGORIES = 4


@dataclass(frozen=True)
class LengthShift:
    """What is added to the log-odds of the positive label, after the temperature, by category of the pair.

    Raises:
        ValueError: not three ascending quartiles, or not four numbers to add.
    """

    quartiles: tuple[float, ...]  # of |words(a) − words(b)| / min(words(a), words(b)) on the training pairs
    added: tuple[float, ...]  # in CAT1 to CAT4

    def __post_init__(self) -> None:
        if len(self.quartiles) != CATEGORIES - 1 or list(self.quartiles) != sorted(self.quartiles):
            raise ValueError(f"quartiles {list(self.quartiles)} are not three ascending numbers")
        if len(self.added) != CATEGORIES:
            raise ValueError(f"{len(self.added)} numbers to add for {CATEGORIES} categories")

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> LengthShift | None:
        """Read `to_json`'s object; None stays None.

        Raises:
            KeyError, TypeError, ValueError: it is not one.
        """
        if data is None:
            return None
        return cls(tuple(map(float, data["quartiles"])), tuple(map(float, data["added"])))

    def to_json(self) -> dict[str, list[float]]:
        """Quartiles and what is added."""
        return {name: list(values) for name, values in asdict(self).items()}

    def of(self, pairs: Iterable[tuple[str, str]]) -> list[float]:
        """What to add for each pair; 0 where a text has no words, for then Eq. (1) has no value."""
        return [self._of(len(a.split()), len(b.split())) for a, b in pairs]

    def _of(self, words_a: int, words_b: int) -> float:
        shorter = min(words_a, words_b)
        if not shorter:
            return 0.0
        # A value equal to a quartile belongs to the category below it.
        return self.added[bisect_left(self.quartiles, abs(words_a - words_b) / shorter)]
