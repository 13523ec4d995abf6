"""Named models: MobileBERT Table 1, ALBERT Table 1, and the students this project ships."""

from __future__ import annotations

from dataclasses import replace

from mobilebert_models.config import EncoderConfig
from mobilebert_runtime.errors import ModelError

# As drawn in Table 1 and Figure 1c: query, key and value read the feature map directly.
_MOBILEBERT = EncoderConfig(
    model_type="mobilebert",
    hidden_size=512,
    num_hidden_layers=24,
    num_attention_heads=4,
    intermediate_size=512,
    hidden_act="relu",
    normalization_type="no_norm",
    hidden_dropout_prob=0.0,
    classifier_activation=False,
    embedding_size=128,
    intra_bottleneck_size=128,
    num_feedforward_networks=4,
)
_PUBLISHED = replace(_MOBILEBERT, key_query_shared_bottleneck=True)

# ALBERT Table 1; heads H/64 and feed-forward 4H (section 3.1), no dropout (section 4.8), all layers shared.
_ALBERT = EncoderConfig(
    model_type="albert",
    vocab_size=30000,
    hidden_act="gelu_new",
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    embedding_size=128,
)

# all-MiniLM-L6-v2 with a shorter table of positions; the word embeddings are product codes of two bits.
_MATCHER_OPEN = EncoderConfig(
    hidden_size=384,
    num_hidden_layers=6,
    num_attention_heads=12,
    intermediate_size=1536,
    max_position_embeddings=128,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    classifier_activation=False,
)

PRESETS: dict[str, EncoderConfig] = {
    "bert-base": EncoderConfig(),
    "bert-large": EncoderConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
    ),
    # BERT_TINY of the length-divergence paper (Jiang et al. 2022, appendix): 4,386,178 with its classifier.
    "bert-tiny": EncoderConfig(
        hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512
    ),
    "albert-base": _ALBERT,
    "albert-large": replace(
        _ALBERT, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
    ),
    "albert-xlarge": replace(
        _ALBERT, hidden_size=2048, num_hidden_layers=24, num_attention_heads=32, intermediate_size=8192
    ),
    "albert-xxlarge": replace(
        _ALBERT, hidden_size=4096, num_hidden_layers=12, num_attention_heads=64, intermediate_size=16384
    ),
    # Teacher of MobileBERT: BERT-large width inside the block, 512 between blocks (Table 2 f).
    "ib-bert-large": replace(
        _MOBILEBERT,
        intermediate_size=4096,
        intra_bottleneck_size=1024,
        num_feedforward_networks=1,
        hidden_act="gelu",
        normalization_type="layer_norm",
        hidden_dropout_prob=0.1,
    ),
    # The published checkpoint's network: query and key share a bottleneck, which Table 1 does not show.
    "mobilebert": _PUBLISHED,
    "mobilebert-table1": _MOBILEBERT,
    # Appendix E, Figure 4.
    "mobilebert-tiny": replace(_MOBILEBERT, num_feedforward_networks=2, use_bottleneck_attention=True),
    # "MobileBERT w/o OPT" of Table 4: the operational optimisations of section 3.3 undone.
    "mobilebert-without-opt": replace(_PUBLISHED, hidden_act="gelu", normalization_type="layer_norm"),
    # all-MiniLM-L6-v2: the teacher whose weights come in a package.
    "minilm-l6": EncoderConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    ),
    # The shipped student: MiniLM's feature map (384) and heads (12), so every layer has a teacher layer to
    # match; inside the block 192 wide with two stacked feed-forward networks.
    "matcher-m": replace(
        _PUBLISHED,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=576,
        intra_bottleneck_size=192,
        num_feedforward_networks=2,
        classifier_activation=True,
        attention_probs_dropout_prob=0.0,
    ),
    # The smaller variant, below 5 MB in int8: as deep, so every layer has a teacher; narrower inside, one
    # feed-forward network, and the 8,000 word pieces that questions are made of.
    "matcher-s": replace(
        _PUBLISHED,
        vocab_size=8000,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=448,
        max_position_embeddings=128,
        embedding_size=96,
        intra_bottleneck_size=168,
        num_feedforward_networks=1,
        classifier_activation=True,
        attention_probs_dropout_prob=0.0,
    ),
    # All of MiniLM; its feed-forward networks are made four-bit weights.
    "matcher-open-m": _MATCHER_OPEN,
    # Below 5 MB in int8: fewer and narrower layers, all in four bits, and frequent word pieces.
    "matcher-open-s": replace(_MATCHER_OPEN, vocab_size=18_800, num_hidden_layers=4, intermediate_size=896),
}


def preset(name: str) -> EncoderConfig:
    """Look up a preset.

    Raises:
        ModelError: no preset has this name.
    """
    if name not in PRESETS:
        raise ModelError(f"preset {name!r} is unknown; expected one of {', '.join(PRESETS)}")
    return PRESETS[name]
