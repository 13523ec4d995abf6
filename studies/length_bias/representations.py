"""What a BERT makes of single texts: one vector a text, frozen, for probing and for similarity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from mobilebert_runtime.tokenizer import PairTokenizer
from models.layers import Encoder

MAX_LENGTH = 64  # tokens of a text
_BATCH = 128


def bert_representations(
    encoder: Encoder, tokenizer: PairTokenizer, texts: Sequence[str]
) -> dict[str, Tensor]:
    """The BERT representations of Table 3 of Jiang et al. 2022, each (N, H).

    Returns:
        `embeddings`: "We average the BERT output layer as BERT embeddings"; `cls`: the output of the first
        token; and `input_embeddings`, the average over the embedding block instead, which the paper has not.
    """
    encoded = tokenizer.ids(texts, MAX_LENGTH)
    order = np.argsort([len(ids) for ids, _ in encoded], kind="stable")
    parts: dict[str, list[Tensor]] = {"embeddings": [], "cls": [], "input_embeddings": []}
    was_training = encoder.training
    encoder.eval()
    with torch.no_grad():
        for start in range(0, len(order), _BATCH):
            rows = [encoded[i] for i in order[start : start + _BATCH]]
            inputs = {k: torch.from_numpy(v) for k, v in tokenizer.pad(rows, None).items()}
            output, mask = encoder(**inputs, capture=True), inputs["attention_mask"]
            parts["embeddings"].append(mean_pooled(output.last_hidden_state, mask))
            parts["cls"].append(output.last_hidden_state[:, 0])
            parts["input_embeddings"].append(mean_pooled(output.hidden_states[0], mask))
    encoder.train(was_training)
    back = torch.from_numpy(np.argsort(order))
    return {name: torch.cat(of_batches)[back] for name, of_batches in parts.items()}


def mean_pooled(hidden: Tensor, mask: Tensor) -> Tensor:
    """Mean over real tokens, [CLS] and [SEP] included: (B, S, H) and (B, S) → (B, H)."""
    weight = mask.to(hidden.dtype)[:, :, None]
    return (hidden * weight).sum(1) / weight.sum(1)
