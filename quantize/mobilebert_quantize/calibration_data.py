"""Calibration text for activation ranges: real pairs, padded as at run time."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mobilebert_runtime.card import INPUT_NAMES
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import PairTokenizer

MINIMUM_PAIRS = 16


def encode_calibration(
    pairs: Sequence[tuple[str, str] | str],
    tokenizer: PairTokenizer,
    seq_len: int,
    inputs: Sequence[str] = INPUT_NAMES,
) -> dict[str, NDArray[np.int32]]:
    """Encode pairs or single texts as the runtime will: int32 (N, seq_len) by input name, padded.

    Args:
        pairs: the texts.
        tokenizer: of the model.
        seq_len: tokens.
        inputs: names of those that the network reads.

    Raises:
        DataError: fewer than `MINIMUM_PAIRS` pairs; a handful of texts leaves most channels at ranges
            that the next text exceeds.
    """
    if len(pairs) < MINIMUM_PAIRS:
        raise DataError(
            f"{len(pairs)} calibration pairs; give at least {MINIMUM_PAIRS}, better 100, "
            "of the kind you will match"
        )
    encoded = tokenizer.pad(tokenizer.ids(pairs, seq_len), seq_len)
    return {name: encoded[name] for name in inputs}
