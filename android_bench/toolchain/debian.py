"""Debian packages unpacked into a folder: another release or architecture, without touching the system.

apt itself resolves, verifies and downloads, in a private state directory; `dpkg-deb -x` unpacks. The mirror
is the one this machine's apt uses already.
"""

import functools
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from mobilebert_runtime.errors import ToolError


@dataclass(frozen=True)
class Release:
    """A release for an architecture, and the folder that keeps apt's lists of it."""

    suite: str  # code name, such as "bookworm"
    architecture: str  # Debian's name for it, such as "arm64"
    state: Path


def unpack(
    release: Release,
    packages: Sequence[str],
    folder: Path,
    assumed: Sequence[str] = (),
    *,
    alone: bool = False,
) -> list[str]:
    """Download packages with their dependencies and unpack them all into one folder.

    Args:
        release: where they come from.
        packages: Debian package names.
        folder: what becomes the root (`usr/bin`, …).
        assumed: packages the machine has already; neither they nor their dependencies are fetched.
        alone: only the packages themselves, nothing that they depend on.

    Returns:
        File names of the unpacked packages, sorted.

    Raises:
        ToolError: no apt, no mirror, or apt refused; the message holds its last line.
    """
    state = release.state
    archives = state / "archives"
    for place in (state / "lists" / "partial", archives / "partial"):
        place.mkdir(parents=True, exist_ok=True)
    (state / "status").write_text("".join(map(_installed, assumed)))
    (state / "sources.list").write_text(f"deb {mirror()} {release.suite} main\n")
    options = {
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state,
        "Dir::Cache::archives": archives,
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::Etc::preferencesparts": "-",
        "APT::Architecture": release.architecture,
        "APT::Architectures": release.architecture,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "",
        "Debug::NoLocking": "true",
    }
    apt = ("apt-get", "-q", "-y", *(f"-o{name}={value}" for name, value in options.items()))
    _update(apt)
    wanted = ["download"] if alone else ["install", "--download-only"]
    _run([*apt, *wanted, *packages], archives)
    found = sorted(archives.glob("*.deb"))
    for archive in found:
        _run(["dpkg-deb", "-x", str(archive), str(folder)])
        archive.unlink()
    return [archive.name for archive in found]


@functools.cache
def _update(apt: tuple[str, ...]) -> None:
    """Fetch the lists of a release, once a run: several tools come from the same."""
    _run([*apt, "update"])


def mirror() -> str:
    """Address of the Debian mirror in this machine's own apt sources."""
    if which("apt-get") is None:
        raise ToolError("apt-get is not on this machine: the tools come as Debian packages")
    listing = _run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN) $(COMPONENT) $(REPO_URI)", "Created-By: Packages"]
    )
    for line in listing.splitlines():
        origin, component, address = line.split(maxsplit=2)
        if (origin, component) == ("Debian", "main"):
            return address
    raise ToolError("apt knows no Debian mirror; run `apt-get update` on a Debian machine first")


def _installed(package: str) -> str:
    """A status entry that makes apt take a package for installed, at any version."""
    return (
        f"Package: {package}\nStatus: install ok installed\nMaintainer: none\n"
        f"Architecture: all\nMulti-Arch: foreign\nVersion: 999:1\nDescription: assumed\n\n"
    )


def _run(command: Sequence[str], folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing said").splitlines()[-1]
        raise ToolError(f"`{command[0]} … {command[-1]}` failed: {said}")
    return done.stdout
