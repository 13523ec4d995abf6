"""The files of an artefact folder as its runtime uses them: each read once, hashed, and never read again.

What another process does to the folder meanwhile, by replacing it or by writing into its files, can't mix two
artefacts or change a model that runs. Measured for the shipped int8 artefact (10.8 MB): loading takes as long
as from a mapped file, .5 s, and 2 MiB more memory (14 MiB more in ONNX Runtime).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from mobilebert_runtime.card import CARD_FILE, ArtefactCard, require_folder
from mobilebert_runtime.card_parts import SPELLING_FILE, TOKENIZER_FILE
from mobilebert_runtime.checked import as_json
from mobilebert_runtime.checksums import Checksums
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.find import find_folder

# A folder that was replaced while it was read is read anew so often, after a pause that doubles.
ATTEMPTS, PAUSE_S = 8, 0.005


@dataclass(frozen=True)
class ArtefactFiles:
    """An artefact that was read and checked.

    Attributes:
        folder: where it lay, for messages.
        card: io.json.
        contents: by name, of io.json, the model file and the tokenizer's files.
        fingerprint: SHA-256 over the checksums of what makes its answers; vocab.txt repeats tokenizer.json.
    """

    folder: Path
    card: ArtefactCard
    contents: dict[str, bytes]
    fingerprint: str


def read_files(
    directory: str | Path, public_key: str | Path | None = None, signed_since: str | None = None
) -> ArtefactFiles:
    """Read an artefact folder; every file that SHA256SUMS lists is compared with it.

    Args:
        directory: the folder, or a name that `find_folder` knows.
        public_key: minisign's, as a file or a line; SHA256SUMS must then be signed with it.
        signed_since: a date or time in ISO format, UTC unless it says otherwise; the signature must not be
            older, so that nobody can put an old artefact with its valid signature in the place of a new one.

    Raises:
        ArtefactError: the folder is missing, damaged, or not signed as asked.
        OptionError: the key or the date is not one, or a date is given without a key.
        ToolError: a signature can't be verified, for `cryptography` is not installed.
    """
    folder = find_folder(directory)
    for attempt in range(ATTEMPTS):
        before = _identity(folder)
        try:
            return _read(folder, public_key, signed_since)
        except ArtefactError:
            if attempt == ATTEMPTS - 1 or not _replaced(folder, before):
                raise
            time.sleep(PAUSE_S * 2**attempt)
    raise AssertionError  # the last attempt returns or raises


def _read(folder: Path, public_key: str | Path | None, signed_since: str | None) -> ArtefactFiles:
    require_folder(folder)
    sums = Checksums(folder)
    if public_key is not None or signed_since is not None:
        from mobilebert_runtime.signature import verify_signature

        verify_signature(sums, public_key, signed_since)
    contents = {CARD_FILE: sums.read(CARD_FILE)}
    card = ArtefactCard.from_json(as_json(contents[CARD_FILE], folder / CARD_FILE), folder / CARD_FILE)
    sums.require(card.files)
    contents.update({name: sums.read(name) for name in card.files - {CARD_FILE}})
    for name in sums.digests.keys() - contents.keys():
        sums.check(name)
    used = (CARD_FILE, card.model_file, TOKENIZER_FILE, SPELLING_FILE)
    return ArtefactFiles(folder, card, contents, sums.fingerprint(set(used) & card.files))


def _identity(folder: Path) -> tuple[int, int] | None:
    """Which folder lies under this name; None where there is none."""
    try:
        status = folder.stat()
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_mtime_ns


def _replaced(folder: Path, before: tuple[int, int] | None) -> bool:
    """Was the folder replaced since, or is it about to be? The old one then lies beside it (`files`)."""
    now = _identity(folder)
    if now is None:
        start = f".{folder.name}."
        beside = folder.absolute().parent.glob(".*.old")
        return any(path.name.startswith(start) for path in beside)
    return now != before
