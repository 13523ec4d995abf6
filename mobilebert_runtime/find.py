"""Where an artefact lies: a folder, a data package that pip installed, or a model in the hub's cache.

Standard library only; nothing is fetched. The data package of `matcher-open-m` is `mobilebert_model_open_m`,
with the artefact in its folder `artefact/`. The hub's cache is that of `huggingface_hub`.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path

from mobilebert_runtime.errors import ArtefactError

CARD_FILE = "io.json"
_NAME = re.compile(r"(?:([\w.-]+)/)?([A-Za-z0-9][\w.-]*)")


def find_folder(directory: str | Path) -> Path:
    """The folder that a path, the name of a shipped matcher or a hub's ORG/NAME stands for.

    A folder that is there comes first. What is found nowhere is returned as it was given, for its reader to
    say that it is not there.

    Raises:
        ArtefactError: it is a model file, or the hub's cache has several of that name.
    """
    path = Path(directory)
    if path.suffix in (".tflite", ".onnx"):
        raise ArtefactError(
            f"{str(path)[:255]}: is a model file; give the folder that holds it with its {CARD_FILE}"
        )
    found = _NAME.fullmatch(str(directory))
    if found is None or _is_folder(path):
        return path
    organisation, name = found.groups()
    return (None if organisation else _installed(name)) or _cached(organisation, name) or path


def package_of(name: str) -> str:
    """The data package that holds a matcher: `matcher-open-m` → `mobilebert_model_open_m`."""
    own = name[len("matcher-") :] if name.startswith("matcher-") else name
    return "mobilebert_model_" + re.sub(r"\W", "_", own)


def _installed(name: str) -> Path | None:
    spec = find_spec(package_of(name))
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / "artefact" / CARD_FILE).is_file():
            return Path(place) / "artefact"
    return None


def _cached(organisation: str | None, name: str) -> Path | None:
    """The snapshot that `main` points to, or the only one."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    found = []
    for model in sorted(cache.glob(f"models--{organisation or '*'}--{name}")):
        main = model / "refs" / "main"
        snapshot = main.read_text(encoding="utf-8").strip() if main.is_file() else "*"
        cards = sorted(model.glob(f"snapshots/{snapshot}/{CARD_FILE}"))
        found += [card.parent for card in cards]
    if len(found) > 1:
        names = ", ".join(str(folder) for folder in found[:3])
        raise ArtefactError(
            f"{name}: the hub's cache holds several, such as {names}; give one of these folders"
        )
    return found[0] if found else None


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
