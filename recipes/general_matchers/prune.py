"""A smaller network out of all-MiniLM-L6-v2: its attention, fewer feed-forward units, smaller embeddings.

Word embeddings are product codes of MiniLM's, or, in the shape of an ALBERT whose layers share nothing, have
E dimensions, which are normalised and widened. What is left is fitted, block by block, to what MiniLM
computes.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from mobilebert_models import EncoderConfig, build
from mobilebert_models.networks.layers import Encoder, additive_mask
from mobilebert_models.weights.word_codes import product_codes

RIDGE = 0.05  # of the mean squared activation: how strongly a refitted matrix is held to the old one
CODED = 4  # columns of the word embeddings in a byte
EMBEDDING_BATCH, EMBEDDING_RATE = 4096, 3e-3

Batch = dict[str, Tensor]


def prune(
    teacher: Encoder, config: EncoderConfig, counts: np.ndarray, texts: list[Batch], steps: int, seed: int
) -> Encoder:
    """The pruned network.

    Args:
        teacher: MiniLM, or a network of the shape of `config` that has more of everything.
        config: of the smaller network; its layers are evenly spread over the teacher's.
        counts: (V,) how often each entry of the vocabulary occurs in text.
        texts: padded batches on which activations are looked at.
        steps: of a factorised embedding's fit.
        seed: of the embedding's fit or codes.
    """
    student = cast(Encoder, build(config, None, seed=seed))
    if hasattr(student.embeddings, "embedding_hidden_mapping_in"):
        fit_embeddings(teacher, student, counts, steps, seed)
    else:
        code_embeddings(teacher, student, counts, seed)
    kept = spread_layers(len(teacher.layers), config.num_hidden_layers)
    with torch.no_grad():
        reads = [(teacher.embed(**b), student.embed(**b), _mask(teacher, b)) for b in texts]
        real = [b["attention_mask"].bool() for b in texts]
        for depth, layer in enumerate(cast(list[Any], student.layers)):
            last = kept[depth + 1] if depth + 1 < len(kept) else len(teacher.layers)
            for between in range(kept[depth] + 1, last):  # layers that the student does without
                reads = [(teacher.layers[between - 1](t, m)[0], s, m) for t, s, m in reads]
            master = cast(Any, teacher.layers[last - 1])
            layer.attention.load_state_dict(master.attention.state_dict())
            layer.output.LayerNorm.load_state_dict(master.output.LayerNorm.state_dict())
            reads = _refit(master, layer, reads, real)
    return student


def spread_layers(depth: int, count: int) -> list[int]:
    """Where each of `count` kept layers begins to replace the teacher's: evenly spread over `depth`."""
    return [round(i * depth / count) for i in range(count)]


def _mask(encoder: Encoder, batch: Batch) -> Tensor:
    return additive_mask(batch["attention_mask"], encoder.config.attention_mask_value, torch.float32)


