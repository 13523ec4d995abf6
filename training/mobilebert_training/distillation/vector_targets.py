"""Sentence vectors that a student is to give: its teachers' own, brought into the first teacher's space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from mobilebert_models import SentenceEmbedder
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.distillation.teacher_logits import kept_predictions
from mobilebert_training.finetuning.encoded_pairs import TRAIN_LENGTH, collator
from mobilebert_training.inference import predict

MAPPED_ON = 20_000  # texts that the map from one teacher's space to another's is fitted to

Teacher = tuple[SentenceEmbedder, PairTokenizer]


def vector_targets(
    teachers: Sequence[Teacher],
    texts: Sequence[str],
    folder: Path,
    device: torch.device,
    dtype: str,
    progress: Callable[[float], None] = lambda _: None,
) -> np.ndarray:
    """Unit vectors (N, H) float32 of the first teacher's width: the mean of what the teachers say.

    Args:
        teachers: whose vectors are computed once and kept.
        texts: N texts.
        folder: where they are kept.
        device: that computes them.
        dtype: "bf16" for products in bfloat16, or "float32".
        progress: called with the share that is done.
    """
    total: np.ndarray | None = None
    for place, teacher in enumerate(teachers):

        def read(part: Sequence[str], teacher: Teacher = teacher) -> np.ndarray:
            with torch.autocast(device.type, torch.bfloat16, enabled=dtype == "bf16"):
                return teacher_vectors(*teacher, part).astype(np.float16)

        def report(share: float, place: int = place) -> None:
            progress((place + share) / len(teachers))

        teacher[0].to(device)
        found = kept_predictions(read, teacher[0], texts, folder / dtype, report)
        teacher[0].to("cpu")
        if total is None:
            first, total = found, found.astype(np.float32)
        else:
            total += mapped(found, fit_target_map(found[:MAPPED_ON], first[:MAPPED_ON]))
    assert total is not None
    return total / np.linalg.norm(total, axis=1, keepdims=True)


def teacher_vectors(embedder: SentenceEmbedder, tokenizer: PairTokenizer, texts: Sequence[str]) -> np.ndarray:
    """Unit vectors (N, H) float32 of some texts."""
    rows = tokenizer.ids(list(texts), TRAIN_LENGTH)
    lengths = [len(ids) for ids, _ in rows]
    found = predict(
        embedder, lengths, collator(tokenizer, rows), forward=lambda inputs: embedder(**inputs).float()
    )
    return F.normalize(found, dim=-1).numpy()


def fit_target_map(wide: np.ndarray, near: np.ndarray) -> np.ndarray:
    """The map (W, H) from a teacher's vectors into a space of H dimensions that lies close to `near`.

    The best H dimensions of wider vectors (uncentred principal components: cosines are kept as well as H
    dimensions can), rotated so that they fit `near` best (orthogonal Procrustes).

    Args:
        wide: (N, W) vectors of the teacher to be followed.
        near: (M, H) vectors of the same first M texts in the space where the student already is.
    """
    wide, near = wide.astype(np.float64), near.astype(np.float64)
    _, basis = np.linalg.eigh(wide.T @ wide)
    basis = basis[:, ::-1][:, : near.shape[1]]
    left, _, right = np.linalg.svd((wide[: len(near)] @ basis).T @ near, full_matrices=False)
    return basis @ (left @ right)


def mapped(wide: np.ndarray, target_map: np.ndarray) -> np.ndarray:
    """Normalised targets (N, H) float32."""
    out = wide.astype(np.float32) @ target_map.astype(np.float32)
    return out / np.linalg.norm(out, axis=1, keepdims=True)
