"""An index of texts by their vectors: a folder with the texts and a vector of int8 or float16 for each.

DIR/vectors.npy    int8 or float16 (N, D), rows of length 1 where they are compared by their cosine
    scales.npy     float32 (N,), with int8 only: a row is its scale times its numbers
    texts.jsonl    a text on each line, as a JSON string
    index.json     the format, the encoder: the fingerprint of the artefact that made the vectors, and the
                   similarity where it is not the cosine
    SHA256SUMS     of the other files
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.card_parts import SIMILARITIES
from mobilebert_runtime.checked import Fields, as_json, as_text, there
from mobilebert_runtime.checksums import CHECKSUM_FILE, Checksums
from mobilebert_runtime.errors import ArtefactError, DataError, OutputError
from mobilebert_runtime.files import file_sha256, refuse_finished, replacing_folder, write_json
from mobilebert_runtime.results import Hit
from mobilebert_runtime.texts import as_texts

FORMAT = 1
VECTORS, SCALES, TEXTS, ABOUT = "vectors.npy", "scales.npy", "texts.jsonl", "index.json"
FILES = {VECTORS, SCALES, TEXTS, ABOUT, CHECKSUM_FILE}
KINDS = ("int8", "float16")
DISTANCES = {"euclidean": 2, "manhattan": 1}  # similarities that are the negative of a norm, by its order
LARGEST_FLOAT16 = 65504
BLOCK = 4096  # rows that are compared at a time, as float32


class Index:
    """Texts and their vectors; `nearest` compares a vector with all of them.

    `Embedder.index` makes one whose texts its `search` finds. Raises `DataError` where there are not as many
    texts as vectors.
    """

    def __init__(
        self,
        texts: Iterable[str],
        vectors: NDArray[Any],
        scales: NDArray[np.float32] | None,
        encoder: str | None = None,
        similarity: str = SIMILARITIES[0],
    ) -> None:
        self.texts = as_texts(texts, 1)
        if len(self.texts) != len(vectors):
            raise DataError(f"{len(self.texts)} texts for {len(vectors)} vectors; give one of each")
        self.vectors = vectors  # int8 or float16 (N, D)
        self.scales = scales  # float32 (N,), None with float16
        self.encoder = encoder  # fingerprint of the artefact that made the vectors; None: not known
        self.similarity = similarity  # by which `nearest` compares, of `SIMILARITIES`

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"<Index of {len(self)} texts, {self.vectors.dtype.name} vectors of {self.size} numbers>"

    @property
    def size(self) -> int:
        """D, the length of a vector."""
        return self.vectors.shape[1]

    @classmethod
    def build(
        cls,
        vectors: NDArray[np.float32],
        texts: Iterable[str],
        kind: str = "int8",
        encoder: str | None = None,
        similarity: str = SIMILARITIES[0],
    ) -> Index:
        """Make an index of float32 vectors (N, D), in "int8" or "float16".

        Args:
            vectors: of the texts.
            texts: N of them.
            kind: of the stored numbers.
            encoder: `Embedder.fingerprint` of what made the vectors; `Embedder.search` asks for it.
            similarity: by which `nearest` compares: cosine, dot, or the negative of the distance euclidean or
                manhattan.

        Raises:
            DataError: the kind or the similarity is unknown, there are not as many texts as vectors, or a
                vector is zero, not finite or too long for float16.
        """
        if kind not in KINDS:
            raise DataError(f"an index of {kind!r} is unknown; expected one of {', '.join(KINDS)}")
        if similarity not in SIMILARITIES:
            raise DataError(
                f"similarity {similarity!r:.60} is unknown; expected one of {', '.join(SIMILARITIES)}"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise DataError("a vector is zero or not finite, so it has no direction")
        rows = vectors / lengths if similarity == SIMILARITIES[0] else vectors
        if kind == "float16":
            if np.abs(rows).max(initial=0) > LARGEST_FLOAT16:
                raise DataError(f"a vector holds numbers above {LARGEST_FLOAT16}; take the kind int8")
            return cls(texts, rows.astype(np.float16), None, encoder, similarity)
        scales = (np.abs(rows).max(axis=1) / 127).astype(np.float32)
        return cls(texts, np.rint(rows / scales[:, None]).astype(np.int8), scales, encoder, similarity)

    def nearest(self, vector: NDArray[np.float32], top_k: int = 10) -> list[Hit]:
        """The texts whose vectors are most similar to a vector (D,), the most similar first.

        Raises:
            DataError: `top_k` is less than 1, or the vector is zero or of another length.
        """
        if top_k < 1:
            raise DataError(f"top_k is {top_k}; give 1 or more")
        if np.shape(vector) != (expected := self.vectors.shape[1:]):
            raise DataError(
                f"the query's vector has the shape {np.shape(vector)}; the texts' have {expected}"
            )
        length = np.linalg.norm(vector)
        if not (np.isfinite(length) and length):
            raise DataError("the query's vector is zero or not finite, so it has no direction")
        cosine = self.similarity == SIMILARITIES[0]
        scores = self._scores((vector / length if cosine else vector).astype(np.float32))
        order = np.argsort(-scores, kind="stable")[:top_k]
        return [Hit(int(i), float(scores[i]), self.texts[i]) for i in order]

    def _scores(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        scores = np.empty(len(self.vectors), np.float32)
        for start in range(0, len(scores), BLOCK):
            block = slice(start, start + BLOCK)
            rows = self.vectors[block].astype(np.float32)
            scales = np.float32(1) if self.scales is None else self.scales[block]
            if self.similarity in DISTANCES:
                apart = rows * np.reshape(scales, (-1, 1)) - vector
                scores[block] = -np.linalg.norm(apart, ord=DISTANCES[self.similarity], axis=1)
            else:
                scores[block] = (rows @ vector) * scales
        # Rounded rows may be longer than 1 by a little, and their cosines with them.
        return np.clip(scores, -1, 1) if self.similarity == SIMILARITIES[0] else scores

    def save(self, directory: str | Path, *, force: bool = False) -> None:
        """Write the folder, which appears when it is complete.

        Raises:
            OutputError: the folder exists and `force` is off, or it holds other things than an index, which
                are never deleted.
        """
        out = Path(directory)
        refuse_finished(out, force=force)
        _refuse_others(out)
        with replacing_folder(out) as folder:
            np.save(folder / VECTORS, self.vectors, allow_pickle=False)
            if self.scales is not None:
                np.save(folder / SCALES, self.scales, allow_pickle=False)
            lines = (json.dumps(text) + "\n" for text in self.texts)
            (folder / TEXTS).write_text("".join(lines), encoding="utf-8")
            other = {} if self.similarity == SIMILARITIES[0] else {"similarity": self.similarity}
            write_json(folder / ABOUT, {"format": FORMAT, "encoder": self.encoder, **other})
            files = sorted(folder.iterdir())
            sums = "".join(f"{file_sha256(path)}  {path.name}\n" for path in files)
            (folder / CHECKSUM_FILE).write_text(sums, encoding="utf-8")
            _refuse_others(out)  # somebody may have been faster

    @classmethod
    def load(cls, directory: str | Path) -> Index:
        """Read the folder that `save` wrote.

        Raises:
            ArtefactError: a file is missing or damaged, or is not what an index holds.
        """
        folder = Path(directory)
        if not (there(folder) and folder.is_dir()):
            raise ArtefactError(f"{str(folder)[:255]}: no such index; make one with Embedder.index and save")
        sums = Checksums(folder, "build the index again")
        sums.require({VECTORS, TEXTS, ABOUT})
        vectors = _read_array(sums, VECTORS, KINDS, 2)
        scales = _read_array(sums, SCALES, ("float32",), 1) if vectors.dtype == np.int8 else None
        texts = _read_texts(sums)
        for count, what in ((len(texts), "texts"), (len(vectors if scales is None else scales), "scales")):
            if count != len(vectors):
                raise ArtefactError(
                    f"{folder}: {count} {what} for {len(vectors)} vectors; build the index again"
                )
        return cls(texts, vectors, scales, *_read_about(sums))


def _refuse_others(out: Path) -> None:
    if not (out.exists() or out.is_symlink()):
        return
    if out.is_symlink() or not out.is_dir():
        raise OutputError(f"{out}: is not a folder of its own, so it is not replaced; choose another name")
    names = {path.name for path in out.iterdir()}
    if others := sorted(names - FILES):
        raise OutputError(
            f"{out}: holds {others[0]!r:.60}, which is no part of an index, so it is not replaced; choose "
            "another name"
        )


def _read_array(sums: Checksums, name: str, kinds: Sequence[str], axes: int) -> NDArray[Any]:
    path, content = sums.folder / name, sums.read(name)
    try:
        found = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # a damaged file fails in as many ways as it has fields
        raise ArtefactError(f"{path}: damaged ({str(error)[:200]}); build the index again") from error
    if not isinstance(found, np.ndarray) or found.dtype.name not in kinds or found.ndim != axes:
        raise ArtefactError(f"{path}: is no array of {' or '.join(kinds)}; build the index again")
    if not np.isfinite(found).all():
        raise ArtefactError(f"{path}: holds numbers that are not finite; build the index again")
    return found


def _read_texts(sums: Checksums) -> list[str]:
    path = sums.folder / TEXTS
    try:
        texts = [json.loads(line) for line in as_text(sums.read(TEXTS), path).split("\n")[:-1]]
    except (ValueError, RecursionError) as error:
        if isinstance(error, ArtefactError):
            raise
        raise ArtefactError(f"{path}: damaged ({str(error)[:200]}); build the index again") from None
    if not all(isinstance(text, str) for text in texts):
        raise ArtefactError(f"{path}: holds an entry that is not a text; build the index again")
    return texts


def _read_about(sums: Checksums) -> tuple[str | None, str]:
    """The encoder, and the similarity."""
    path = sums.folder / ABOUT
    about = Fields(as_json(sums.read(ABOUT), path), str(path))
    if about.integer("format", 0, 1 << 31) != FORMAT:
        raise ArtefactError(f"{path}: is of another format than {FORMAT}; build the index again")
    about.only("format", "encoder", "similarity")
    similarity = about.text("similarity") if "similarity" in about.data else SIMILARITIES[0]
    if similarity not in SIMILARITIES:
        raise ArtefactError(f"{path}: similarity {similarity!r} is not known; build the index again")
    encoder = about.text("encoder") if about.take("encoder", str, type(None)) is not None else None
    return encoder, similarity
