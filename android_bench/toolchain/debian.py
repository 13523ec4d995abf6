"""Debian packages unpacked into a folder: another release or architecture, without touching the system.

apt itself resolves, verifies and downloads, in a private state directory; `dpkg-deb -x` unpacks. The mirror
is the one this machine's apt uses already.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from shutil import which


class ToolUnavailableError(Exception):
    """This machine cannot fetch or run a tool: what needs it is not run."""

    exit_code = 2


def unpack(
    packages: Sequence[str], suite: str, architecture: str, folder: Path, assumed: Sequence[str] = ()
) -> list[str]:
    """Download packages with their dependencies and unpack them all into one folder.

    Args:
        packages: Debian package names.
        suite: release code name, such as "bookworm".
        architecture: Debian's name for it, such as "arm64".
        folder: what becomes the root (`usr/bin`, …); also keeps apt's state and downloads in `.apt`.
        assumed: packages the machine has already; neither they nor their dependencies are fetched.

    Returns:
        File names of the unpacked packages, sorted.

    Raises:
        ToolUnavailableError: no apt, no mirror, or apt refused; the message holds its last line.
    """
    state = folder / ".apt"
    (state / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    archives = state / "archives"
    (archives / "partial").mkdir(parents=True, exist_ok=True)
    (state / "status").write_text("".join(map(_installed, assumed)))
    (state / "sources.list").write_text(f"deb {mirror()} {suite} main\n")
    options = {
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state,
        "Dir::Cache::archives": archives,
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::Etc::preferencesparts": "-",
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "",
        "Debug::NoLocking": "true",
    }
    apt = ["apt-get", "-q", "-y", *(f"-o{name}={value}" for name, value in options.items())]
    _run([*apt, "update"])
    _run([*apt, "install", "--download-only", *packages])
    found = sorted(archives.glob("*.deb"))
    for archive in found:
        _run(["dpkg-deb", "-x", str(archive), str(folder)])
        archive.unlink()
    return [archive.name for archive in found]


def mirror() -> str:
    """Address of the Debian mirror in this machine's own apt sources."""
    if which("apt-get") is None:
        raise ToolUnavailableError("apt-get is not on this machine: the tools come as Debian packages")
    listing = _run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN) $(COMPONENT) $(REPO_URI)", "Created-By: Packages"]
    )
    for line in listing.splitlines():
        origin, component, address = line.split(maxsplit=2)
        if (origin, component) == ("Debian", "main"):
            return address
    raise ToolUnavailableError("apt knows no Debian mirror; run `apt-get update` on a Debian machine first")


def _installed(package: str) -> str:
    """A status entry that makes apt take a package for installed, at any version."""
    return (
        f"Package: {package}\nStatus: install ok installed\nMaintainer: none\n"
        f"Architecture: all\nMulti-Arch: foreign\nVersion: 999:1\nDescription: assumed\n\n"
    )


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing said").splitlines()[-1]
        raise ToolUnavailableError(f"`{command[0]} … {command[-1]}` failed: {said}")
    return done.stdout
