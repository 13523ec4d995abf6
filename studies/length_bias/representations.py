"""What a BERT makes of single texts: one vector a text, frozen, for probing and for similarity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from mobilebert_models.networks.embedding_matcher import pooled
from mobilebert_models.networks.layers import Encoder
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import collator
from mobilebert_training.inference import batches_by_length

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
    places: list[np.ndarray] = []
    parts: dict[str, list[Tensor]] = {"embeddings": [], "cls": [], "input_embeddings": []}
    lengths = [len(ids) for ids, _ in encoded]
    for index, inputs in batches_by_length(encoder, lengths, collator(tokenizer, encoded), _BATCH):
        output, mask = encoder(**inputs, capture=True), inputs["attention_mask"]
        places.append(index)
        parts["embeddings"].append(pooled(output.last_hidden_state, mask))
        parts["cls"].append(output.last_hidden_state[:, 0])
        parts["input_embeddings"].append(pooled(output.hidden_states[0], mask))
    back = torch.from_numpy(np.argsort(np.concatenate(places)))
    return {name: torch.cat(of_batches)[back] for name, of_batches in parts.items()}
