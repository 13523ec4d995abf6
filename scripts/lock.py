"""Write the locks, requirements*.lock: every package, its version and the hashes of its files.

    python scripts/lock.py            # keeps the versions that are locked
    python scripts/lock.py --upgrade  # takes the newest that pyproject.toml allows

`uv` resolves for Linux x86-64 and macOS on Apple silicon, as `[tool.uv]` of pyproject.toml says. The second
file holds what `make test` installs on top of the first, the third what `make docs` installs elsewhere.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMAND = ["uv", "pip", "compile", "--universal", "--python-version", "3.11"]
COMMAND += ["--generate-hashes", "--no-annotate", "--no-header", "--quiet"]
BASE, DEV = ("export", "vocabulary"), ("export", "vocabulary", "dev")
# Not of the lock: the folder beside, installed from the tree.
OURS = "mobilebert-runtime"
HEAD = """\
# {what}. Written by scripts/lock.py.
# Linux x86-64 and macOS on Apple silicon, Python 3.11 to 3.13. torch alone may come from elsewhere: from
# PyTorch's own index, whose pages carry the hashes of its files.
"""


def packages(text: str) -> dict[str, str]:
    """Name → its lines in a requirements file, hashes included."""
    parts = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)
    return {re.split("[= ;]", part, maxsplit=1)[0]: part for part in parts if "==" in part}


def resolve(
    extras: tuple[str, ...], constraint: Path | None, project: Path = ROOT / "pyproject.toml"
) -> dict[str, str]:
    """What `uv` finds for a project and some of its extras."""
    options = [word for extra in extras for word in ("--extra", extra)]
    if constraint is not None:
        options += ["--constraint", str(constraint)]
    done = subprocess.run(
        [*COMMAND, str(project), *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    return {name: plain(lines) for name, lines in packages(done.stdout).items() if name != OURS}


def docs_project(file: Path) -> Path:
    """The extra docs as a project of its own: the site is built without what the toolkit needs."""
    own = tomllib.loads((ROOT / "pyproject.toml").read_text())
    file.write_text(
        f"[project]\nname = 'docs'\nversion = '0'\n"
        f"requires-python = {own['project']['requires-python']!r}\n"
        f"dependencies = {own['project']['optional-dependencies']['docs']!r}\n"
        f"[tool.uv]\nenvironments = {json.dumps(own['tool']['uv']['environments'])}\n"
    )
    return file


def plain(lines: str) -> str:
    """A package's lines with the markers that every package has left out."""
    head, _, rest = lines.partition(" \\\n")
    requirement, _, marker = head.partition(" ; ")
    if marker and "darwin" not in marker:
        requirement += " ; sys_platform == 'linux'"
    return f"{requirement} \\\n{rest}"


def main() -> None:
    """Write both files."""
    files = [ROOT / f"requirements{part}.lock" for part in ("", "-dev", "-docs")]
    locked = "".join(file.read_text() for file in files)
    # Versions alone: uv takes no hashes in constraints of another platform.
    lines = [line.removesuffix(" \\") for line in locked.splitlines() if "==" in line]
    versions = dict.fromkeys(lines)
    with tempfile.TemporaryDirectory() as folder:
        constraint = Path(folder) / "constraints.txt"
        constraint.write_text("\n".join(versions) + "\n")
        given = None if "--upgrade" in sys.argv[1:] else constraint
        every = resolve(DEV, given)
        constraint.write_text("\n".join(lines.split(" \\\n")[0] for lines in every.values()))
        base = resolve(BASE, constraint)
        constraint.write_text("\n".join(versions) + "\n")
        docs = resolve((), given, docs_project(Path(folder) / "pyproject.toml"))
    dev = {name: lines for name, lines in every.items() if name not in base}
    what_for = "What `make export` installs", "What `make test` installs on top", "What `make docs` installs"
    for file, what, found in zip(files, what_for, (base, dev, docs), strict=True):
        file.write_text(HEAD.format(what=what) + "".join(found.values()))
        sys.stdout.write(f"{file.name}: {len(found)} packages\n")


if __name__ == "__main__":
    main()
