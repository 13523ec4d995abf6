"""The names of a classifier's classes, and which of them means that two texts match."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mobilebert_runtime.errors import ModelError, OptionError, printable
from mobilebert_runtime.files import parse_json

# Names that say "these two texts match", after `_normalised`. The whole name must be in the table, so that a
# negation (not_duplicate, non-paraphrase, not entailment) is not.
MATCH_NAMES = frozenset(
    (
        *("duplicate", "duplicates", "paraphrase", "paraphrases", "same", "equal", "equivalent"),
        *("semantically_equivalent", "entailment", "entails", "match", "matches"),
        *("similar", "related", "relevant"),
    )
)
# Names that mean a match only where it is known that the question was whether two texts match. "positive" is
# not among them: it is a sentiment as well.
ANSWER_NAMES = frozenset({"yes", "true", "1"})
_UNNAMED = re.compile(r"label_\d+")  # what `transformers` writes where nobody named the classes


def read_labels(directory: Path) -> tuple[str, ...]:
    """Class names in the order of the logits, from `id2label` of a directory's config.json.

    `transformers` leaves `id2label` out where there are two classes without names of their own; older files
    say `num_labels` in its place.

    Raises:
        ModelError: config.json is missing or damaged, or `id2label` does not number distinct names from 0.
    """
    path = directory / "config.json"
    try:
        values = parse_json(path.read_text(encoding="utf-8"))
        given = values.get("id2label") or {i: f"LABEL_{i}" for i in range(int(values.get("num_labels") or 2))}
        names = {int(number): str(name) for number, name in given.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"{path}: no class names can be read ({error})") from error
    if sorted(names) != list(range(len(given))) or len(set(names.values())) != len(names):
        raise ModelError(f"{path}: id2label {given} does not name every class from 0 up, each differently")
    return readable(tuple(names[number] for number in range(len(names))), path)


def readable(labels: tuple[str, ...], path: Path) -> tuple[str, ...]:
    """The labels of a file; raises `ModelError` where one can't be shown on one line."""
    for label in labels:
        if not label.strip() or printable(label) != label or "\t" in label or "\n" in label:
            raise ModelError(
                f"{path}: the label {label!r:.60} is empty, or has characters that can't be shown; rename it"
            )
    return labels


def match_indices(labels: Sequence[str]) -> list[int]:
    """The classes whose names say by themselves that two texts match."""
    return [i for i, name in enumerate(labels) if _normalised(name) in MATCH_NAMES]


def positive_index(labels: Sequence[str], chosen: str | None = None) -> int:
    """Which class of a matcher means a match: the one named `chosen`, else the only one whose name says so.

    Raises:
        OptionError: no class is called `chosen`, or the names do not say which class it is.
    """
    listed = ", ".join(labels)
    if chosen is not None:
        if chosen not in labels:
            raise OptionError(f"--positive {chosen!r}: the classes are {listed}")
        return list(labels).index(chosen)
    found = [i for i, name in enumerate(labels) if _normalised(name) in MATCH_NAMES | ANSWER_NAMES]
    if len(found) != 1:
        unnamed = all(_UNNAMED.fullmatch(_normalised(name)) for name in labels)
        why = "have no names" if unnamed else "do not say which one means a match"
        error = OptionError(f"the classes ({listed}) {why}; name them in config.json, as id2label")
        raise error.or_with("give its name", "--positive")
    return found[0]


def _normalised(name: str) -> str:
    """Lower case, words joined by underscores, without a leading "is"."""
    return "_".join(re.findall(r"[^\W_]+", name.lower())).removeprefix("is_")
