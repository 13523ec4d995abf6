"""The trunk as a sentence encoder, what its vectors are to be, and the losses that say how far they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from mobilebert_models.networks.embedding_matcher import pooled
from mobilebert_models.networks.layers import Encoder, EncoderOutput
from mobilebert_runtime.files import save_array
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.distillation.losses import LAYER_TRANSFER, layer_loss, vector_losses
from mobilebert_training.distillation.vector_targets import fit_target_map, mapped
from mobilebert_training.finetuning.encoded_pairs import collator
from mobilebert_training.inference import predict
from recipes.general_matchers.teachers import MAX_LENGTH, load_shards

HELD = 1024  # see `held`
NARROW, WIDE = "minilm", "mpnet"  # the teachers, as their folders in the cache are called


def held(count: int) -> int:
    """How many of `count` texts, the first ones, are held out of training for the development figures."""
    return min(HELD, count // 8)


def sentence_vectors(encoder: Encoder, batch: dict[str, Tensor]) -> Tensor:
    """Normalised mean-pooled vectors (B, H)."""
    hidden = encoder(**batch).last_hidden_state.float()
    return F.normalize(pooled(hidden, batch["attention_mask"]), dim=-1)


def embed(encoder: Encoder, tokenizer: PairTokenizer, texts: Sequence[str], size: int = 128) -> np.ndarray:
    """Vectors (N, H) of some texts, in float32, computed where the encoder lies."""
    rows = tokenizer.ids(list(texts), MAX_LENGTH)
    if not rows:
        return np.zeros((0, encoder.config.hidden_size), np.float32)
    lengths = [len(ids) for ids, _ in rows]
    forward = partial(sentence_vectors, encoder)
    collate = collator(tokenizer, rows)
    return predict(encoder, lengths, collate, forward=forward, batch_size=size).numpy()


class Targets:
    """Cached vectors of both teachers as one target in the student's width; grows while they work.

    Args:
        cache: holds a folder of shards for each teacher.
        count: texts in all.
        share: of the near teacher (the one whose layers the student imitates) in the sum of both; with 1,
            the wide teacher's vectors are not needed.

    Attributes:
        values: (N, H) float32 unit targets of the texts that are `there`: read by both teachers.
        close: (N, H) float16 vectors of the near teacher, of the texts it has `read`.
    """

    def __init__(self, cache: Path, count: int, share: float) -> None:
        self.cache, self.count, self.share = cache, count, share
        if share < 1:
            path = cache / f"map-{WIDE}-{NARROW}.npy"
            if not path.is_file():
                theirs, there = load_shards(cache / WIDE, count)
                close, both = load_shards(cache / NARROW, count)
                both = there & both
                order = np.concatenate([np.flatnonzero(both), np.flatnonzero(there & ~both)])
                save_array(path, fit_target_map(theirs[order], close[both]))
            self.map = np.load(path)
        self.shards = -1
        self.refresh()

    def refresh(self) -> None:
        """Read what has been labelled by now."""
        shards = sum(1 for name in (NARROW, WIDE) for _ in (self.cache / name).glob("shard-*.npy"))
        if shards == self.shards:
            return
        self.shards = shards
        self.close, self.read = load_shards(self.cache / NARROW, self.count)
        close, self.there = self.close, self.read.copy()
        if self.share < 1:
            theirs, both = load_shards(self.cache / WIDE, self.count)
            self.there &= both
        self.values = np.zeros(close.shape, np.float32)
        blend = self.share * close[self.there].astype(np.float32)
        if self.share < 1:
            blend += (1 - self.share) * mapped(theirs[self.there], self.map)
        self.values[self.there] = blend / np.linalg.norm(blend, axis=1, keepdims=True)

    @property
    def rows(self) -> np.ndarray:
        """Labelled texts that may be trained on."""
        rows = np.flatnonzero(self.there)
        return rows[rows >= held(self.count)]


def vector_loss(ours: Tensor, target: Tensor) -> tuple[Tensor, dict[str, float]]:
    """`vector_losses` with the similarities of the targets, and its parts as numbers."""
    loss, parts = vector_losses(ours, target, target @ target.T)
    return loss, {name: part.item() for name, part in parts.items()}


def transfer_loss(
    target: EncoderOutput, ours: EncoderOutput, mask: Tensor
) -> tuple[Tensor, dict[str, float]]:
    """The layer-wise transfer loss of MobileBERT section 3.5, the embedding output counted as a layer.

    Args:
        target: of the teacher, captured.
        ours: of the student, captured.
        mask: (B, T), 1 = token, 0 = padding.
    """
    parts = {
        name: layer_loss(name, target, ours, mask, with_embedding=name != "attention")
        for name in LAYER_TRANSFER.parts
    }
    return LAYER_TRANSFER.total(parts), {name: part.item() for name, part in parts.items()}
