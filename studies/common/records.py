"""Records of runs, a JSON file each: processes can share a table, and an interrupted one goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import check_output, replacing, write_json

Json = dict[str, Any]


def recorded(path: Path, run: Callable[[], Json]) -> Json:
    """The record at `path`; where there is none yet, `run` makes it."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, run())
    return read_json(path)


def read_json(path: Path) -> Any:
    """A JSON file.

    Raises:
        DataError: it is no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path}: not JSON ({error}); remake it") from error


def read_all(folder: Path, pattern: str = "*.json") -> list[Any]:
    """The JSON files of a folder by name; an absent folder holds none.

    Raises:
        DataError: as `read_json`.
    """
    return [read_json(path) for path in sorted(folder.glob(pattern))]


def check_outputs(*paths: Path, force: bool) -> None:
    """Refuse, before any work, to replace files unless `force` says so."""
    for path in paths:
        check_output(path, force=force)


def write_text(path: Path, text: str) -> None:
    """Write a page whole or not at all; what was there is replaced."""
    with replacing(path, force=True) as partial:
        partial.write_text(text, encoding="utf-8")