def _refit(
    master: Any, layer: Any, reads: list[tuple[Tensor, Tensor, Tensor]], real: list[Tensor]
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Choose a layer's units, refit its second matrix by least squares, run both layers on.

    The fit makes the sum that the last norm reads the teacher's, errors of the layers below included. From a
    fit with all units, the one whose loss costs least is taken out, the fit adjusted, and so on until the
    layer's number is left (optimal brain surgeon, Hassibi and Stork 1992, by units instead of weights).
    """
    contexts = []
    for theirs, ours, mask in reads:
        a = master.attention.output(master.attention.self(theirs, theirs, theirs, mask)[0], theirs)
        b = layer.attention.output(layer.attention.self(ours, ours, ours, mask)[0], ours)
        contexts.append((a, b))
    theirs, ours = (
        torch.cat([pair[side][keep] for pair, keep in zip(contexts, real, strict=True)]) for side in (0, 1)
    )
    first, second = master.intermediate.dense, master.output.dense
    active = _with_ones(master.intermediate(ours))
    wanted = theirs + second(master.intermediate(theirs)) - ours
    old = torch.cat([second.weight.t(), second.bias[None]])
    products = active.t() @ active
    hold = RIDGE * products.diagonal().mean()
    inverse = torch.linalg.inv((products + hold * torch.eye(len(products))).double())
    fitted = inverse @ (active.t() @ wanted + hold * old).double()
    units = _take_out(fitted, inverse, len(products) - 1 - layer.intermediate.dense.out_features)
    layer.intermediate.dense.weight.copy_(first.weight[units])
    layer.intermediate.dense.bias.copy_(first.bias[units])
    layer.output.dense.weight.copy_(fitted[units].t())
    layer.output.dense.bias.copy_(fitted[-1])
    return [
        (master.output(master.intermediate(a), a), layer.output(layer.intermediate(b), b), mask)
        for (a, b), (_, _, mask) in zip(contexts, reads, strict=True)
    ]


def _with_ones(x: Tensor) -> Tensor:
    return torch.cat([x, torch.ones_like(x[:, :1])], 1)


def _take_out(fitted: Tensor, inverse: Tensor, count: int) -> Tensor:
    """Take `count` units out of a least-squares fit, in place; returns the numbers of those that stay.

    Args:
        fitted: (U + 1, H), what each unit and, in the last row, the constant adds.
        inverse: (U + 1, U + 1), inverse of the units' products.
        count: units to take out.
    """
    there = torch.ones(len(fitted), dtype=torch.bool)
    for _ in range(count):
        loss = fitted.square().sum(1) / inverse.diagonal()
        loss[~there] = torch.inf
        loss[-1] = torch.inf  # the constant stays
        unit = int(loss.argmin())
        column = inverse[unit].clone()
        fitted.addr_(column, fitted[unit].clone(), alpha=-1 / float(column[unit]))
        inverse.addr_(column, column, alpha=-1 / float(column[unit]))
        inverse[unit, unit] = 1.0  # its row and column are zero now
        there[unit] = False
    return there[:-1].nonzero()[:, 0]


def coded_words(table: Tensor, counts: np.ndarray, seed: int, columns: int = CODED) -> Tensor:
    """The nearest table (V, E) of product codes to one whose rows occur so often, (V,).

    Args:
        table: (V, E).
        counts: (V,).
        seed: of the rows that the codebooks are drawn from.
        columns: that share a code of eight bits.
    """
    share = torch.from_numpy((counts + 0.5) ** 0.6).float()
    return product_codes(table, share / share.sum(), columns, seed=seed).table()


def code_embeddings(teacher: Encoder, student: Encoder, counts: np.ndarray, seed: int) -> None:
    """Give a student of the teacher's width its embeddings, the words as product codes, which stay."""
    ours, theirs = student.embeddings, teacher.embeddings
    with torch.no_grad():
        ours.word_embeddings.weight.copy_(coded_words(theirs.word_embeddings.weight, counts, seed))
        rows = len(ours.position_embeddings.weight)
        ours.position_embeddings.weight.copy_(theirs.position_embeddings.weight[:rows])
        ours.token_type_embeddings.weight.copy_(theirs.token_type_embeddings.weight)
    ours.LayerNorm.load_state_dict(theirs.LayerNorm.state_dict())


def fit_embeddings(teacher: Encoder, student: Encoder, counts: np.ndarray, steps: int, seed: int) -> None:
    """Make the student's embedding output the teacher's, word piece by word piece and position by position.

    Starts from the principal components of the teacher's output at a middle position, weighed by frequency.
    """
    config = student.config
    size, rows = config.embedding_size, config.max_position_embeddings
    random = torch.Generator().manual_seed(seed)
    share = torch.from_numpy((counts + 0.5) ** 0.6)
    share /= share.sum()
    words = torch.arange(config.vocab_size)
    zeros = torch.zeros_like(words)
    with torch.no_grad():
        target = _embedded(teacher, words, zeros + 8)
        mean = (share[:, None] * target).sum(0).float()
        centred = (target - mean).double()
        _, basis = torch.linalg.eigh((share[:, None] * centred).t() @ centred)
        basis = basis[:, -size:].float()
        # Turned at random: the norm over E takes the mean of the dimensions away, then close to none.
        turn = torch.linalg.qr(torch.randn(size, size, generator=random)).Q
        basis = basis @ turn
        codes = (target - mean).float() @ basis
        scale = codes.square().mean().sqrt()
        places = _embedded(teacher, zeros[:rows] + int(counts.argmax()), torch.arange(rows)) - mean
        ours = student.embeddings
        ours.word_embeddings.weight.copy_(codes / scale)
        ours.position_embeddings.weight.copy_((places - places.mean(0)) @ basis / scale)
        ours.token_type_embeddings.weight.zero_()
        ours.embedding_hidden_mapping_in.weight.copy_(basis * scale)
        ours.embedding_hidden_mapping_in.bias.copy_(mean)
    optimiser = torch.optim.Adam(ours.parameters(), lr=EMBEDDING_RATE, fused=True)
    mixed = 0.8 * share + 0.2 / len(share)
    for step in range(steps):
        drawn = torch.multinomial(mixed, EMBEDDING_BATCH, replacement=True, generator=random)
        at = torch.randint(0, min(64, rows), (EMBEDDING_BATCH,), generator=random)
        with torch.no_grad():
            wanted = _embedded(teacher, drawn, at)
        for group in optimiser.param_groups:
            group["lr"] = EMBEDDING_RATE * (1 - step / steps)
        loss = nn.functional.mse_loss(_embedded(student, drawn, at), wanted)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def _embedded(encoder: Encoder, words: Tensor, places: Tensor) -> Tensor:
    """(N,) word pieces at (N,) positions → (N, H) embedding output, token type 0."""
    parts = encoder.embeddings
    x = parts.word_embeddings(words) + parts.position_embeddings(places)
    x = parts.LayerNorm(x + parts.token_type_embeddings.weight[0])
    widen = getattr(parts, "embedding_hidden_mapping_in", None)
    return x if widen is None else widen(x)
