"""One device over adb, where nothing counts as done until it is proven.

`adbutils` speaks to the adb server (and carries one). Pushed files are hashed on the device, commands must
end with exit code 0, and every way a connection can break becomes a `PhoneRunError`.
"""

import os
import shlex
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import adbutils

from mobilebert_runtime.errors import CheckError, UserError
from mobilebert_runtime.files import file_sha256

# What adbutils lets through when a device or the server disappears in the middle of a message.
BROKEN = (adbutils.AdbError, OSError, EOFError, struct.error, AssertionError)

NO_DEVICE = "no device; plug one in, switch on Developer options › USB debugging and allow this computer"


class PhoneError(UserError):
    """No device, several, or one that can't be used."""


class PhoneRunError(CheckError):
    """Something failed on the device or on the way to it."""


class Phone:
    """A device that is online."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self.serial: str = device.serial

    def shell(self, command: str, limit_s: float = 60.0) -> str:
        """Standard output of a command that ended with exit code 0.

        Raises:
            PhoneRunError: another exit code, no answer for `limit_s` seconds, or the device is gone.
        """
        code, output, errors = self.attempt(command, limit_s)
        if code:
            said = (errors.strip() or output.strip() or "nothing said").splitlines()[-1]
            raise PhoneRunError(f"{self.serial}: `{_short(command)}` stopped with {code}: {said}")
        return output

    def attempt(self, command: str, limit_s: float = 60.0) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a command."""
        with self._link(command):
            done = self._device.shell2(command, timeout=limit_s, v2=True)
        return done.returncode, done.stdout, done.stderr

    def push(self, local: Path, remote: str) -> bool:
        """Copy a file to the device and compare hashes there; False when the device had it already.

        A copy that failed is removed from the device.
        """
        wanted = file_sha256(local)
        if self.sha256(remote) == wanted:
            return False
        try:
            with self._link(f"push {local.name}"):
                self._device.sync.push(str(local), remote, mode=0o644)
            found = self.sha256(remote)
        except PhoneRunError as error:
            free = self._free_mib(remote)
            self.attempt(f"rm -f {shlex.quote(remote)}")
            size = local.stat().st_size / 2**20
            if free is not None and free < size:
                raise PhoneRunError(
                    f"{self.serial}: no space for {local.name} ({size:.0f} MiB): {free:.0f} MiB left on its "
                    "volume; delete something there"
                ) from None
            raise PhoneRunError(f"{error}; {local.name} was not copied") from None
        if found != wanted:
            self.attempt(f"rm -f {shlex.quote(remote)}")
            raise PhoneRunError(f"{self.serial}: {local.name} arrived changed; check the cable and try again")
        return True

    def pull(self, remote: str) -> bytes:
        """Content of a file on the device."""
        with self._link(f"pull {remote}"):
            return b"".join(self._device.sync.iter_content(remote))

    def sha256(self, remote: str) -> str | None:
        """Hash of a file on the device, computed there; None when there is no such file."""
        code, output, _ = self.attempt(f"sha256sum {shlex.quote(remote)}", limit_s=300)
        return output.split()[0] if code == 0 and output.strip() else None

    def _free_mib(self, remote: str) -> float | None:
        """Room left where a file was to go, in MiB; None when the device does not tell."""
        try:
            lines = self.shell(f"df -k {shlex.quote(os.path.dirname(remote))}").splitlines()  # noqa: PTH120
            return int(lines[-1].split()[3]) / 1024
        except (PhoneRunError, IndexError, ValueError):
            return None

    @contextmanager
    def _link(self, what: str) -> Iterator[None]:
        try:
            yield
        except BROKEN as error:
            reason = str(error) or type(error).__name__
            raise PhoneRunError(
                f"{self.serial}: lost during `{_short(what)}` ({reason}); check cable and screen, try again"
            ) from None


def list_phones() -> list[tuple[str, str]]:
    """Serial and state ("device", "offline", "unauthorized", …) of everything the adb server sees."""
    try:
        return [(info.serial, info.state) for info in adbutils.AdbClient().list()]
    except BROKEN as error:
        raise PhoneError(f"no adb server can be reached or started ({error})") from None


def choose(serial: str | None = None) -> Phone:
    """The device with this serial ($ANDROID_SERIAL if None), or the only one.

    Raises:
        PhoneError: none, several, unknown, or one that is not online; the message says what to do.
    """
    found = dict(list_phones())
    wanted = serial or os.environ.get("ANDROID_SERIAL")
    if not found:
        raise PhoneError(NO_DEVICE)
    if wanted is None and len(found) > 1:
        raise PhoneError(f"{len(found)} devices ({', '.join(sorted(found))}); say which with --serial")
    wanted = wanted or next(iter(found))
    if wanted not in found:
        raise PhoneError(f"no device {wanted}; there is {', '.join(sorted(found))}")
    if found[wanted] != "device":
        hints = {
            "unauthorized": "allow this computer on its screen",
            "offline": "unplug it, plug it in again",
        }
        raise PhoneError(f"{wanted} is {found[wanted]}; {hints.get(found[wanted], 'wait until it is ready')}")
    return Phone(adbutils.AdbClient().device(wanted))


def _short(command: str) -> str:
    return command if len(command) <= 60 else f"{command[:57]}…"
