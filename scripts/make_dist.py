"""Build what a release holds, in one folder: wheels, sdists, a data wheel a model, its files, and checksums.

    python scripts/make_dist.py OUT --home URL --model NAME ARTEFACT…

A data wheel holds one artefact folder and no code: the distribution mobilebert-model-open-m brings the
package mobilebert_model_open_m with the folder `artefact`, and `Matcher.load("matcher-open-m")` finds it.
The artefacts are those that `mobilebert export` has verified; their checksums are checked again.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from mobilebert_runtime.card import check_checksums, read_card

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = "mobilebert_runtime"
SHIPPED = ROOT / "models" / "mobilebert_models" / "shipped"
EPOCH = (
    1_577_836_800  # 2020-01-01: the time of every file in the archives, so that equal builds are equal files
)
NEVER_COPIED = shutil.ignore_patterns(
    ".*",
    "__pycache__",
    "*.egg-info",
    "artefacts",
    "build",
    "dist",
    "docs",
    "results",
    "runs",
    "studies",
    "tests",
)
MODEL_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{distribution}"
version = "{version}"
description = "{name}, a text matcher, as a verified {quant} {target} file for mobilebert-runtime."
readme = "README.md"
requires-python = ">=3.9"
{licence}
classifiers = [
    "Intended Audience :: Developers",
    "Operating System :: OS Independent",
    "Programming Language :: Python :: 3",
    "Topic :: Scientific/Engineering :: Artificial Intelligence",
]

[tool.setuptools]
packages = ["{package}"]
include-package-data = false

[tool.setuptools.package-data]
{package} = ["artefact/*"]
"""
URLS = """
[project.urls]
Homepage = "{home}"
Source = "{home}"
Issues = "{home}/issues"
Changelog = "{home}/blob/main/CHANGELOG.md"
"""


def main(arguments: list[str]) -> None:
    """Build everything into an empty or new folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder to make; what it held is replaced")
    parser.add_argument("--home", default="", help="address of the repository, for the metadata")
    parser.add_argument("--model", nargs="+", action="append", default=[], metavar=("NAME", "ARTEFACT"))
    given = parser.parse_args(arguments)
    os.environ["SOURCE_DATE_EPOCH"] = str(EPOCH)
    with tempfile.TemporaryDirectory() as work:
        built = Path(work) / "dist"
        built.mkdir()
        source = Path(work) / "source"
        shutil.copytree(ROOT, source, ignore=NEVER_COPIED)
        for project in (source / RUNTIME, source):
            add_urls(project, given.home)
            build(project, built, sdist=True)
        for name, *folders in given.model:
            release(name, [Path(folder) for folder in folders], given.home, Path(work) / name, built)
        write_checksums(built)
        shutil.rmtree(given.out, ignore_errors=True)
        shutil.copytree(built, given.out)
    for file in sorted(given.out.iterdir()):
        sys.stdout.write(f"{file.stat().st_size / 1e6:9.2f} MB  {file.name}\n")


def add_urls(project: Path, home: str) -> None:
    """Name the repository in a project's metadata; it is known where the release is built."""
    if home:
        file = project / "pyproject.toml"
        file.write_text(file.read_text() + URLS.format(home=home.removesuffix("/")))


def build(project: Path, out: Path, *, sdist: bool) -> None:
    """A project's wheel and sdist, by this environment's setuptools."""
    kinds = ["sdist", "wheel"] if sdist else ["wheel"]
    calls = "; ".join(f"backend.build_{kind}({str(out)!r})" for kind in kinds)
    script = f"from setuptools import build_meta as backend; {calls}"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{project.name}: {done.stderr.strip()}")


def release(name: str, folders: list[Path], home: str, work: Path, out: Path) -> None:
    """What is released of a model: the data wheel of its first artefact, and of each its file and its zip.

    Args:
        name: of the shipped matcher.
        folders: its artefacts, the one of the wheel first.
        home: address of the repository.
        work: a folder to build in.
        out: where the files go.
    """
    for folder in folders:
        check_checksums(folder)
        card = read_card(folder)
        stem = f"{name}-{card.quant}"
        shutil.copyfile(folder / card.model_file, out / f"{stem}.{card.target}")
        write_zip(folder, out / f"{stem}-{card.target}.zip")
    model_project(name, folders[0], work)
    add_urls(work, home)
    build(work, out, sdist=False)


def model_project(name: str, artefact: Path, folder: Path) -> None:
    """Write the project of a data wheel: a package that holds an artefact folder."""
    short = name.removeprefix("matcher-")
    package = f"mobilebert_model_{short.replace('-', '_')}"
    card = read_card(artefact)
    shutil.copytree(artefact, folder / package / "artefact")
    (folder / package / "__init__.py").write_text(f'"""{name}, as the folder `artefact`."""\n')
    shutil.copyfile(SHIPPED / name / "README.md", folder / "README.md")
    open_weights = name.startswith("matcher-open")
    licence = 'license = "Apache-2.0"\nlicense-files = ["LICENSE"]'
    if open_weights:
        shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    else:  # taught on Quora's pairs, whose terms forbid commercial use
        licence = 'license = "LicenseRef-Research-Only"'
    (folder / "pyproject.toml").write_text(
        MODEL_PROJECT.format(
            distribution=f"mobilebert-model-{short}",
            version=project_version(),
            name=name,
            quant=card.quant,
            target="TFLite" if card.target == "tflite" else "ONNX",
            package=package,
            licence=licence,
        )
    )


def project_version() -> str:
    """The version of the toolkit."""
    import tomllib

    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def write_zip(folder: Path, out: Path) -> None:
    """A folder as a zip, its files in the order of their names."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(folder.iterdir()):
            entry = zipfile.ZipInfo(f"{out.stem}/{file.name}", (2020, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, file.read_bytes())


def write_checksums(folder: Path) -> None:
    """SHA256SUMS of every file, as `sha256sum --check` and `shasum -a 256 --check` read it."""
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(folder.iterdir())
    ]
    (folder / "SHA256SUMS").write_text("".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
