"""Output files that appear under their name only when they are complete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class OutputError(ValueError):
    """An output file that may not or cannot be written."""

    exit_code = 2


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
