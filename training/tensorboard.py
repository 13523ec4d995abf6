"""Scalars for TensorBoard: its event file, without its package.

An event file is a sequence of records (length, its checksum, bytes, their checksum); a record's bytes are an
`Event` message: field 1 wall time, 2 step, 3 file version, 5 summary; a summary's values (field 1) have a
tag (1) and a number (2).
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path
from types import TracebackType


class NoEvents:
    """What the processes that write no file have in the place of an `EventWriter`."""

    def scalars(self, step: int, values: dict[str, float]) -> None:
        """Nothing."""

    def __enter__(self) -> NoEvents:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to close."""


class EventWriter(NoEvents):
    """Appends scalars to a new event file in `folder`; TensorBoard joins the files of a resumed run."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        self._file = (folder / f"events.out.tfevents.{now:.6f}.{os.getpid()}").open("wb")
        self._write(_double(1, now) + _bytes(3, b"brain.Event:2"))

    def scalars(self, step: int, values: dict[str, float]) -> None:
        """One point of each curve."""
        summary = b"".join(_bytes(1, _bytes(1, tag.encode()) + _float(2, v)) for tag, v in values.items())
        self._write(_double(1, time.time()) + _integer(2, step) + _bytes(5, summary))

    def __enter__(self) -> EventWriter:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        self._file.write(length + _masked(length) + event + _masked(event))
        self._file.flush()


def crc32c(data: bytes) -> int:
    """Castagnoli's checksum."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def _table_entry(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)  # the polynomial, bits reversed
    return value


_TABLE = [_table_entry(i) for i in range(256)]


def _masked(data: bytes) -> bytes:
    """The checksum as record files hold it: rotated and shifted, so that a checksum of checksums is sound."""
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _integer(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)
