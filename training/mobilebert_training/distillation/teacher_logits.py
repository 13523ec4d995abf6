"""A teacher's logits of many pairs, computed once and kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from mobilebert_models import PairClassifier
from mobilebert_runtime.files import save_array
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import TRAIN_LENGTH, predict_logits
from mobilebert_training.run_directory import values_hash, weights_hash

# Pairs between two files: what an interruption costs at most.
_PART = 8192


def teacher_logits(
    teacher: PairClassifier,
    tokenizer: PairTokenizer,
    pairs: Sequence[Pair],
    folder: Path,
    progress: Callable[[float], None] = lambda _: None,
) -> np.ndarray:
    """Logits (N, C) of a fine-tuned pair classifier.

    They are kept in `folder`, a file for every 8,192 pairs, under a name that the teacher's weights and the
    pairs make: an interrupted run goes on, and nothing of another teacher is taken for it.

    Args:
        teacher: the classifier.
        tokenizer: its own.
        pairs: N pairs.
        folder: made if it is not there.
        progress: called with the share that is done.
    """

    def predict(part: Sequence[Pair]) -> np.ndarray:
        return predict_logits(teacher, tokenizer, part, seq_len=TRAIN_LENGTH)

    return kept_predictions(predict, teacher, pairs, folder, progress)


def kept_predictions(
    predict: Callable[[Sequence[Any]], np.ndarray],
    teacher: nn.Module,
    pairs: Sequence[Any],
    folder: Path,
    progress: Callable[[float], None] = lambda _: None,
) -> np.ndarray:
    """What `predict` says of N pairs or texts, (N, …), kept as `teacher_logits` keeps logits.

    Args:
        predict: of some of them, (M,) or (M, C).
        teacher: the network that it asks.
        pairs: N pairs, or texts.
        folder: made if it is not there; for this one `predict` alone.
        progress: called with the share that is done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{weights_hash(teacher)[:16]}.{values_hash(pairs)[:16]}"
    parts = range(0, len(pairs), _PART)
    found = []
    for number, start in enumerate(parts):
        file = folder / f"{name}.{number:03}.npy"
        if not file.is_file():
            said = predict(pairs[start : start + _PART])
            save_array(file, said)
        found.append(np.load(file))
        progress((number + 1) / len(parts))
    return np.concatenate(found)
