"""Outputs that appear under their name only when they are complete, and are never replaced unasked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mobilebert_runtime.errors import OutputError


def check_output(out: Path, *, force: bool) -> None:
    """Can `out` be written? To be asked before long work begins.

    Raises:
        OutputError: `out` exists and `force` is off, it is a directory, or its folder is missing.
    """
    if out.is_dir():
        raise OutputError(f"{out}: is a directory; give a file name")
    if out.exists() and not force:
        raise OutputError(f"{out}: exists already; choose another name or add --force to replace it")
    if not out.parent.is_dir():
        raise OutputError(f"{out}: the folder {out.parent} does not exist; make it first")


@contextmanager
def replacing(out: Path, *, force: bool) -> Iterator[Path]:
    """A temporary name beside `out` to write to; renamed to `out` at the end, deleted on an exception.

    Raises:
        OutputError: as `check_output`.
    """
    check_output(out, force=force)
    partial = out.with_name(f".{out.name}.partial")
    try:
        yield partial
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)


def write_json(path: Path, values: Any) -> None:
    """Write JSON as people read it, under a temporary name, then rename; an earlier file is replaced."""
    with replacing(path, force=True) as partial:
        partial.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def refuse_finished(directory: Path, *, force: bool) -> None:
    """Raise `OutputError` where a finished result lies that may not be replaced."""
    if directory.exists() and not force:
        raise OutputError(f"{directory}: exists; give --force to replace it, or another --out")


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:  # hashlib.file_digest came with Python 3.11
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
