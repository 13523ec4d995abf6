"""Words as the word-level matchers read them: lower-cased, punctuation apart, contractions split."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

# The Penn Treebank's way, as word vectors are trained: do | n't, it | 's; every other sign stands alone.
_WORD = re.compile(r"n['’]t\b|['’](?:s|re|ve|ll|d|m)\b|\w+?(?=n['’]t\b)|\w+|[^\w\s]")


def words(text: str) -> list[str]:
    """The words of a text; at least one for a text that is not white space.

    These are finer than the white-space words of `length_divergence`, which define the bias.
    """
    return _WORD.findall(text.lower().replace("’", "'"))


def pad(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Stack word ids of texts into (B, longest) int64, 0 behind the words; at least one column."""
    out = np.zeros((len(rows), max(1, *(len(row) for row in rows))), np.int64)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out
