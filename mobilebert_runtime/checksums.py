"""SHA256SUMS of a folder: read once, and every file that is used is the one whose bytes were hashed.

Standard library only. The format is that of `sha256sum`; one folder, no names with a slash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from mobilebert_runtime.checked import check_file, read_bytes
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.files import file_sha256

CHECKSUM_FILE = "SHA256SUMS"
LONGEST_NAME = 255


class Checksums:
    """The checksums of a folder's files.

    Args:
        folder: of the files.
        cure: what to do about damage, for messages.

    Raises:
        ArtefactError: SHA256SUMS is missing or damaged, or lists what is no file name.
    """

    def __init__(self, folder: Path, cure: str = "export the artefact again") -> None:
        self.folder, self.path, self.cure = folder, folder / CHECKSUM_FILE, cure
        self.content = read_bytes(self.path)  # what a signature signs
        try:
            lines = self.content.decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            raise ArtefactError(f"{self.path}: can't be read ({error}); {self.cure}") from None
        self.digests = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
        self.digests.pop("", None)
        for name in self.digests:
            if len(name) > LONGEST_NAME or name != Path(name).name or not name.isprintable():
                raise ArtefactError(f"{self.path}: {name!r:.60} is not a file name; {self.cure}")

    def require(self, names: Iterable[str]) -> None:
        """Refuse a list that lacks one of these files."""
        if missing := sorted(set(names) - self.digests.keys()):
            raise ArtefactError(f"{self.path}: does not list {missing[0]}; {self.cure}")

    def read(self, name: str) -> bytes:
        """The content of a file, hashed as it was read; `ArtefactError` where it is not what is listed."""
        self.require([name])
        content = read_bytes(self.folder / name)
        self._compare(name, hashlib.sha256(content).hexdigest())
        return content

    def check(self, name: str) -> None:
        """As `read`, for a file that is not kept in memory."""
        path = self.folder / name
        check_file(path)
        try:
            found = file_sha256(path)
        except OSError as error:
            raise ArtefactError(f"{path}: can't be read ({error}); {self.cure}") from None
        self._compare(name, found)

    def fingerprint(self, names: Iterable[str]) -> str:
        """SHA-256, in hexadecimal, of the lines of these files, sorted by name: which files they are."""
        lines = "".join(f"{self.digests[name]}  {name}\n" for name in sorted(names))
        return hashlib.sha256(lines.encode()).hexdigest()

    def _compare(self, name: str, found: str) -> None:
        if found != self.digests[name]:
            path = self.folder / name
            raise ArtefactError(
                f"{path}: damaged (its SHA-256 is not the one in {CHECKSUM_FILE}); {self.cure}"
            )
