"""Calibration text for activation ranges: real pairs, padded as at run time."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import PairTokenizer

MINIMUM_PAIRS = 16


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
