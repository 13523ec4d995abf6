"""Named models: MobileBERT Table 1, and the students this project ships."""

from __future__ import annotations

from models.config import ConfigError, EncoderConfig

_IB = {
    "model_type": "mobilebert",
    "hidden_size": 512,
    "num_hidden_layers": 24,
    "num_attention_heads": 4,
    "embedding_size": 128,
    "classifier_activation": False,
}
_MOBILE = _IB | {
    "intermediate_size": 512,
    "intra_bottleneck_size": 128,
    "hidden_act": "relu",
    "normalization_type": "no_norm",
    "hidden_dropout_prob": 0.0,
}

PRESETS: dict[str, EncoderConfig] = {
    "bert-base": EncoderConfig(),
    "bert-large": EncoderConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
    ),
    # Teacher of MobileBERT: BERT-large width inside the block, 512 between blocks (Table 2 f).
    "ib-bert-large": EncoderConfig(**(_IB | {"intermediate_size": 4096, "intra_bottleneck_size": 1024})),
    # As published: shared key-query bottleneck and four stacked feed-forward networks.
    "mobilebert": EncoderConfig(
        **(_MOBILE | {"num_feedforward_networks": 4, "key_query_shared_bottleneck": True})
    ),
    # As drawn in Table 1 and Figure 1c: query, key and value read the feature map directly.
    "mobilebert-table1": EncoderConfig(**(_MOBILE | {"num_feedforward_networks": 4})),
    "mobilebert-tiny": EncoderConfig(
        **(_MOBILE | {"num_feedforward_networks": 2, "use_bottleneck_attention": True})
    ),
    # "MobileBERT w/o OPT" of Table 4: the operational optimisations of section 3.3 undone.
    "mobilebert-without-opt": EncoderConfig(
        **(
            _MOBILE
            | {
                "num_feedforward_networks": 4,
                "key_query_shared_bottleneck": True,
                "hidden_act": "gelu",
                "normalization_type": "layer_norm",
            }
        )
    ),
    # all-MiniLM-L6-v2: the teacher whose weights a package carries.
    "minilm-l6": EncoderConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    ),
    # The shipped student: MiniLM's feature map (384) and heads (12), so every layer has a teacher layer to
    # imitate; inside the block 192 wide with two stacked feed-forward networks.
    "matcher": EncoderConfig(
        **(
            _MOBILE
            | {
                "hidden_size": 384,
                "num_hidden_layers": 6,
                "num_attention_heads": 12,
                "intermediate_size": 576,
                "intra_bottleneck_size": 192,
                "num_feedforward_networks": 2,
                "key_query_shared_bottleneck": True,
                "classifier_activation": True,
                "attention_probs_dropout_prob": 0.0,
            }
        )
    ),
}


def preset(name: str) -> EncoderConfig:
    """Look up a preset.

    Raises:
        ConfigError: no preset has this name.
    """
    if name not in PRESETS:
        raise ConfigError(f"preset {name!r} is unknown; expected one of {', '.join(PRESETS)}")
    return PRESETS[name]
