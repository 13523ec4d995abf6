"""A run's folder belongs to its inputs: what lies there is taken up only by a run on the same ones.

Every command that resumes or leaves out finished work asks here first. run.json keeps, for each part of a
run, its options and hashes of its data, its models and the program's code.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from mobilebert_matching.data.repeated_pairs import TRAINING_PAIRS
from mobilebert_runtime.files import file_sha256, write_json
from mobilebert_training.training_config import ResumeError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

RUN, LOCK = "run.json", ".lock"
# What a run leaves for the one that resumes it, and what of it is finished.
KEPT = ("*.checkpoint", "*.weights", "cells/*.json", "cells/*/*.checkpoint", "checkpoint.pt", "start")
# The packages whose code decides what a training learns.
CODE = ("mobilebert_training", "mobilebert_models", "mobilebert_matching", "mobilebert_runtime")
# Files of a model directory that are read.
MODEL_FILES = ("*.json", "*.txt", "*.safetensors", "*.model", "*/*.json", "*/*.safetensors")
_locks: dict[Path, tuple[int, int]] = {}  # lock file → descriptor and how many blocks hold it


def claim(
    folder: Path, part: str, inputs: dict[str, Any], *, write: bool = True, force: bool = False
) -> None:
    """Write down what a run depends on, or compare it with what an earlier run in `folder` wrote.

    Args:
        folder: of the run; made if it is not there.
        part: of the run; each part has inputs of its own.
        inputs: by name, JSON values: options, and hashes of what is read.
        write: False in all processes of a distributed run but one.
        force: of other inputs, drop what is there (`KEPT`) and begin anew.

    Raises:
        ResumeError: `folder` holds a run with other inputs.
    """
    path = folder / RUN
    # As it is read back: tuples become lists.
    known = json.loads(json.dumps(inputs | {"code": code_hash()}))
    parts = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    different = changes(parts.get(part, known), known)
    if different and not force:
        raise ResumeError(f"{folder}: holds a run with other {different}; choose another folder").or_with(
            "begin anew", "--force"
        )
    if different and write:
        for kept in (found for pattern in KEPT for found in folder.glob(pattern)):
            shutil.rmtree(kept) if kept.is_dir() else kept.unlink()
        parts = {}
    if write and parts.get(part) != known:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(path, parts | {part: known})


def claimed(folder: Path, part: str) -> bool:
    """Whether `folder` holds a run that has this part."""
    path = folder / RUN
    return path.is_file() and part in json.loads(path.read_text(encoding="utf-8"))


def changes(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Names of the values that differ, with the members of those that have some; empty: none."""
    found = []
    for name in old | new:
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict) and before != after:
            found.append(f"{name} ({changes(before, after)})")
        elif before != after:
            found.append(name)
    return ", ".join(found)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a run's folder for as long as the block runs.

    The lock is the system's: it ends with the process, however that ends, and no child inherits it. A new
    folder in which nothing was done, because its data were refused, goes again.

    Raises:
        ResumeError: another process works in it.
    """
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder.resolve() / LOCK
    descriptor, holders = _locks.get(path) or (os.open(path, os.O_RDWR | os.O_CREAT, 0o666), 0)
    try:
        if fcntl is not None and not holders:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        os.close(descriptor)
        raise ResumeError(
            f"{folder}: another process works there; wait for it, or choose another folder"
        ) from (error)
    except OSError:
        pass  # a file system without locks
    _locks[path] = descriptor, holders + 1
    try:
        yield
    finally:
        descriptor, holders = _locks.pop(path)
        if holders > 1:
            _locks[path] = descriptor, holders - 1
        else:
            if made and {kept.name for kept in folder.iterdir()} <= {LOCK, RUN, TRAINING_PAIRS}:
                shutil.rmtree(folder)
            os.close(descriptor)


def data_hashes(data: Path, names: Iterable[str] = ("train", "dev", "test")) -> dict[str, str]:
    """SHA-256 by file name: of a file, or of those parts that a folder of pairs has."""
    files = [data] if data.is_file() else [data / f"{name}.tsv" for name in names]
    return {file.name: file_sha256(file) for file in files if file.is_file()}


def model_hashes(directory: Path) -> dict[str, str]:
    """SHA-256 of the files of a model directory, by their names in it."""
    files = sorted(path for pattern in MODEL_FILES for path in directory.glob(pattern) if path.is_file())
    return {path.relative_to(directory).as_posix(): file_sha256(path) for path in files}


@functools.cache
def code_hash(packages: tuple[str, ...] = CODE) -> str:
    """A hash of the code that decides what a training learns."""
    digest = sha256()
    for package in packages:
        spec = importlib.util.find_spec(package)
        for root in (spec and spec.submodule_search_locations) or ():
            for path in sorted(Path(root).rglob("*.py")):
                digest.update(f"{package}/{path.relative_to(root).as_posix()}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


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
