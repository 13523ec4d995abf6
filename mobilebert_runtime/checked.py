"""Reads untrusted files: a maximum size for files, a known type and range for JSON fields.

Standard library only. Everything wrong is an `ArtefactError` that names the file and the field.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mobilebert_runtime.errors import ArtefactError

MEBIBYTE = 1 << 20
# Largest size in bytes of each file that an artefact must have; a model is a flatbuffer or a protobuf.
SIZES = {
    "io.json": MEBIBYTE,
    "recipe.json": MEBIBYTE,
    "SHA256SUMS": MEBIBYTE,
    "SHA256SUMS.minisig": MEBIBYTE,
    "vocab.txt": 32 * MEBIBYTE,
    "spelling.txt": 8 * MEBIBYTE,
    "tokenizer.json": 128 * MEBIBYTE,
}
LARGEST = 2048 * MEBIBYTE


def there(path: Path) -> bool:
    """Whether a path exists; one that is too long or cannot be looked at counts as absent."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def check_file(path: Path) -> None:
    """Refuse, before opening it, anything but a regular file of a sensible size; a pipe would never end.

    Raises:
        ArtefactError: it is missing, no regular file, or too large.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = "missing" if isinstance(error, FileNotFoundError) else f"can't be read ({error})"
        raise ArtefactError(f"{path}: {reason}; export the artefact again") from None
    if not stat.S_ISREG(status.st_mode):
        raise ArtefactError(f"{path}: is not a regular file; export the artefact again")
    largest = SIZES.get(path.name, LARGEST)
    if status.st_size > largest:
        raise ArtefactError(
            f"{path}: has {status.st_size} bytes, more than the {largest} allowed; export the artefact again"
        )


def read_bytes(path: Path) -> bytes:
    """A file, as `check_file` allows it."""
    check_file(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise ArtefactError(f"{path}: can't be read ({error}); export the artefact again") from None


def read_text(path: Path) -> str:
    """A UTF-8 file, as `check_file` allows it, with its ends of lines as they are."""
    return as_text(read_bytes(path), path)


def as_text(content: bytes, path: Path) -> str:
    """The content of a UTF-8 file; the path is for what is said."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ArtefactError(f"{path}: can't be read ({error}); export the artefact again") from None


def read_json(path: Path) -> Any:
    """A JSON file; NaN and Infinity, which JSON does not have, are refused."""
    return as_json(read_bytes(path), path)


def as_json(content: bytes, path: Path) -> Any:
    """The content of a JSON file, as `read_json`; the path is for what is said."""

    def constant(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    text = as_text(content, path)
    try:
        return json.loads(text, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise ArtefactError(f"{path}: can't be read as JSON ({error}); export the artefact again") from None


class Fields:
    """The members of a JSON object, each taken with its type and range."""

    def __init__(self, data: Any, where: str) -> None:
        self.where = where
        if not isinstance(data, dict):
            raise self.fault(f"has the wrong type: {type(data).__name__}, not an object")
        self.data: Mapping[str, Any] = data

    def fault(self, text: str) -> ArtefactError:
        """What to raise about this object."""
        return ArtefactError(f"{self.where}: {text[:300]}; export the artefact again")

    def only(self, *names: str) -> Fields:
        """Itself, without other members than these: a setting that is not known would be ignored."""
        if unknown := sorted(map(str, self.data.keys() - set(names))):
            raise self.fault(f"field {unknown[0]!r:.60} is not known to this version")
        return self

    def take(self, name: str, *kinds: type) -> Any:
        """A member of one of these types; true and false are no numbers."""
        if name not in self.data:
            raise self.fault(f"field {name!r} is missing")
        value = self.data[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.fault(f"field {name!r} has the wrong type ({value!r:.60})")
        return value

    def integer(self, name: str, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        value = self.take(name, int)
        if not low <= value <= high:
            raise self.fault(f"{name} {value!r:.60} is not from {low} to {high}")
        return value

    def number(self, name: str, low: float, high: float) -> float:
        """A finite number from `low` to `high`."""
        value = self.take(name, int, float)
        if not low <= value <= high:
            raise self.fault(f"{name} {value!r:.60} is not from {low:g} to {high:g}")
        return float(value)

    def text(self, name: str, longest: int = 64) -> str:
        """A printable text of one character or more."""
        value = self.take(name, str)
        if not (value.isprintable() and 0 < len(value.strip()) <= len(value) <= longest):
            raise self.fault(f"{name} {value!r:.60} is not a text of 1 to {longest} printable characters")
        return value

    def texts(self, name: str, least: int, most: int) -> list[str]:
        """A list of different texts."""
        values = self.take(name, list)
        if not least <= len(values) <= most:
            raise self.fault(f"{name} {values!r:.60}: expected {least} to {most}")
        found = [Fields({name: value}, self.where).text(name, 200) for value in values]
        if len(set(found)) < len(found):
            raise self.fault(f"{name} {values!r:.60} are not all different")
        return found

    def numbers(self, name: str, low: float, high: float) -> tuple[float, ...]:
        """A list of finite numbers from `low` to `high`; its length is the caller's to check."""
        values = self.take(name, list)
        return tuple(Fields({name: value}, self.where).number(name, low, high) for value in values[:64])

    def object(self, name: str) -> Fields:
        """A member that is an object itself."""
        return Fields(self.take(name, dict), self.where)

    def objects(self, name: str, most: int) -> list[Fields]:
        """A list of objects."""
        values = self.take(name, list)
        if len(values) > most:
            raise self.fault(f"{name} has {len(values)} entries, more than {most}")
        return [Fields(value, f"{self.where}: {name}") for value in values]
