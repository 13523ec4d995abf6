"""A warm start: a bottleneck student of MiniLM's width and heads begins near MiniLM, layer by layer.

Word embeddings are the principal components of the teacher's. Each head keeps the best half of the teacher's
head: the low-rank approximation of its query-key form, and of its values. What a block writes back is fitted
to what its layer adds. Feed-forward networks are fresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from mobilebert_models import EncoderConfig, build
from mobilebert_models.networks.bert import BertLayer
from mobilebert_models.networks.layers import Encoder, additive_mask
from mobilebert_models.networks.mobilebert import MobileBertLayer
from mobilebert_training.initialization.deeper_student import (
    NO_KEY,
    QUIET,
    ridge,
    start_bottleneck,
    start_embeddings,
    tokens,
)

Batch = dict[str, Tensor]


def warm_start(
    config: EncoderConfig, teacher: Encoder, batches: Sequence[Batch], counts: np.ndarray, seed: int
) -> Encoder:
    """A student that begins near its teacher.

    Args:
        config: of the student: as many layers and heads and as wide a feature map as the teacher.
        teacher: BERT's shape.
        batches: texts to fit it on.
        counts: (V,) how often each word piece occurs.
        seed: of what is fresh.
    """
    student = cast(Encoder, build(config, None, seed=seed))
    with torch.no_grad():
        targets = [teacher(**batch, capture=True).hidden_states for batch in batches]
        start_embeddings(student, teacher, batches, counts)
        real = [batch["attention_mask"] > 0 for batch in batches]
        masks = [additive_mask(batch["attention_mask"], NO_KEY, torch.float32) for batch in batches]
        states = [student.embed(**batch) for batch in batches]
        for depth, (block, layer) in enumerate(zip(student.layers, teacher.layers, strict=True)):
            wanted = [target[depth + 1] for target in targets]
            states = _start_layer(
                cast(MobileBertLayer, block), cast(BertLayer, layer), states, wanted, masks, real
            )
    return student


def _start_layer(
    block: MobileBertLayer,
    layer: BertLayer,
    states: list[Tensor],
    wanted: list[Tensor],
    masks: list[Tensor],
    real: list[Tensor],
) -> list[Tensor]:
    """Start a block by what it reads and what the teacher's layer gives; what it gives itself."""
    given = tokens(states, real)
    _start_attention(block, layer, given)
    inner: list[Tensor] = []
    dense = block.output.bottleneck.dense
    hook = dense.register_forward_pre_hook(lambda _, inputs: inner.append(inputs[0]))
    for x, mask in zip(states, masks, strict=True):
        block(x, mask)
    hook.remove()
    weight, bias = ridge(tokens(inner, real), tokens(wanted, real) - given)
    dense.weight.copy_(weight)
    dense.bias.copy_(bias)
    return [x + dense(h) for x, h in zip(states, inner, strict=True)]


def _start_attention(block: MobileBertLayer, layer: BertLayer, given: Tensor) -> None:
    theirs, ours = layer.attention.self, block.attention.self
    heads, size = ours.heads, ours.head_size
    start_bottleneck(
        block.bottleneck.input.dense, layer.intermediate.dense.weight, layer.intermediate.dense.bias, given
    )
    whiten, back = _moments(given)
    wide = theirs.head_size
    queries, keys, values = [], [], []
    projection = layer.attention.output.dense.weight  # (H, A·D)
    for head in range(heads):
        rows = slice(head * wide, (head + 1) * wide)
        q, k, v = (_with_bias(part, rows) for part in (theirs.query, theirs.key, theirs.value))
        form = whiten @ q.t() @ k @ whiten * (theirs.scale / ours.scale)
        left, sizes, right = torch.linalg.svd(form)
        root = sizes[:size].sqrt()
        queries.append((back @ left[:, :size] * root).t())
        keys.append((back @ right[:size].t() * root).t())
        _, sizes, right = torch.linalg.svd(projection[:, rows].double() @ v @ whiten, full_matrices=False)
        values.append((back @ right[:size].t() * sizes[:size]).t())
    value = torch.cat(values)
    scale = (_made(given, value)).std()
    ours.value.weight.copy_(value[:, :-1] / scale)
    ours.value.bias.copy_(value[:, -1] / scale)
    both = torch.cat([*queries, *keys])
    shared = block.bottleneck.attention
    assert shared is not None
    basis, mean = start_bottleneck(shared.dense, both[:, :-1].float(), both[:, -1].float(), given)
    half = heads * size
    for own, part in ((ours.query, slice(0, half)), (ours.key, slice(half, 2 * half))):
        own.weight.copy_(basis[part] / QUIET)
        own.bias.copy_(mean[part])
    nn.init.eye_(block.attention.output.dense.weight)


def _with_bias(part: nn.Linear, rows: slice) -> Tensor:
    return torch.cat([part.weight[rows], part.bias[rows, None]], 1).double()


def _made(given: Tensor, weight: Tensor) -> Tensor:
    return given.double() @ weight[:, :-1].t() + weight[:, -1]


def _moments(given: Tensor) -> tuple[Tensor, Tensor]:
    """Root of the second moments of (x, 1), and its inverse."""
    x = torch.cat([given, torch.ones(len(given), 1)], 1).double()
    gram = x.t() @ x / len(x)
    gram += 1e-4 * gram.diagonal().mean() * torch.eye(len(gram), dtype=gram.dtype)
    values, basis = torch.linalg.eigh(gram)
    return basis * values.sqrt() @ basis.t(), basis * values.rsqrt() @ basis.t()
