"""An artefact folder: what lies beside the model file, and how the folder gets to its place, whole or not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mobilebert_runtime.card import CARD_FILE, ArtefactCard
from mobilebert_runtime.card_parts import SPELLING_FILE, TOKENIZER_FILE, VOCABULARY_FILE
from mobilebert_runtime.checksums import CHECKSUM_FILE
from mobilebert_runtime.errors import OutputError
from mobilebert_runtime.files import file_sha256, replacing_folder, write_json
from mobilebert_runtime.tokenizer import PairTokenizer

if TYPE_CHECKING:
    from mobilebert_export.pipeline.loading import LoadedModel


def complete(folder: Path, card: ArtefactCard, model: LoadedModel) -> None:
    """Add what makes a model file an artefact that `Matcher.load` opens."""
    (folder / TOKENIZER_FILE).write_bytes(model.tokenizer_json)
    if SPELLING_FILE in card.files:
        shutil.copyfile(model.directory / SPELLING_FILE, folder / SPELLING_FILE)
    if VOCABULARY_FILE in card.files:
        write_vocabulary(model.tokenizer, folder / VOCABULARY_FILE)
    write_json(folder / CARD_FILE, card.to_json())
    write_checksums(folder)


def write_vocabulary(tokenizer: PairTokenizer, path: Path) -> None:
    """vocab.txt of a WordPiece: an entry a line, in the order of their ids."""
    entries = sorted(tokenizer.vocabulary().items(), key=lambda entry: entry[1])
    path.write_text("".join(f"{token}\n" for token, _ in entries), encoding="utf-8", newline="\n")


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
    with replacing_folder(out) as building:
        yield building
        check_output(out, force=force)
