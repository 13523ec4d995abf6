"""matcher-s out of matcher-m's trunk: weights chosen, folded and factorised, to be healed by training.

Every block keeps the stronger channels of its narrow stream, of its key-query stream and of its heads, and
the strongest units of both feed-forward networks as one; the embedding keeps the frequent word pieces in
fewer dimensions.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from distill.init.student import factorise_embedding
from models import EncoderConfig, build
from models.layers import Encoder

State = dict[str, Tensor]


def strongest(strength: Tensor, count: int) -> Tensor:
    """Positions of the `count` largest, in their order."""
    return strength.topk(count).indices.sort().values


def per_head(strength: Tensor, heads: int, size: int) -> Tensor:
    """The `size` strongest channels of every head, (A·size,) positions."""
    table = strength.view(heads, -1)
    chosen = table.topk(size, dim=1).indices.sort(dim=1).values
    return (chosen + torch.arange(heads)[:, None] * table.shape[1]).flatten()


def joined_feed_forward(block: State) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Two stacked networks as one that reads the same input, as if the second did not see the first's output.

    γ₁(x₂ + F₁(x₂)) + β₁ with x₂ = γ₀(x + F₀(x)) + β₀ is read as γ(x + F(x)) + β with γ = γ₀γ₁.

    Returns:
        Weights and biases in (U, W), (U,), out (W, U), (W,), then γ and β.
    """
    scale, offset = block["ffn.0.output.LayerNorm.weight"], block["ffn.0.output.LayerNorm.bias"]
    first_in, first_bias = block["ffn.0.intermediate.dense.weight"], block["ffn.0.intermediate.dense.bias"]
    second_in = block["intermediate.dense.weight"] * scale
    second_bias = block["intermediate.dense.bias"] + block["intermediate.dense.weight"] @ offset
    out = torch.cat([block["ffn.0.output.dense.weight"], block["output.dense.weight"] / scale[:, None]], 1)
    out_bias = block["ffn.0.output.dense.bias"] + (offset + block["output.dense.bias"]) / scale
    gamma = scale * block["output.LayerNorm.weight"]
    return (
        torch.cat([first_in, second_in]),
        torch.cat([first_bias, second_bias]),
        out,
        out_bias,
        gamma,
        block["output.LayerNorm.bias"],
    )


def shrunk_block(block: State, config: EncoderConfig) -> State:
    """One block in the narrower shape of `config`."""
    width, heads = config.intra_bottleneck_size, config.num_attention_heads
    head = config.attention_size // heads
    w = {name.removesuffix(".weight"): value for name, value in block.items() if name.endswith("weight")}
    wide_in, wide_bias, out, out_bias, gamma, beta = joined_feed_forward(block)
    stream = strongest(
        w["output.bottleneck.dense"].norm(dim=0)
        * gamma.abs()
        * (
            w["bottleneck.input.dense"].norm(dim=1) * w["bottleneck.input.LayerNorm"].abs()
            + w["attention.output.dense"].norm(dim=1)
        ),
        width,
    )
    query_key = w["attention.self.query"], w["attention.self.key"]
    shared = strongest(
        w["bottleneck.attention.dense"].norm(dim=1)
        * w["bottleneck.attention.LayerNorm"].abs()
        * (query_key[0].norm(dim=0) + query_key[1].norm(dim=0)),
        width,
    )
    scores = per_head(query_key[0].norm(dim=1) * query_key[1].norm(dim=1), heads, head)
    values = per_head(
        w["attention.self.value"].norm(dim=1) * w["attention.output.dense"].norm(dim=0), heads, head
    )
    units = strongest(wide_in[:, stream].norm(dim=1) * out[stream].norm(dim=0), config.intermediate_size)
    factor = (len(query_key[0]) // heads / head) ** -0.25  # the scores' own scale is 1/√D
    new: State = {}

    def copy(
        name: str, rows: Tensor | None = None, columns: Tensor | None = None, scale: float = 1.0
    ) -> None:
        weight, bias = block[f"{name}.weight"], block[f"{name}.bias"]
        weight = weight if rows is None else weight[rows]
        if weight.ndim == 2 and columns is not None:
            weight = weight[:, columns]
        new[f"{name}.weight"] = weight * scale
        new[f"{name}.bias"] = (bias if rows is None else bias[rows]) * scale

    copy("bottleneck.input.dense", stream)
    copy("bottleneck.input.LayerNorm", stream)
    copy("bottleneck.attention.dense", shared)
    copy("bottleneck.attention.LayerNorm", shared)
    copy("attention.self.query", scores, shared, factor)
    copy("attention.self.key", scores, shared, factor)
    copy("attention.self.value", values)
    copy("attention.output.dense", stream, values)
    copy("attention.output.LayerNorm", stream)
    new["intermediate.dense.weight"], new["intermediate.dense.bias"] = (
        wide_in[units][:, stream],
        wide_bias[units],
    )
    new["output.dense.weight"], new["output.dense.bias"] = out[stream][:, units], out_bias[stream]
    new["output.LayerNorm.weight"], new["output.LayerNorm.bias"] = gamma[stream], beta[stream]
    copy("output.bottleneck.dense", None, stream)
    copy("output.bottleneck.LayerNorm")
    return new


def shrink(large: Encoder, config: EncoderConfig, kept: list[int]) -> Encoder:
    """A trunk of the shape `config` out of a larger one of the same feature map and depth.

    Args:
        large: trained; two feed-forward networks a block.
        config: of the smaller trunk; one feed-forward network a block.
        kept: the word pieces that it reads, as entries of the larger one's vocabulary.
    """
    small = cast(Encoder, build(config, None, seed=0))
    state, old = small.state_dict(), large.state_dict()
    size, before = config.embedding_size, large.config.embedding_size
    words, widen = factorise_embedding(old["embeddings.word_embeddings.weight"][kept], size)
    words[config.pad_token_id] = 0
    state["embeddings.word_embeddings.weight"] = words
    taps = old["embeddings.embedding_transformation.weight"].split(before, dim=1)
    state["embeddings.embedding_transformation.weight"] = torch.cat([tap @ widen for tap in taps], 1)
    for name in (
        "embedding_transformation.bias",
        "token_type_embeddings.weight",
        "LayerNorm.weight",
        "LayerNorm.bias",
    ):
        state[f"embeddings.{name}"] = old[f"embeddings.{name}"]
    rows = config.max_position_embeddings
    state["embeddings.position_embeddings.weight"] = old["embeddings.position_embeddings.weight"][:rows]
    for name in state:
        if name.startswith("pooler"):
            state[name] = old[name]
    for layer in range(config.num_hidden_layers):
        prefix = f"encoder.layer.{layer}."
        block = {n.removeprefix(prefix): v for n, v in old.items() if n.startswith(prefix)}
        for name, value in shrunk_block(block, config).items():
            if state[prefix + name].shape != value.shape:
                raise ValueError(f"{name}: {tuple(value.shape)} for {tuple(state[prefix + name].shape)}")
            state[prefix + name] = value
    small.load_state_dict(state)
    return small
