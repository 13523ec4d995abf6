"""Token states of texts, each read once, and the pair decision on top of them, in batches of packed pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from distill.general.numerics import fast_products
from distill.general.teachers import MAX_LENGTH, padded
from mobilebert_runtime.tokenizer import PairTokenizer
from models import build
from models.embedding_matcher import AlignmentHead, EmbeddingMatcher
from models.layers import Encoder

Packed = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]  # what `AlignmentHead` reads


def with_head(encoder: Encoder, seed: int) -> EmbeddingMatcher:
    """An embedding matcher of a trained trunk; its head is fresh."""
    model = cast(EmbeddingMatcher, build(encoder.config, "embedding_matcher", seed=seed))
    torch.manual_seed(seed)
    model.encoder, model.head = encoder.eval(), AlignmentHead(encoder.config.hidden_size)
    encoder.pooler = None
    return model.eval()


def token_states(
    model: EmbeddingMatcher, tokenizer: PairTokenizer, texts: Sequence[str], size: int = 64
) -> list[Tensor]:
    """Embedding output, middle and last states of every text's tokens: (S, 3H) float16 each."""
    rows = tokenizer.ids(list(texts), MAX_LENGTH)
    order = np.argsort([len(ids) for ids, _ in rows], kind="stable")
    out: list[Tensor] = [torch.empty(0)] * len(rows)
    model.eval()
    with torch.inference_mode(), fast_products():
        for start in range(0, len(order), size):
            index = order[start : start + size]
            states = torch.cat(model.states(**padded(tokenizer, [rows[i] for i in index])), -1).half()
            for i, row in zip(index, states, strict=True):
                out[i] = row[: len(rows[i][0])].clone()
    return out


def packed(states: Sequence[Tensor], left: np.ndarray, right: np.ndarray) -> Packed:
    """Pairs of texts by their positions, as a batch: three states (B, S, H), mask and types (B, S)."""
    together = [torch.cat([states[a], states[b]]).float() for a, b in zip(left, right, strict=True)]
    firsts = torch.tensor([len(states[a]) for a in left])
    lengths = torch.tensor([len(pair) for pair in together])
    out = nn.utils.rnn.pad_sequence(together, batch_first=True)
    place = torch.arange(out.shape[1])[None]
    mask = (place < lengths[:, None]).float()
    embedded, middle, last = out.chunk(3, -1)
    return embedded, middle, last, mask, (place >= firsts[:, None]).float() * mask


def head_logits(
    head: AlignmentHead, states: Sequence[Tensor], left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Logits (N,) of pairs of texts by their positions."""
    lengths = np.array([len(states[a]) + len(states[b]) for a, b in zip(left, right, strict=True)])
    order = np.argsort(lengths, kind="stable")
    out = np.zeros(len(left), np.float32)
    head.eval()
    with torch.inference_mode():
        for start in range(0, len(order), 128):
            part = order[start : start + 128]
            out[part] = head(*packed(states, left[part], right[part])).numpy()
    return out
