"""A student several times as deep as its teacher, with a wider feature map: its start and its transfer.

A group of neighbouring student layers answers to each teacher layer. The first numbers of the student's
feature map are the teacher's and the rest are its own: the map between the two widths is fixed, as a learned
one would only turn a feature map that linear layers write and read. Heads have one width in both networks, so
that the first layers of a group share out the teacher layer's heads and attention is compared head by head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mobilebert_models import EncoderConfig, build
from mobilebert_models.networks.bert import BertLayer
from mobilebert_models.networks.layers import Encoder, EncoderOutput, additive_mask
from mobilebert_models.networks.mobilebert import MobileBertLayer
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import padded
from mobilebert_training.initialization.student import factorise_embedding

Batch = dict[str, Tensor]
RIDGE = 1e-2  # of the variance of a block's inner features
QUIET = 0.3  # size of what a block reads beside what its heads say, at the start
NO_KEY = -60.0  # score of a padded key
FITTED_ON, SIZE = 2400, 48  # texts that a start is fitted to, texts of a batch
COUNTED = 12_000  # texts whose word pieces are counted
COMMON = 0.6  # exponent of a word's count as its weight in the fit of the word embeddings


def group_size(config: EncoderConfig, teacher: EncoderConfig) -> int:
    """Student layers to each teacher layer.

    Raises:
        ModelError: a kind of network that no start is known for, or layers, heads or widths that do not fit
            each other.
    """
    narrow = config.use_bottleneck_attention or config.key_query_shared_bottleneck
    if not (config.is_bottleneck and narrow and config.normalization_type == "no_norm"):
        raise ModelError("expected a bottleneck network with NoNorm, such as mobilebert-tiny or mobilebert")
    if teacher.model_type != "bert" or teacher.type_vocab_size != config.type_vocab_size:
        raise ModelError(
            f"layers are compared with those of a BERT with {config.type_vocab_size} token types, not of "
            f"{teacher.model_type} with {teacher.type_vocab_size}"
        )
    group, rest = divmod(config.num_hidden_layers, teacher.num_hidden_layers)
    heads = -(-teacher.num_attention_heads // config.num_attention_heads)
    widths = [c.attention_size // c.num_attention_heads for c in (config, teacher)]
    if rest or heads > group or widths[0] != widths[1] or config.hidden_size < teacher.hidden_size:
        raise ModelError(
            f"student of {config.num_hidden_layers} layers, {config.num_attention_heads} heads of "
            f"{widths[0]} and {config.hidden_size} features: expected a multiple of the teacher's "
            f"{teacher.num_hidden_layers} layers with room for its {teacher.num_attention_heads} heads of "
            f"{widths[1]} in each, and at least its {teacher.hidden_size} features"
        )
    return group


def widened(x: Tensor, size: int) -> Tensor:
    """Teacher's numbers as the student's first, zeros after them: (…, N) → (…, size)."""
    return F.pad(x, (0, size - x.shape[-1]))


def as_teacher(ours: EncoderOutput, teacher: EncoderConfig) -> EncoderOutput:
    """What of a captured student answers to the teacher's layers: as many, as wide, with as many heads."""
    size, heads = teacher.hidden_size, teacher.num_attention_heads
    group = len(ours.attention_scores) // teacher.num_hidden_layers
    states = [state[..., :size] for state in ours.hidden_states[::group]]
    scores = [
        torch.cat(ours.attention_scores[first : first + group], 1)[:, :heads]
        for first in range(0, len(ours.attention_scores), group)
    ]
    return EncoderOutput(ours.last_hidden_state, ours.pooled, states, scores)


