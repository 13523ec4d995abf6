"""An index of texts by their vectors: a folder of rows in one or two bytes a number, and the texts.

DIR/vectors.npy    int8 or float16 (N, D), rows of length 1
    scales.npy     float32 (N,), of int8 rows alone: a row is its scale times its numbers
    texts.jsonl    a text on each line, as a JSON string
    SHA256SUMS     of the other files
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.card import CHECKSUM_FILE, check_sums
from mobilebert_runtime.checked import read_text, there
from mobilebert_runtime.errors import ArtefactError, DataError
from mobilebert_runtime.files import file_sha256, refuse_finished, replacing_folder
from mobilebert_runtime.results import Hit

VECTORS, SCALES, TEXTS = "vectors.npy", "scales.npy", "texts.jsonl"
KINDS = ("int8", "float16")
BLOCK = 4096  # rows that are compared at a time, as float32


class Index:
    """Texts and their vectors; `nearest` compares a vector with all of them.

    Raises:
        DataError: there are not as many texts as vectors.
    """

    def __init__(
        self, texts: Sequence[str], vectors: NDArray[Any], scales: NDArray[np.float32] | None
    ) -> None:
        if len(texts) != len(vectors):
            raise DataError(f"{len(texts)} texts for {len(vectors)} vectors; give one of each")
        self.texts = list(texts)
        self.vectors = vectors  # int8 or float16 (N, D)
        self.scales = scales  # float32 (N,), None with float16

    @property
    def size(self) -> int:
        """D, the length of a vector."""
        return self.vectors.shape[1]

    @classmethod
    def build(cls, vectors: NDArray[np.float32], texts: Sequence[str], kind: str = "int8") -> Index:
        """Make an index of float32 vectors (N, D), in "int8" or "float16".

        Raises:
            DataError: the kind is unknown, or a vector is zero or not finite.
        """
        if kind not in KINDS:
            raise DataError(f"an index of {kind!r} is unknown; expected one of {', '.join(KINDS)}")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise DataError("a vector is zero or not finite, so it has no direction")
        rows = vectors / lengths
        if kind == "float16":
            return cls(texts, rows.astype(np.float16), None)
        scales = (np.abs(rows).max(axis=1) / 127).astype(np.float32)
        return cls(texts, np.rint(rows / scales[:, None]).astype(np.int8), scales)

    def nearest(self, vector: NDArray[np.float32], top_k: int = 10) -> list[Hit]:
        """The texts with the highest cosine to a vector (D,), the highest first.

        Raises:
            DataError: `top_k` is less than 1, or the vector is zero or of another length.
        """
        if top_k < 1:
            raise DataError(f"the {top_k} nearest texts can't be; give 1 or more")
        if np.shape(vector) != (expected := self.vectors.shape[1:]):
            raise DataError(
                f"the query's vector has the shape {np.shape(vector)}; the texts' have {expected}"
            )
        length = np.linalg.norm(vector)
        if not (np.isfinite(length) and length):
            raise DataError("the query's vector is zero or not finite, so it has no direction")
        scores = self._cosines((vector / length).astype(np.float32))
        order = np.argsort(-scores, kind="stable")[:top_k]
        return [Hit(int(i), float(scores[i]), self.texts[i]) for i in order]

    def _cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        scores = np.empty(len(self.vectors), np.float32)
        for start in range(0, len(scores), BLOCK):
            scores[start : start + BLOCK] = self.vectors[start : start + BLOCK].astype(np.float32) @ vector
        return scores if self.scales is None else scores * self.scales

    def save(self, directory: str | Path, *, force: bool = False) -> None:
        """Write the folder, which appears when it is complete.

        Raises:
            OutputError: the folder exists and `force` is off.
        """
        refuse_finished(Path(directory), force=force)
        with replacing_folder(Path(directory)) as folder:
            np.save(folder / VECTORS, self.vectors, allow_pickle=False)
            if self.scales is not None:
                np.save(folder / SCALES, self.scales, allow_pickle=False)
            lines = (json.dumps(text) + "\n" for text in self.texts)
            (folder / TEXTS).write_text("".join(lines), encoding="utf-8")
            files = sorted(folder.iterdir())
            sums = "".join(f"{file_sha256(path)}  {path.name}\n" for path in files)
            (folder / CHECKSUM_FILE).write_text(sums, encoding="utf-8")

    @classmethod
    def load(cls, directory: str | Path) -> Index:
        """Read the folder that `save` wrote.

        Raises:
            ArtefactError: a file is missing or damaged, or is not what an index holds.
        """
        folder = Path(directory)
        if not (there(folder) and folder.is_dir()):
            raise ArtefactError(f"{str(folder)[:255]}: no such index; make one with Index.build and save")
        check_sums(folder, {VECTORS, TEXTS})
        vectors = _read_array(folder / VECTORS, KINDS, 2)
        scales = None
        if vectors.dtype == np.int8:
            check_sums(folder, {SCALES})
            scales = _read_array(folder / SCALES, ("float32",), 1)
        texts = _read_texts(folder / TEXTS)
        for count, what in ((len(texts), "texts"), (len(vectors if scales is None else scales), "scales")):
            if count != len(vectors):
                raise ArtefactError(
                    f"{folder}: {count} {what} for {len(vectors)} vectors; build the index again"
                )
        return cls(texts, vectors, scales)


def _read_array(path: Path, kinds: Sequence[str], axes: int) -> NDArray[Any]:
    try:
        found = np.load(path, allow_pickle=False)
    except Exception as error:  # a damaged file fails in as many ways as it has fields
        raise ArtefactError(f"{path}: damaged ({str(error)[:200]}); build the index again") from error
    if not isinstance(found, np.ndarray) or found.dtype.name not in kinds or found.ndim != axes:
        raise ArtefactError(f"{path}: is no array of {' or '.join(kinds)}; build the index again")
    if not np.isfinite(found).all():
        raise ArtefactError(f"{path}: holds numbers that are not finite; build the index again")
    return found


def _read_texts(path: Path) -> list[str]:
    try:
        texts = [json.loads(line) for line in read_text(path).split("\n")[:-1]]
    except (ValueError, RecursionError) as error:
        if isinstance(error, ArtefactError):
            raise
        raise ArtefactError(f"{path}: damaged ({str(error)[:200]}); build the index again") from None
    if not all(isinstance(text, str) for text in texts):
        raise ArtefactError(f"{path}: holds what is no text; build the index again")
    return texts
