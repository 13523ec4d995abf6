"""Factor shapes: KroneckerBERT's Table 1 or a file of rules, and the cost of an encoder with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mobilebert_models.config import EncoderConfig, KroneckerRule
from mobilebert_models.inventory import SEQUENCE, inventory
from mobilebert_models.kronecker.compress import FactoredLayer, factored_layers
from mobilebert_models.kronecker.factored_layers import KroneckerLinear
from mobilebert_models.networks.heads import make_encoder
from mobilebert_models.networks.layers import Encoder
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import parse_json

ATTENTION = ("*.attention.self.*", "*.attention.output.dense")
WIDEN = "*.intermediate.dense"
NARROW = "*.output.dense"
WORDS = "embeddings.word_embeddings"


@dataclass(frozen=True)
class Table1Row:
    """A row of Table 1, written by its small factors so that it fits every width, not only 768."""

    # (m2, n2) of B in query, key, value and attention output.
    attention_b: tuple[int, int]
    # The widening feed-forward matrix's small factor; the narrowing one has it transposed.
    feed_forward: tuple[int, int]
    # Whether that small factor is A (m1, n1) or B (m2, n2).
    feed_forward_small: str
    # Length n of the embedding's row vector.
    embedding: int
    # Products in the sum of a linear map; the embedding has one.
    rank: int = 1


PRESETS: dict[str, Table1Row] = {
    "8": Table1Row((2, 2), (8, 2), "a", 8),
    "21": Table1Row((2, 16), (16, 2), "a", 16),
    # Table 1 prints n1, m1 = 384, 384 for attention. Four such products have more parameters than the dense
    # matrix (and represent it exactly); 48, 384, the shape of the row above, gives the stated 20M and 9.4B.
    "5": Table1Row((2, 16), (8, 2), "b", 12, rank=4),
}


def preset_rules(config: EncoderConfig, name: str, rank: int | None = None) -> tuple[KroneckerRule, ...]:
    """The rules of a row of Table 1 for an encoder of any size; `rank` replaces the row's number of sums.

    Raises:
        ModelError: unknown name, or a size that the row's small factors do not divide.
    """
    if name not in PRESETS:
        raise ModelError(f"kronecker preset {name!r} is unknown; expected one of {', '.join(PRESETS)}")
    row = PRESETS[name]
    width, words = config.attention_size, word_width(config)

    def divided(size: int, by: int) -> int:
        if size % by:
            raise ModelError(
                f"kronecker preset {name!r}: {by} does not divide this model's {size}; use a file of rules"
            )
        return size // by

    m2, n2 = row.attention_b
    attention = divided(width, m2), divided(width, n2)
    small_m, small_n = row.feed_forward
    large = divided(config.intermediate_size, small_m), divided(width, small_n)
    feed_forward = row.feed_forward if row.feed_forward_small == "a" else large
    rank = row.rank if rank is None else rank
    return shape_rules(config, attention, feed_forward, divided(words, row.embedding), rank)


def seventh_rules(config: EncoderConfig) -> tuple[KroneckerRule, ...]:
    """A seventh of MiniLM once its rare words are cut: sums of three products where preset 8 errs most.

    Args:
        config: of a dense encoder whose sizes are multiples of MiniLM's factors.

    Raises:
        ModelError: a bottleneck encoder, or sizes that the factors do not divide.
    """
    width, wide, words = config.hidden_size, config.intermediate_size, word_width(config)
    if config.is_bottleneck or width % 2 or words < 6 or wide % width:
        raise ModelError(
            f"a seventh: the factors fit a plain BERT whose hidden size {width} is even, whose words have "
            f"six numbers or more (here {words}) and whose feed-forward size {wide} is a multiple of "
            f"{width}; use a file of rules"
        )
    ratio = 2 * wide // width
    return (
        *(KroneckerRule(pattern, width // 2, width // 2) for pattern in ATTENTION),
        KroneckerRule(WIDEN, ratio, 2, 3),
        KroneckerRule(NARROW, 2, ratio, 3),
        KroneckerRule(WORDS, config.vocab_size, 1, words // 6),
    )


def shape_rules(
    config: EncoderConfig,
    attention: tuple[int, int],
    feed_forward: tuple[int, int],
    embedding: int,
    rank: int = 1,
    words_rank: int = 1,
) -> tuple[KroneckerRule, ...]:
    """Section 3.6: one shape for all of attention, one for feed-forward with its transpose, one for words.

    Args:
        config: of the dense encoder.
        attention: (m1, n1).
        feed_forward: (m1, n1) of the widening matrix.
        embedding: n1 = d/n.
        rank: products in the sum of a linear map.
        words_rank: products in the sum of the embedding; 1 in the paper.
    """
    m1, n1 = feed_forward
    return (
        *(KroneckerRule(pattern, *attention, rank) for pattern in ATTENTION),
        KroneckerRule(WIDEN, m1, n1, rank),
        KroneckerRule(NARROW, n1, m1, rank),
        KroneckerRule(WORDS, config.vocab_size, embedding, words_rank),
    )


def low_rank_rules(
    config: EncoderConfig, rank: int, words_rank: int | None = None
) -> tuple[KroneckerRule, ...]:
    """Truncated SVD of the same matrices: the sum of products with n1 = 1 and m2 = 1 (section 3.2.2).

    Args:
        config: of the dense encoder.
        rank: of every linear map.
        words_rank: of the word embedding; `rank` if None.

    Raises:
        ModelError: a bottleneck encoder, whose maps share no width; give it a file of rules.
    """
    if config.is_bottleneck:
        raise ModelError("low-rank rules fit a plain BERT; give a bottleneck model a file of rules")
    width, wide = config.hidden_size, config.intermediate_size
    return (
        *(KroneckerRule(pattern, width, 1, rank) for pattern in (*ATTENTION, NARROW)),
        KroneckerRule(WIDEN, wide, 1, rank),
        KroneckerRule(WORDS, config.vocab_size, 1, rank if words_rank is None else words_rank),
    )


def read_rules(path: str | Path) -> tuple[KroneckerRule, ...]:
    """Read a JSON list of rules such as `[{"layers": "*.attention.*", "m1": 96, "n1": 96, "rank": 2}]`.

    Raises:
        ModelError: the file is missing or not such a list.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelError(f"{path}: no such file; --factors takes a JSON list of rules")
    try:
        found: Any = parse_json(path.read_text(encoding="utf-8"))
        rules = tuple(KroneckerRule(**rule) for rule in found)
    except (ValueError, TypeError) as error:
        raise ModelError(
            f"{path}: not a JSON list of rules with layers, m1, n1 and optionally rank ({error})"
        ) from error
    if not rules:
        raise ModelError(f"{path}: the list of rules is empty")
    return rules


