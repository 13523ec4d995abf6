"""Signs and verifies artefacts in minisign's format, which proves who made them.

`SHA256SUMS.minisig` signs SHA256SUMS, and so every file; `minisign -Vm SHA256SUMS -p key.pub` verifies it
too. Keys come from `minisign -G -W` (without a password). Format: https://jedisct1.github.io/minisign/.
Needs the package `cryptography`: `pip install 'mobilebert-runtime[sign]'`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from mobilebert_runtime.checked import read_bytes, read_text, there
from mobilebert_runtime.checksums import CHECKSUM_FILE, Checksums
from mobilebert_runtime.errors import ArtefactError, OptionError, ToolError

SIGNATURE_FILE = f"{CHECKSUM_FILE}.minisig"
KEY_ALGORITHM, PREHASHED = b"Ed", b"ED"
# Of the trusted comment: seconds since 1970. Twelve digits are some 30,000 years.
_STAMP = re.compile(r"\btimestamp:([0-9]{1,12})(?![0-9])")
COMMENT, TRUSTED = "untrusted comment: ", "trusted comment: "


def verify_signature(sums: Checksums, public_key: str | Path | None, since: str | None = None) -> None:
    """Is SHA256SUMS signed by the owner of this key, and not before a date?

    Args:
        sums: of the artefact, as they were read.
        public_key: minisign's file (`key.pub`), or its second line.
        since: a date or time in ISO format, UTC unless it says otherwise.

    Raises:
        ArtefactError: there is no signature, or it is damaged, somebody else's, or older.
        OptionError: `public_key` or `since` is not one, or a date is given without a key.
        ToolError: `cryptography` is not installed.
    """
    if public_key is None:
        raise OptionError("signed_since is given without a public_key; give the key that signs the artefacts")
    least = None if since is None else _seconds(since)
    ed25519, invalid = _cryptography()
    number, key = _read_public_key(public_key)
    path = sums.folder / SIGNATURE_FILE
    if not there(path):
        raise ArtefactError(f"{str(sums.folder)[:255]}: is not signed (no {SIGNATURE_FILE}); don't use it")
    lines = read_text(path).split("\n")
    if len(lines) < 4 or not lines[0].startswith(COMMENT) or not lines[2].startswith(TRUSTED):
        raise ArtefactError(f"{path}: damaged, not a minisign signature; don't use the artefact")
    first, whole = _decode(lines[1], 74), _decode(lines[3], 64)
    if first is None or whole is None or first[:2] != PREHASHED:
        raise ArtefactError(f"{path}: damaged, not a prehashed minisign signature; don't use the artefact")
    if first[2:10] != number:
        raise ArtefactError(
            f"{path}: signed with another key ({first[2:10][::-1].hex().upper()}); don't use it"
        )
    owner = ed25519.Ed25519PublicKey.from_public_bytes(key)
    try:
        owner.verify(first[10:], _digest(sums.content))
        owner.verify(whole, first[10:] + lines[2][len(TRUSTED) :].encode())
    except invalid:
        raise ArtefactError(
            f"{path}: the signature does not fit {CHECKSUM_FILE}; don't use the artefact"
        ) from None
    stamp = _STAMP.search(lines[2])
    if least is not None and (stamp is None or int(stamp[1]) < least):
        made = _utc(int(stamp[1])) if stamp else "at a time it does not say"
        raise ArtefactError(f"{path}: was signed {made}, not since {_utc(least)}; don't use the artefact")


def sign(folder: Path, secret_key: Path | None) -> None:
    """Write SHA256SUMS.minisig, if there is a key; the errors are those of `read_secret_key`.

    The trusted comment holds the time, as minisign's own does; SOURCE_DATE_EPOCH replaces the clock.
    """
    if secret_key is None:
        return
    ed25519, _ = _cryptography()
    number, seed = read_secret_key(secret_key)
    owner = ed25519.Ed25519PrivateKey.from_private_bytes(seed)
    signature = owner.sign(_digest(read_bytes(folder / CHECKSUM_FILE)))
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    about = f"timestamp:{seconds}\tfile:{CHECKSUM_FILE}\thashed"
    lines = [
        f"{COMMENT}signature of an artefact of mobilebert export",
        base64.b64encode(PREHASHED + number + signature).decode(),
        f"{TRUSTED}{about}",
        base64.b64encode(owner.sign(signature + about.encode())).decode(),
    ]
    (folder / SIGNATURE_FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_secret_key(path: Path) -> tuple[bytes, bytes]:
    """Number and seed of a secret key that `minisign -G -W` made.

    Raises:
        OptionError: it is missing, damaged, or locked with a password.
        ToolError: `cryptography` is not installed.
    """
    ed25519, _ = _cryptography()
    try:
        data = _decode(read_text(path).split("\n")[1], 158)
    except (ArtefactError, IndexError):
        data = None
    if data is None or data[:2] != KEY_ALGORITHM or data[4:6] != b"B2":
        raise OptionError(f"{path}: is not a minisign secret key; make one with `minisign -G -W`")
    if data[2:4] != b"\0\0":
        raise OptionError(f"{path}: is protected by a password; make one without, with `minisign -G -W`")
    # minisign writes no checksum into such a file; the public half, which it holds too, is one.
    number, seed, public = data[54:62], data[62:94], data[94:126]
    if ed25519.Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw() != public:
        raise OptionError(f"{path}: is damaged (its two halves do not belong together); restore it")
    return number, seed


def _read_public_key(key: str | Path) -> tuple[bytes, bytes]:
    text = str(key)
    if (data := _decode(text.strip(), 42)) is None:
        try:
            data = _decode(read_text(Path(key)).split("\n")[1], 42)
        except (ArtefactError, IndexError):
            data = None
    if data is None or data[:2] != KEY_ALGORITHM:
        raise OptionError(f"{text[:100]}: is not a minisign public key; give its file or its second line")
    return data[2:10], data[10:]


def _decode(line: str, size: int) -> bytes | None:
    """Base64 of so many bytes, or None."""
    try:
        data = base64.b64decode(line.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if len(data) == size else None


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content).digest()


def _seconds(since: str) -> int:
    try:
        time_given = datetime.fromisoformat(since)
    except (TypeError, ValueError):
        raise OptionError(f"signed_since is {since!r:.60}; give a date such as 2026-11-28") from None
    if time_given.tzinfo is None:
        time_given = time_given.replace(tzinfo=timezone.utc)
    return int(time_given.timestamp())


def _utc(seconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def _cryptography() -> tuple[Any, type[Exception]]:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ModuleNotFoundError:
        raise ToolError(
            "signatures need a package that is not installed: `pip install 'mobilebert-runtime[sign]'`"
        ) from None
    return ed25519, InvalidSignature
