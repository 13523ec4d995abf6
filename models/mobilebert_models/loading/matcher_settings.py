"""How a matcher decides: matcher.json in the model directory."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

from mobilebert_models.loading.labels import positive_index, read_labels, readable
from mobilebert_runtime.card import TEMPERATURES
from mobilebert_runtime.errors import ModelError, OptionError
from mobilebert_runtime.files import parse_json


@dataclass(frozen=True)
class MatcherSettings:
    """How a pair classifier's logits become a decision; stored as matcher.json."""

    labels: tuple[str, ...] = ("different", "same")
    # Index of the label whose probability is the score.
    positive: int = 1
    # Smallest score that counts as a match, chosen on development data.
    threshold: float = 0.5
    # Logits are divided by it before the softmax (Guo et al. 2017), fitted on development data.
    temperature: float = 1.0
    # Added to the positive label's log-odds: the JSON object of the runtime's `LengthShift`.
    length_shift: dict[str, list[float]] | None = None

    def __post_init__(self) -> None:
        """Raise ValueError or TypeError for what decides nothing."""
        if len(set(self.labels)) != len(self.labels) or not all(isinstance(one, str) for one in self.labels):
            raise ValueError(f"labels are {list(self.labels)}, not different names")
        if type(self.positive) is not int or not 0 <= self.positive < len(self.labels):
            raise ValueError(f"positive is {self.positive!r}, not the number of a label")
        if not math.isfinite(self.threshold):
            raise ValueError(f"threshold is {self.threshold}")
        if not TEMPERATURES[0] <= self.temperature <= TEMPERATURES[1]:
            raise ValueError(f"temperature is {self.temperature}, not {TEMPERATURES[0]} to {TEMPERATURES[1]}")
        if self.length_shift is not None:
            sizes = {name: len(values) for name, values in self.length_shift.items()}
            if sizes != {"quartiles": 3, "added": 4}:
                raise ValueError(f"length_shift has {sizes}, not three quartiles and four numbers to add")
            numbers = [*self.length_shift["quartiles"], *self.length_shift["added"]]
            quartiles = self.length_shift["quartiles"]
            if not all(map(math.isfinite, numbers)) or quartiles != sorted(quartiles):
                raise ValueError("length_shift holds numbers that are not finite, or quartiles out of order")

    @classmethod
    def load(cls, directory: Path, positive: str | None = None) -> MatcherSettings:
        """Read matcher.json; a directory without one has the classes that its config.json names.

        Args:
            directory: of the model.
            positive: name of the label that means a match, where its name does not say so.

        Raises:
            ModelError: a file cannot be read.
            OptionError: `positive` is no label or not that of matcher.json, or is needed and missing.
        """
        path = Path(directory) / "matcher.json"
        if not path.is_file():
            labels = read_labels(Path(directory))
            try:
                return cls(labels, positive_index(labels, positive))
            except OptionError as error:
                advice, options = error.advice
                raise OptionError(f"{directory}: {error}").or_with(advice, *options) from None
        try:
            values = parse_json(path.read_text(encoding="utf-8"))
            names = values["labels"]
            # A tuple of a text would be its letters.
            found = cls(**(values | {"labels": tuple(names) if isinstance(names, list) else (names,)}))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ModelError(f"{path}: not a matcher.json ({error}); retrain or restore it") from error
        readable(found.labels, path)
        if positive not in (None, found.labels[found.positive]):
            raise OptionError(
                f"--positive {positive!r}: {path} was fitted for {found.labels[found.positive]!r}"
            )
        return found

    def save(self, directory: Path) -> None:
        """Write matcher.json."""
        self.write(Path(directory) / "matcher.json")

    def write(self, path: Path) -> None:
        """Write what `load` reads, under another name."""
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
