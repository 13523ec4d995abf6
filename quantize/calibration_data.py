"""Calibration text for activation ranges: real pairs, padded as at run time."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from matching.data.pairs import read_pairs
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import PairTokenizer

MINIMUM_PAIRS = 16
# No sequence length reads so much; a longer field means that the file is something else.
MAXIMUM_CHARACTERS = 100_000


def read_calibration(
    path: Path, text_a: str | None = None, text_b: str | None = None
) -> list[tuple[str, str]]:
    """The pairs of a TSV file (any format of `matching.data.pairs`), every row of it.

    Stricter than reading training data: the ranges of a few texts go into every answer of the artefact, so a
    file with damaged rows is refused.

    Args:
        path: the file.
        text_a: column of the first texts; the names that public data sets use are found without it.
        text_b: column of the second texts.

    Raises:
        DataError: see `matching.data.pairs.read_pairs`; or
            a row is damaged, or a text is too long to be one.
    """
    table = read_pairs(path, text_a, text_b)
    if len(table.problems):
        raise DataError(f"{path}: unusable rows, fix or remove them: {'; '.join(table.problems.describe())}")
    for line, *texts in zip(table.lines, table.text_a, table.text_b, strict=True):
        longest = max(map(len, texts))
        if longest > MAXIMUM_CHARACTERS:
            raise DataError(
                f"{path}: line {line} holds a text of {longest:,} characters; expected pairs of short texts, "
                f"at most {MAXIMUM_CHARACTERS:,} characters each"
            )
    return table.pairs


def encode_calibration(
    pairs: Sequence[tuple[str, str]], tokenizer: PairTokenizer, seq_len: int
) -> dict[str, NDArray[np.int32]]:
    """Encode pairs as the runtime will: int32 (N, seq_len) by input name, padded.

    Raises:
        DataError: fewer than `MINIMUM_PAIRS` pairs; a handful of texts leaves most channels at ranges
            that the next text exceeds.
    """
    if len(pairs) < MINIMUM_PAIRS:
        raise DataError(
            f"{len(pairs)} calibration pairs; give at least {MINIMUM_PAIRS}, better 100, "
            "of the kind you will match"
        )
    return tokenizer.encode(pairs, seq_len)
