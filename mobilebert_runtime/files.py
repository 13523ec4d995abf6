"""Outputs that appear under their name only when they are complete, and are never replaced unasked."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilebert_runtime.errors import OutputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def check_output(out: Path, *, force: bool) -> None:
    """Can `out` be written? To be asked before long work begins.

    Raises:
        OutputError: `out` exists and `force` is off, it is a directory, or its folder is missing.
    """
    if out.is_dir():
        raise OutputError(f"{out}: is a directory; give a file name")
    if out.exists() and not force:
        raise OutputError(f"{out}: exists already; choose another name").or_with("replace it", "--force")
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


def save_array(path: Path, values: NDArray[Any]) -> None:
    """Write an array as .npy, whole or not at all; a file that is there is replaced."""
    import numpy as np  # the command line checks its options without it

    with replacing(path, force=True) as partial, partial.open("wb") as file:
        np.save(file, values)


@contextmanager
def replacing_folder(out: Path) -> Iterator[Path]:
    """A temporary folder beside `out` that takes its place when the block ends well.

    On any exception it is deleted and `out` is as it was. An old folder is moved aside and deleted only when
    the new one is in place. What a killed process of this machine left beside `out` is cleared first.
    """
    out = out.absolute()
    made = [folder for folder in (out.parent, *out.parent.parents) if not folder.exists()]
    out.parent.mkdir(parents=True, exist_ok=True)
    _clear_stale(out)
    building = Path(tempfile.mkdtemp(prefix=f".{out.name}.building-{_owner()}-", dir=out.parent))
    try:
        building.chmod(0o755)  # mkdtemp makes it private
        yield building
        _swap(building, out)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        for folder in made:  # deepest first; one that somebody else has filled meanwhile stays
            with suppress(OSError):
                folder.rmdir()
        raise


def _owner() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


def _swap(building: Path, out: Path) -> None:
    if not out.exists():
        building.rename(out)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.old-{_owner()}-", dir=out.parent))
    try:
        out.rename(aside / out.name)
        building.rename(out)
    finally:  # also where Ctrl-C or SIGTERM comes in between
        if not out.exists():
            (aside / out.name).rename(out)
        shutil.rmtree(aside)


def _clear_stale(out: Path) -> None:
    """Remove what dead processes left beside `out`; an old folder that lost its place gets it back."""
    pattern = re.compile(
        rf"\.{re.escape(out.name)}\.(building|old)-{re.escape(socket.gethostname())}-(\d+)-\w+"
    )
    for path in out.parent.iterdir():
        found = pattern.fullmatch(path.name)
        if found is None or _alive(int(found[2])):
            continue
        if found[1] == "old" and (path / out.name).exists() and not out.exists():
            (path / out.name).rename(out)
        shutil.rmtree(path, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def write_json(path: Path, values: Any) -> None:
    """Write JSON as people read it, under a temporary name, then rename; an earlier file is replaced."""
    with replacing(path, force=True) as partial:
        partial.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def refuse_finished(directory: Path, *, force: bool) -> None:
    """Raise `OutputError` where a finished result lies that may not be replaced."""
    if directory.exists() and not force:
        raise OutputError(f"{directory}: exists; choose another name").or_with("replace it", "--force")


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:  # hashlib.file_digest came with Python 3.11
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
