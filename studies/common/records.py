"""Records of runs, a JSON file each: processes can share a table, and an interrupted one goes on.

What is kept for good may be packed: a large record as NAME.json.xz, all records of a folder as one
records.jsonl.xz (`python -m studies.common.pack FOLDER`). Readers see no difference; a loose file goes before
the packed one of its name.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import check_output, replacing, write_json

Json = dict[str, Any]
PACKED = "records.jsonl.xz"  # a line per record: {"name": NAME.json, "record": …}


def recorded(path: Path, run: Callable[[], Json]) -> Json:
    """The record at `path`, loose or packed; where there is none yet, `run` makes it."""
    if not path.is_file() and path.name not in _unpacked(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, run())
    return read_json(path)


def read_json(path: Path) -> Any:
    """A JSON file; where there is none, PATH.xz or the record of that name in the folder's records.jsonl.xz.

    Raises:
        DataError: it is no JSON, or damaged.
    """
    compressed = path.with_name(f"{path.name}.xz")
    try:
        if not path.is_file() and compressed.is_file():
            return json.loads(lzma.decompress(compressed.read_bytes()))
        if not path.is_file() and path.name in (packed := _unpacked(path.parent)):
            return packed[path.name]
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, lzma.LZMAError) as error:
        raise DataError(f"{path}: not JSON ({error}); remake it") from error


def read_folder(folder: Path, pattern: str = "*.json") -> dict[str, Any]:
    """File name → record of a folder, loose and packed, in the order of names; an absent folder holds none.

    Raises:
        DataError: as `read_json`.
    """
    found = {name: record for name, record in _unpacked(folder).items() if fnmatchcase(name, pattern)}
    found |= {path.name: read_json(path) for path in folder.glob(pattern)}
    return dict(sorted(found.items()))


def read_all(folder: Path, pattern: str = "*.json") -> list[Any]:
    """The records of `read_folder` alone."""
    return list(read_folder(folder, pattern).values())


def pack(folder: Path) -> int:
    """Put all JSON files of a folder into its records.jsonl.xz, delete them, and return their number.

    Raises:
        DataError: as `read_json`; then nothing is deleted.
    """
    loose = sorted(folder.glob("*.json"))
    found = read_folder(folder)
    lines = "".join(
        json.dumps({"name": name, "record": record}, ensure_ascii=False) + "\n"
        for name, record in found.items()
    )
    with replacing(folder / PACKED, force=True) as partial:
        partial.write_bytes(lzma.compress(lines.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME))
    for path in loose:
        path.unlink()
    return len(loose)


def _unpacked(folder: Path) -> dict[str, Any]:
    path = folder / PACKED
    if not path.is_file():
        return {}
    try:
        lines = lzma.decompress(path.read_bytes()).decode("utf-8").splitlines()
        return {line["name"]: line["record"] for line in map(json.loads, lines)}
    except (ValueError, KeyError, TypeError, lzma.LZMAError) as error:
        raise DataError(f"{path}: damaged ({error}); take it from git again") from error


def check_outputs(*paths: Path, force: bool) -> None:
    """Refuse, before any work, to replace files unless `force` says so."""
    for path in paths:
        check_output(path, force=force)


def write_text(path: Path, text: str) -> None:
    """Write a page whole or not at all; what was there is replaced."""
    with replacing(path, force=True) as partial:
        partial.write_text(text, encoding="utf-8")
