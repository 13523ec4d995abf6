"""Artefacts as a static site that runs them in the visitor's browser: Match, FAQ, Measure, About.

The page's own files are built from `web/` and lie in `site_files`; the WebAssembly of the runtimes, 14 to 28
MB, comes from a node_modules folder. Nothing of the site asks another server for anything.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mobilebert_runtime.card import (
    CLASSIFICATION,
    EMBEDDING,
    MATCHING,
    check_checksums,
    read_card,
    read_recipe,
)
from mobilebert_runtime.checksums import CHECKSUM_FILE
from mobilebert_runtime.errors import ArtefactError, OptionError, ToolError
from mobilebert_runtime.files import file_sha256, replacing_folder

LISTING = "models.json"
SITE_FILES = Path(__file__).resolve().parent / "site_files"
TASKS = (MATCHING, CLASSIFICATION, EMBEDDING)
UNKNOWN_LICENCE = "not told; ask whoever made the model"
# Of each target: the npm package, its folder, and the files that the page may ask for.
RUNTIMES = {
    "tflite": (
        "@litertjs/core",
        "wasm",
        tuple(
            f"litert_wasm_{kind}internal.{ending}"
            for kind in ("", "threaded_", "compat_")
            for ending in ("js", "wasm")
        ),
    ),
    "onnx": ("onnxruntime-web", "dist", ("ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")),
}


def write_site(
    artefacts: Sequence[Path], out: Path, node_modules: Path | None = None, licence: str | None = None
) -> list[dict[str, Any]]:
    """Write the site of some artefacts; a folder that is there is replaced.

    Args:
        artefacts: folders; the page opens the first one.
        out: folder of the site.
        node_modules: holds the runtimes; by default the one in this folder, or in this checkout's `web/`.
        licence: of the models, as the page shows it; by default that of a shipped model's card.

    Returns:
        What models.json says of each.

    Raises:
        ArtefactError: a folder is damaged, or for a task that the page does not have.
        OptionError: two artefacts have one name.
        ToolError: the runtimes are not in `node_modules`, or in another version.
    """
    listed = [_listed(folder, licence) for folder in artefacts]
    names = [one["name"] for one in listed]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise OptionError(f"two artefacts are named {twice}; rename one of the folders")
    runtimes = _runtime_files({read_card(folder).target for folder in artefacts}, node_modules)
    with replacing_folder(out) as building:
        for file in sorted(SITE_FILES.iterdir()):
            if file.is_file() and file.name != "runtimes.json":
                shutil.copyfile(file, building / file.name)
        (building / "wasm").mkdir()
        for file in runtimes:
            shutil.copyfile(file, building / "wasm" / file.name)
        for folder, one in zip(artefacts, listed, strict=True):
            shutil.copytree(folder, building / one["folder"])
        listing = {"version": _version(building), "models": listed}
        (building / LISTING).write_text(json.dumps(listing, indent=2) + "\n", encoding="utf-8")
    return listed


def is_site(folder: Path) -> bool:
    """Did `write_site` make this folder?"""
    return (folder / LISTING).is_file()


def serve_site(folder: Path, port: int) -> ThreadingHTTPServer:
    """A server of the site on this machine alone, with the headers that threads in a browser need.

    Args:
        folder: of the site.
        port: 0 for any that is free.

    Raises:
        OptionError: the port is taken.
    """
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(folder)))
    except OSError as error:
        raise OptionError(f"--port: {port} can't be opened ({error.strerror}); give another") from None


class _Handler(SimpleHTTPRequestHandler):
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".wasm": "application/wasm",
        ".mjs": "text/javascript",
        ".js": "text/javascript",
        ".webmanifest": "application/manifest+json",
    }

    def end_headers(self) -> None:
        """Cross-origin isolation, without which a browser gives no threads."""
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing: the address is on the terminal."""


def _listed(folder: Path, licence: str | None) -> dict[str, Any]:
    """An entry of models.json."""
    card = read_card(folder)
    if card.task not in TASKS:
        raise ArtefactError(
            f"{folder}: is for {card.task}, which the page does not have; it has {', '.join(TASKS)}"
        )
    check_checksums(folder)
    origin = str(read_recipe(folder)["model"]["name"])
    name = folder.absolute().name
    return {
        "name": name,
        "folder": f"models/{name}",
        "task": card.task,
        "bytes": sum(file.stat().st_size for file in folder.iterdir()),
        "checksums": file_sha256(folder / CHECKSUM_FILE),
        "licence": licence or _licence(origin),
        "origin": origin,
    }


def _licence(origin: str) -> str:
    """The licence that a shipped model's card begins with, read without its package, which needs torch."""
    package = find_spec("mobilebert_models")
    places = list(package.submodule_search_locations or ()) if package else []
    shipped = {folder.name: folder for place in places for folder in Path(place, "shipped").iterdir()}
    if origin not in shipped:
        return UNKNOWN_LICENCE
    card = (shipped[origin] / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^\*\*(.+?)\*\*", card, re.MULTILINE)
    return found[1].rstrip(".") if found else UNKNOWN_LICENCE


def _runtime_files(targets: set[str], node_modules: Path | None) -> list[Path]:
    versions = json.loads((SITE_FILES / "runtimes.json").read_text(encoding="utf-8"))
    places = (
        [node_modules] if node_modules else [Path("node_modules"), SITE_FILES.parents[1] / "web/node_modules"]
    )
    found: list[Path] = []
    for target in sorted(targets):
        package, inner, files = RUNTIMES[target]
        wanted = versions[package]
        place = next((one for one in places if (one / package / "package.json").is_file()), None)
        how = f"run `npm install {package}@{wanted}` and give --node-modules node_modules"
        if place is None:
            raise ToolError(f"{places[0] / package}: not there, and its WebAssembly runs the model; {how}")
        version = json.loads((place / package / "package.json").read_text(encoding="utf-8"))["version"]
        if version != wanted:
            raise ToolError(f"{place / package}: is version {version}, the page needs {wanted}; {how}")
        found += [place / package / inner / file for file in files]
    return found


def _version(folder: Path) -> str:
    """One hash over every file: the page keeps files offline by it."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder).as_posix()}\n{file_sha256(file)}\n".encode())
    return digest.hexdigest()
