"""Model directories by the ids of the Hugging Face hub, such as sentence-transformers/all-MiniLM-L6-v2."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mobilebert_runtime.errors import ModelError

# Owner and name, as the hub allows them.
_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
# What people call folders of their own: OWNER/NAME that begins so is a path.
_FOLDERS = re.compile(
    "(?i)artefacts?|artifacts?|build|checkpoints?|data|dist|exp|experiments?|models?|out|outputs?|results?|runs?|"
    "te?mp|trained|work"
)
# Weights that can hold no code, configs, vocabularies; of folders inside, sentence-transformers' modules.
FILES = ["*.json", "*.txt", "model*.safetensors", "adapter_model.safetensors", "*.model", "[0-9]_*/*"]
UNUSED = ["onnx/*", "openvino/*", "*.bin", "*.h5", "*.msgpack", "*.ot", "*.onnx"]


def is_hub_id(name: str) -> bool:
    """Is a name an id of the hub: OWNER/NAME, and no path?

    It is a path where its first part is a folder here, or a word that people call folders by.
    """
    owner = name.partition("/")[0]
    its_own = _FOLDERS.fullmatch(owner) or Path(owner).exists()
    return _ID.fullmatch(name) is not None and not its_own


def hub_directory(name: str) -> Path:
    """The snapshot of a hub id in huggingface_hub's cache, brought up to date where the hub can be reached.

    Without a connection it is what the cache holds.

    Raises:
        ModelError: it is not in the cache and can't be fetched, or holds no model.safetensors.
    """
    from huggingface_hub import constants, snapshot_download

    sys.stderr.write(f"fetching {name} from the hub\n")
    try:
        folder = Path(snapshot_download(name, allow_patterns=FILES, ignore_patterns=UNUSED))
    except Exception as error:  # of the hub, of HTTP, of the file system: they share no base class
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise ModelError(
            f"model {name!r}: no such directory, not in the cache {constants.HF_HUB_CACHE}, and the hub "
            f"can't give it ({reason}); check the id and the connection, or give a directory"
        ) from error
    if not any((folder / name).is_file() for name in ("model.safetensors", "adapter_model.safetensors")):
        raise ModelError(f"model {name!r}: holds no model.safetensors; convert it with transformers first")
    return folder
