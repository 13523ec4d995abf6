"""How an artefact folder gets to its place: whole or not at all, with checksums of every file."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mobilebert_runtime.card import CARD_FILE, CHECKSUM_FILE
from mobilebert_runtime.errors import OutputError
from mobilebert_runtime.files import file_sha256


def write_checksums(folder: Path) -> None:
    """Write SHA256SUMS over every file of the folder, in `sha256sum` format."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != CHECKSUM_FILE)
    lines = [f"{file_sha256(path)}  {path.name}\n" for path in files]
    (folder / CHECKSUM_FILE).write_text("".join(lines), encoding="ascii")


def check_output(out: Path, *, force: bool) -> None:
    """Refuse an output folder that must not be written.

    Raises:
        OutputError: `out` exists and `force` is off, or it holds something other than an artefact
            (which `--force` will not delete), or its parent is not a folder that can be written.
    """
    if out.exists() or out.is_symlink():
        if not force:
            raise OutputError(f"{out}: exists already; choose another --out or add --force to replace it")
        if out.is_symlink() or not out.is_dir() or (any(out.iterdir()) and not (out / CARD_FILE).is_file()):
            raise OutputError(
                f"{out}: is not an artefact folder, so --force will not delete it; choose another --out"
            )
    parent = out.absolute().parent
    nearest = next(folder for folder in (parent, *parent.parents) if folder.exists())
    if not nearest.is_dir():
        raise OutputError(f"{nearest}: is a file, so {out} can't be made; choose another --out")


@contextmanager
def new_folder(out: Path, *, force: bool) -> Iterator[Path]:
    """A temporary folder beside `out` that takes its name when the block ends well.

    On any exception the temporary folder is deleted and `out` is as it was. With `force`, the old folder
    is moved aside first and deleted only when the new one is in place.

    Raises:
        OutputError: see `check_output`; checked again at the end, when somebody may have been faster.
    """
    check_output(out, force=force)
    out = out.absolute()
    made = [folder for folder in (out.parent, *out.parent.parents) if not folder.exists()]
    out.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{out.name}.building-", dir=out.parent))
    try:
        building.chmod(0o755)  # mkdtemp makes it private; an artefact is to be shared
        yield building
        check_output(out, force=force)
        _swap(building, out)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        for folder in made:  # deepest first; one that somebody else has filled meanwhile stays
            with suppress(OSError):
                folder.rmdir()
        raise


def _swap(building: Path, out: Path) -> None:
    if not out.exists():
        building.rename(out)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.old-", dir=out.parent))
    out.rename(aside / out.name)
    try:
        building.rename(out)
    except OSError:
        (aside / out.name).rename(out)
        aside.rmdir()
        raise
    shutil.rmtree(aside)
