"""Marks a run folder with its settings, so that no stage of another teacher, seed or recipe is resumed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from mobilebert_runtime.files import write_json
from mobilebert_training.training_config import ResumeError

RUN = "run.json"


def claim(folder: Path, metadata: dict[str, Any], *, write: bool = True) -> None:
    """Write down what a run depends on, or compare it with what an earlier run in `folder` wrote.

    Args:
        folder: of the run; made if it is not there.
        metadata: JSON values.
        write: False in all processes of a distributed run but one.

    Raises:
        ResumeError: `folder` holds a run with other metadata.
    """
    path = folder / RUN
    metadata = json.loads(json.dumps(metadata))  # as they are read back: tuples become lists
    if not path.is_file():
        if write:
            folder.mkdir(parents=True, exist_ok=True)
            write_json(path, metadata)
        return
    old = json.loads(path.read_text(encoding="utf-8"))
    if different := [name for name in metadata | old if old.get(name) != metadata.get(name)]:
        raise ResumeError(
            f"{folder}: holds a run with other {', '.join(different)}; use the same settings to resume it, "
            "or another output directory"
        )


def weights_hash(model: nn.Module) -> str:
    """A hash of all weights of a model, by name."""
    digest = sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def values_hash(values: Iterable[Any], array: np.ndarray | None = None) -> str:
    """A hash of texts (or tuples of them) in order, and of an array."""
    digest = sha256()
    for value in values:
        digest.update(json.dumps(value).encode())
    if array is not None:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