def fitted_start(
    config: EncoderConfig,
    teacher: Encoder,
    tokenizer: PairTokenizer,
    rows: Sequence[tuple[list[int], list[int]]],
    seed: int,
) -> Encoder:
    """`start` on texts that are spread over the given ones.

    Args:
        config: of the student.
        teacher: whose layers it answers to.
        tokenizer: of both.
        rows: ids and types of the texts.
        seed: of what is fresh.

    Raises:
        ModelError: see `group_size`.
    """
    chosen = sorted(rows[:: max(1, len(rows) // FITTED_ON)], key=lambda row: len(row[0]))
    parts = np.array_split(np.arange(len(chosen)), max(1, len(chosen) // SIZE))
    batches = [padded(tokenizer, [chosen[i] for i in part]) for part in parts]
    ids = np.concatenate([ids for ids, _ in rows[:COUNTED]])
    return start(config, teacher, batches, np.bincount(ids, minlength=config.vocab_size), seed)


def start(
    config: EncoderConfig, teacher: Encoder, batches: Sequence[Batch], counts: np.ndarray, seed: int
) -> Encoder:
    """A student that begins near its teacher, so that signals and gradients pass through all its layers.

    Word embeddings are the principal components of the teacher's, the width-3 convolution is fitted to its
    embedding output. The first blocks of a group have the teacher layer's heads as far as the bottleneck
    carries them; what every block writes back is fitted to what its group still lacks. Feed-forward networks
    are fresh.

    Args:
        config: of the student.
        teacher: whose layers it answers to.
        batches: texts to fit it on.
        counts: (V,) how often each word piece occurs.
        seed: of what is fresh.

    Raises:
        ModelError: see `group_size`.
    """
    group = group_size(config, teacher.config)
    student = cast(Encoder, build(config, None, seed=seed))
    with torch.no_grad():
        targets = [teacher(**batch, capture=True) for batch in batches]
        start_embeddings(student, teacher, batches, counts)
        states = [student.embed(**batch) for batch in batches]
        for place, layer in enumerate(teacher.layers):
            wanted = [target.hidden_states[place + 1] for target in targets]
            blocks = cast(list[MobileBertLayer], student.layers[place * group : (place + 1) * group])
            states = _start_group(blocks, cast(BertLayer, layer), batches, states, wanted)
    return student


def start_embeddings(
    student: Encoder, teacher: Encoder, batches: Sequence[Batch], counts: np.ndarray
) -> None:
    """Word embeddings, positions and the width-3 convolution of a student near its teacher's, as `start`."""
    source, target = teacher.embeddings, student.embeddings
    size, width = student.config.embedding_size, teacher.config.hidden_size
    root = torch.from_numpy((counts + 0.5) ** (COMMON / 2)).float()[:, None]
    small, _ = factorise_embedding(source.word_embeddings.weight * root, size)
    target.word_embeddings.weight.copy_(small / root)
    target.word_embeddings.weight[student.config.pad_token_id].zero_()
    rows, wide = len(target.position_embeddings.weight), student.config.hidden_size
    real = [batch["attention_mask"] > 0 for batch in batches]
    # What the teacher's norm divides by is not the same for every word: on average is near enough for places.
    sums = [source.sum(batch["input_ids"], batch["token_type_ids"]) for batch in batches]
    scale = source.LayerNorm.weight / tokens(sums, real).std(-1).mean()
    places = source.position_embeddings.weight[:rows] * scale
    types = source.token_type_embeddings.weight * scale
    target.position_embeddings.weight.copy_(widened(places, wide))
    target.token_type_embeddings.weight.copy_(widened(types, wide))
    words, lacking = [], []
    for batch in batches:
        ids = batch["input_ids"]
        words.append(target.trigram(target.word_embeddings(ids), batch["attention_mask"]))
        lacking.append(source(ids, batch["token_type_ids"]) - places[: ids.shape[1]] - types[0])
    weight, bias = ridge(tokens(words, real), tokens(lacking, real))
    target.embedding_transformation.weight[:width].copy_(weight)
    target.embedding_transformation.bias[:width].copy_(bias)


def _start_group(
    blocks: Sequence[MobileBertLayer],
    layer: BertLayer,
    batches: Sequence[Batch],
    states: list[Tensor],
    wanted: Sequence[Tensor],
) -> list[Tensor]:
    """Start a group by what it reads and what the teacher's layer gives.

    Args:
        blocks: the group.
        layer: the teacher's.
        batches: ids, mask and types.
        states: (B, S, H) of every batch, what the group reads.
        wanted: (B, S, N) of every batch, what it is to give.

    Returns:
        What it gives, (B, S, H) of every batch.
    """
    real = [batch["attention_mask"] > 0 for batch in batches]
    masks = [additive_mask(batch["attention_mask"], NO_KEY, torch.float32) for batch in batches]
    size = wanted[0].shape[-1]
    for place, block in enumerate(blocks):
        given = tokens(states, real)[:, :size]
        _start_block(block, layer, place, given)
        inner: list[Tensor] = []
        dense = block.output.bottleneck.dense
        hook = dense.register_forward_pre_hook(lambda _, inputs, inner=inner: inner.append(inputs[0]))
        for x, mask in zip(states, masks, strict=True):
            block(x, mask)
        hook.remove()
        lacking = tokens(wanted, real) - tokens(states, real)[:, :size]
        weight, bias = ridge(tokens(inner, real), lacking)
        dense.weight[:size].copy_(weight)
        dense.bias[:size].copy_(bias)
        states = [x + dense(h) for x, h in zip(states, inner, strict=True)]
    return states


def _start_block(block: MobileBertLayer, layer: BertLayer, place: int, given: Tensor) -> None:
    """The bottleneck of a block, and its heads where the teacher's layer has some left for it.

    Args:
        block: at `place` in its group.
        layer: the teacher's.
        place: from 0.
        given: (T, N), what the block reads of its group's first numbers.
    """
    ours, theirs = block.attention.self, layer.attention.self
    width = ours.query.out_features
    rows = slice(place * width, (place + 1) * width)
    inherits = rows.stop <= theirs.query.out_features
    shared = block.bottleneck.attention  # what queries and keys read, where values read the feature map
    inner = (layer.intermediate.dense.weight, layer.intermediate.dense.bias)
    if not inherits:
        start_bottleneck(block.bottleneck.input.dense, *inner, given)
        return
    heads = [(part.weight[rows], part.bias[rows]) for part in (theirs.query, theirs.key, theirs.value)]
    owns = [ours.query, ours.key, ours.value]
    if shared is not None:
        start_bottleneck(block.bottleneck.input.dense, *inner, given)
        (value, bias), own = heads.pop(), owns.pop()
        own.weight.copy_(widened(value, own.in_features))
        own.bias.copy_(bias)
    reads = block.bottleneck.input if shared is None else shared
    weight, bias = (torch.cat(parts) for parts in zip(*heads, strict=True))
    basis, mean = start_bottleneck(reads.dense, weight, bias, given)
    for k, own in enumerate(owns):
        own.weight.copy_(basis[k * width : (k + 1) * width] / QUIET)
        own.bias.copy_(mean[k * width : (k + 1) * width])
    nn.init.eye_(block.attention.output.dense.weight)


def start_bottleneck(dense: nn.Linear, weight: Tensor, bias: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
    """Let a bottleneck keep what serves a map best: principal components of what it makes of its input.

    Args:
        dense: the bottleneck, to W numbers.
        weight: (M, N) of the map.
        bias: (M,) of the map.
        given: (T, N) inputs.

    Returns:
        Basis (M, W) and mean (M,): the map is near `basis @ bottleneck + mean`, but for `QUIET`.
    """
    made = given @ weight.t() + bias
    mean = made.mean(0)
    _, basis = torch.linalg.eigh((made - mean).t() @ (made - mean))
    basis = basis[:, -dense.out_features :]
    dense.weight[:, : weight.shape[1]].copy_(QUIET * basis.t() @ weight)
    dense.bias.copy_(QUIET * basis.t() @ (bias - mean))
    return basis, mean


def ridge(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Weight (M, N) and bias (M,) of the linear map from x (T, N) that comes close to y (T, M)."""
    x_mean, y_mean = x.mean(0), y.mean(0)
    x, y = (x - x_mean).double(), (y - y_mean).double()
    gram = x.t() @ x
    gram += RIDGE * gram.diagonal().mean() * torch.eye(len(gram), dtype=gram.dtype)
    weight = torch.linalg.solve(gram, x.t() @ y).t().float()
    return weight, y_mean - weight @ x_mean


def tokens(values: Sequence[Tensor], real: Sequence[Tensor]) -> Tensor:
    """The real tokens of batches of (B, S, N): (T, N)."""
    return torch.cat([value[keep] for value, keep in zip(values, real, strict=True)])