def costs(config: EncoderConfig, seq_len: int = SEQUENCE) -> dict[str, int]:
    """Parameters and FLOPs of an encoder, dense or factored, without allocating it.

    Returns:
        `parameters`: embeddings, layers and pooler, no task head.
        `flops`: two per multiply-accumulate of the linear maps inside the layers, over `seq_len` tokens. It
            is the paper's count, whose 21.7B of BERT_BASE leave out attention's own products, softmax,
            norms, embeddings and pooler; `torch.utils.flop_counter` counts a linear map the same.
    """
    macs = sum(
        module.macs if isinstance(module, KroneckerLinear) else module.in_features * module.out_features
        for module in _meta(config).encoder.modules()
        if isinstance(module, KroneckerLinear | nn.Linear)
    )
    return {"parameters": inventory(config)["parameters"]["total"], "flops": 2 * macs * seq_len}


def plan(config: EncoderConfig, rules: Sequence[KroneckerRule]) -> list[FactoredLayer]:
    """What the rules would do to an encoder of this config; no weights are needed.

    Raises:
        ModelError: as `mobilebert_models.kronecker.compress.factored_layers`.
    """
    return factored_layers(_meta(config), rules)


def word_width(config: EncoderConfig) -> int:
    """d, the width of the word embedding."""
    return config.embedding_size if config.is_bottleneck else config.hidden_size


def _meta(config: EncoderConfig) -> Encoder:
    """The encoder without storage: names and shapes only."""
    with torch.device("meta"):
        return make_encoder(config)
