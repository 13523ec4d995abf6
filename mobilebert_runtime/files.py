"""Writes outputs that appear only when complete and never replace others without being asked."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilebert_runtime.errors import OutputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from numpy.typing import NDArray


# A folder that several writers replace at once is moved aside so often.
ATTEMPTS = 9
TAKEN = (errno.EEXIST, errno.ENOTEMPTY)  # what a rename says where a folder is in the place already
LEVELS = 100  # of nested lists and objects in a JSON text of somebody else's


def check_output(out: Path, *, force: bool) -> None:
    """Check, before long work begins, that `out` can be written.

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

    Each writer has a name of its own, so that of two at once the later one wins, whole. What a killed process
    left is cleared first.

    Raises:
        OutputError: as `check_output`.
    """
    check_output(out, force=force)
    _clear_stale(out)
    with _held(out, "partial", lambda path: path.touch(exist_ok=False)) as partial:
        try:
            yield partial
            _to_disk(partial)
            partial.replace(out)
            _to_disk(out.parent)
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

    Raises:
        OutputError: `out` is a mount point, which no other folder can take the place of.
    """
    out = out.absolute()
    refuse_mount_point(out)
    made = [folder for folder in (out.parent, *out.parent.parents) if not folder.exists()]
    out.parent.mkdir(parents=True, exist_ok=True)
    _clear_stale(out)
    try:
        with _held(out, "building", Path.mkdir) as building:
            try:
                yield building
                for path in (*building.rglob("*"), building):
                    _to_disk(path)
                _swap(building, out)
                _to_disk(out.parent)
            finally:
                shutil.rmtree(building, ignore_errors=True)
    except BaseException:
        for folder in made:  # deepest first; one that somebody else has filled meanwhile stays
            with suppress(OSError):
                folder.rmdir()
        raise


def refuse_mount_point(out: Path) -> None:
    """Raise `OutputError` where nothing else can take the place of a folder: something is mounted there."""
    mounted = os.path.ismount(out)
    with suppress(OSError):  # elsewhere than on Linux, which also lists a folder mounted from the same disk
        listed = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        points = {line.split(" ")[4] for line in listed.splitlines()}
        mounted = mounted or str(out.absolute()).replace("\\", r"\134").replace(" ", r"\040") in points
    if mounted:
        raise OutputError(f"{out}: is a mount point, which can't be replaced; give a folder inside it")


@contextmanager
def _held(out: Path, kind: str, make: Callable[[Path], None]) -> Iterator[Path]:
    """A new temporary file or folder beside `out`, locked for as long as this process works on it.

    The lock is the system's: it holds across containers, and ends with the process however that ends.
    """
    while True:
        path = out.with_name(f"{_prefix(out)}{secrets.token_hex(4)}.{kind}")
        make(path)
        held = _lock(path)
        if held is None:
            time.sleep(0.01)  # another writer took it for one that was left behind, or nothing can be locked
        if path.exists():
            break
        if held is not None:
            os.close(held)
    try:
        yield path
    finally:
        if held is not None:
            os.close(held)


def _lock(path: Path) -> int | None:
    """Lock a file or folder: a descriptor to be closed; None where it is locked, gone, or can't be locked."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _prefix(out: Path) -> str:
    """Of temporary names: with the machine's, for a lock may not be seen from another."""
    return f".{out.name}.{socket.gethostname()}-"


def _swap(building: Path, out: Path) -> None:
    with _held(out, "old", Path.mkdir) as aside:
        try:
            for attempt in range(ATTEMPTS):
                with suppress(FileNotFoundError):  # none is there, or another writer has just moved it aside
                    out.rename(aside / str(attempt))
                try:
                    building.rename(out)
                    break
                except OSError as error:  # another writer's is in its place already
                    if error.errno not in TAKEN or attempt == ATTEMPTS - 1:
                        raise
        finally:  # also where Ctrl-C or SIGTERM comes in between
            _put_back(aside, out)
            shutil.rmtree(aside)


def _put_back(aside: Path, out: Path) -> None:
    """Give the last folder that was moved aside its place back, if there is none."""
    for path in sorted(aside.iterdir(), reverse=True):
        if out.exists():
            return
        try:
            path.rename(out)
        except OSError as error:  # another writer's has just come into its place
            if error.errno not in TAKEN:
                raise


def _clear_stale(out: Path) -> None:
    """Remove what dead processes left beside `out`; an old folder that lost its place gets it back."""
    pattern = re.compile(rf"{re.escape(_prefix(out))}[0-9a-f]{{8}}\.(building|old|partial)")
    for path in out.parent.iterdir():
        found = pattern.fullmatch(path.name)
        held = _lock(path) if found else None
        if found is None or held is None:
            continue
        if found[1] == "partial":
            path.unlink(missing_ok=True)
        else:
            if found[1] == "old":
                _put_back(path, out)
            shutil.rmtree(path, ignore_errors=True)
        os.close(held)


def _to_disk(path: Path) -> None:
    """Wait until a file or the names in a folder would survive a loss of power, where the system can."""
    if path.is_dir():
        with suppress(OSError):  # not every system can
            _sync(path)
    elif path.is_file():
        _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, values: Any) -> None:
    """Write indented JSON under a temporary name, then rename it; an earlier file is replaced."""
    with replacing(path, force=True) as partial:
        partial.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def parse_json(text: str) -> Any:
    """What a JSON text of somebody else's holds; whatever is wrong with it is a `ValueError`.

    Raises:
        ValueError: it is not JSON, names a member twice, is nested more than `LEVELS` deep, or has a number
            that no float holds.
    """
    try:
        found = json.loads(text, parse_int=_integer, parse_float=_real, object_pairs_hook=_members)
    except RecursionError:
        raise ValueError(f"it is nested more than {LEVELS} levels deep") from None
    level, seen = [found], 0
    while level := [inner for value in level for inner in _inside(value)]:
        seen += 1
        if seen > LEVELS:
            raise ValueError(f"it is nested more than {LEVELS} levels deep")
    return found


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _integer(digits: str) -> int:
    if len(digits) > 300:
        raise ValueError(f"it has an integer of {len(digits)} digits")
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"its number {digits[:40]} is too large")
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"it names {next(name for name in names if names.count(name) > 1)!r:.60} twice")
    return found


def refuse_finished(directory: Path, *, force: bool) -> None:
    """Raise `OutputError` where a finished result lies that may not be replaced, or something is mounted."""
    refuse_mount_point(directory)
    if directory.exists() and not force:
        raise OutputError(f"{directory}: exists; choose another name").or_with("replace it", "--force")


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:  # hashlib.file_digest came with Python 3.11
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
