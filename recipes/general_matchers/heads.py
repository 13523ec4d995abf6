"""Token states of texts, each read once, and the pair decision on top of them, in batches of packed pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher, PairDecision, pooled, unit
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import collator
from mobilebert_training.inference import batches_by_length
from recipes.general_matchers.numerics import fast_products
from recipes.general_matchers.teachers import MAX_LENGTH

TEXTS_AT_ONCE = 64
Packed = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]  # what a `PairDecision` reads


@dataclass(frozen=True)
class TokenStates:
    """Of one text: ids (S,), embedding output, middle and last states (S, 3H), float16, unit vector (H,)."""

    ids: Tensor
    states: Tensor
    vector: np.ndarray


def token_states(
    model: EmbeddingMatcher, tokenizer: PairTokenizer, texts: Sequence[str]
) -> list[TokenStates]:
    """What the head reads of every text."""
    rows = tokenizer.ids(list(texts), MAX_LENGTH)
    out: dict[int, TokenStates] = {}
    lengths = [len(ids) for ids, _ in rows]
    with fast_products():
        for index, batch in batches_by_length(model, lengths, collator(tokenizer, rows), TEXTS_AT_ONCE):
            states = model.states(**batch)
            vectors = unit(pooled(states[-1], model.read(batch["input_ids"], batch["attention_mask"])))
            for i, row, vector in zip(index, torch.cat(states, -1).half(), vectors, strict=True):
                ids = torch.tensor(rows[i][0])
                out[int(i)] = TokenStates(ids, row[: len(ids)].clone(), vector.numpy())
    return [out[i] for i in range(len(rows))]


def packed(found: Sequence[TokenStates], left: np.ndarray, right: np.ndarray) -> Packed:
    """Pairs of texts by their positions, as a batch: ids (B, S), states (B, S, H), mask and types (B, S)."""
    pairs = [(found[a], found[b]) for a, b in zip(left, right, strict=True)]
    states = nn.utils.rnn.pad_sequence(
        [torch.cat([a.states, b.states]).float() for a, b in pairs], batch_first=True
    )
    ids = nn.utils.rnn.pad_sequence([torch.cat([a.ids, b.ids]).float() for a, b in pairs], batch_first=True)
    firsts = torch.tensor([len(a.ids) for a, _ in pairs])
    lengths = torch.tensor([len(a.ids) + len(b.ids) for a, b in pairs])
    place = torch.arange(states.shape[1])[None]
    mask = (place < lengths[:, None]).float()
    embedded, middle, last = states.chunk(3, -1)
    return ids, embedded, middle, last, mask, (place >= firsts[:, None]).float() * mask


def pair_logits(
    model: EmbeddingMatcher, tokenizer: PairTokenizer, left: Sequence[str], right: Sequence[str]
) -> np.ndarray:
    """Logits (N,) of N pairs of texts, as a matcher's runtime reads and decides them."""
    states, first, second = pair_states(model, tokenizer, left, right)
    return head_logits(model.head, states, first, second)


def pair_states(
    model: EmbeddingMatcher, tokenizer: PairTokenizer, left: Sequence[str], right: Sequence[str]
) -> tuple[list[TokenStates], np.ndarray, np.ndarray]:
    """States of the texts of N pairs, and the positions (N,) of each pair's two among them.

    A text's spelling is corrected beside the other of its pair; equal texts are read once.
    """
    texts, places = distinct_texts(tokenizer.corrected(list(zip(left, right, strict=True))))
    first, second = places.T
    return token_states(model, tokenizer.without_spelling(), texts), first, second


def distinct_texts(pairs: Iterable[Sequence[str]]) -> tuple[list[str], np.ndarray]:
    """Every text of N pairs once, and where each pair's two are among them, (N, 2)."""
    index: dict[str, int] = {}
    places = np.array([[index.setdefault(text, len(index)) for text in pair] for pair in pairs], int)
    return list(index), places.reshape(-1, 2)


def head_logits(
    head: PairDecision, states: Sequence[TokenStates], left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Logits (N,) of pairs of texts by their positions."""
    lengths = np.array([len(states[a].ids) + len(states[b].ids) for a, b in zip(left, right, strict=True)])
    order = np.argsort(lengths, kind="stable")
    out = np.zeros(len(left), np.float32)
    head.eval()
    with torch.inference_mode():
        for start in range(0, len(order), 128):
            part = order[start : start + 128]
            out[part] = head(*packed(states, left[part], right[part])).numpy()
    return out
