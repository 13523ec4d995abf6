"""The one config of our encoders; field names are Hugging Face's, so config.json needs no translation."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

ACTIVATIONS = ("gelu", "relu")
NORMS = ("layer_norm", "no_norm")
MODEL_TYPES = ("bert", "mobilebert")


class ConfigError(ValueError):
    """A config value is unknown or inconsistent with another one."""

    exit_code = 2


@dataclass(frozen=True)
class KroneckerRule:
    """Which layers are sums of Kronecker products, and of which shape (KroneckerBERT Eq. 1, Table 1).

    A row of the `kronecker` table of config.json; of several rules for one layer the first holds.
    """

    # Shell-style pattern of layer names inside the encoder, such as *.attention.self.*
    layers: str
    # Rows and columns of the first factor. An embedding keeps all its rows: m1 is the vocabulary.
    m1: int
    n1: int
    # Number of products in the sum.
    rank: int = 1


@dataclass(frozen=True)
class EncoderConfig:
    """Shape of a BERT or of a (inverted-)bottleneck BERT: MobileBERT, its tiny variant, IB-BERT.

    `hidden_size` is the inter-block size (the feature map, MobileBERT Table 1 h_inter);
    `intra_bottleneck_size` is the width inside a block. MobileBERT has intra < inter, IB-BERT intra > inter.

    Raises:
        ConfigError: an unknown name, or sizes that do not divide.
    """

    model_type: str = "bert"
    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    normalization_type: str = "layer_norm"
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    initializer_range: float = 0.02
    pad_token_id: int = 0
    # Tanh pooler before the classifier. BERT has it; the published MobileBERT classifies the raw [CLS] row.
    classifier_activation: bool = True
    # Below: bottleneck models only.
    embedding_size: int = 768
    intra_bottleneck_size: int = 768
    num_feedforward_networks: int = 1
    # Published MobileBERT: query and key read one shared bottleneck, value reads the feature map.
    key_query_shared_bottleneck: bool = False
    # MobileBERT-tiny (appendix E): query, key and value all read the block's reduced input.
    use_bottleneck_attention: bool = False
    # Additive score of a padded key. exp(-60) vanishes beside any real key in float32, and unlike -1e9 or
    # -10000 it leaves an int8 attention score a usable scale if a runtime does quantise the sum.
    attention_mask_value: float = -60.0
    kronecker: tuple[KroneckerRule, ...] = ()

    def __post_init__(self) -> None:
        """Check names and divisibility once, where the config is made."""
        for name, value, known in (
            ("model_type", self.model_type, MODEL_TYPES),
            ("hidden_act", self.hidden_act, ACTIVATIONS),
            ("normalization_type", self.normalization_type, NORMS),
        ):
            if value not in known:
                raise ConfigError(f"config: {name} is {value!r}; expected one of {', '.join(known)}")
        if self.attention_size % self.num_attention_heads:
            raise ConfigError(
                f"config: attention width {self.attention_size} does not divide by "
                f"num_attention_heads {self.num_attention_heads}"
            )
        if self.num_feedforward_networks < 1 or self.num_hidden_layers < 1:
            raise ConfigError("config: num_feedforward_networks and num_hidden_layers must be at least 1")
        if not self.is_bottleneck and self.normalization_type != "layer_norm":
            raise ConfigError(
                "config: a plain BERT has layer_norm; no_norm belongs to model_type 'mobilebert'"
            )

    @property
    def is_bottleneck(self) -> bool:
        """Whether blocks narrow (or widen) the feature map around attention and feed-forward."""
        return self.model_type == "mobilebert"

    @property
    def attention_size(self) -> int:
        """Total width of all heads: the intra-block size, or the hidden size of a plain BERT."""
        return self.intra_bottleneck_size if self.is_bottleneck else self.hidden_size

    def to_dict(self) -> dict[str, Any]:
        """config.json content that both we and `transformers` read."""
        out = asdict(self)
        if not self.is_bottleneck:
            for name in _BOTTLENECK_ONLY:
                del out[name]
        else:
            out |= {"use_bottleneck": True, "trigram_input": True}
        if self.kronecker:
            # `transformers` would read a plain "bert" and silently fill the missing matrices with noise.
            out["model_type"] = _KRONECKER + self.model_type
        else:
            del out["kronecker"]
        return out

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> EncoderConfig:
        """Read a config.json of ours or of `transformers`.

        Raises:
            ConfigError: the file asks for something these networks do not compute.
        """
        model_type = str(values.get("model_type")).removeprefix(_KRONECKER)
        if model_type not in MODEL_TYPES:
            raise ConfigError(
                f"config: model_type is {model_type!r}; expected one of {', '.join(MODEL_TYPES)}"
            )
        for name, required in _FIXED:
            if values.get(name, required) != required:
                raise ConfigError(f"config: {name} is {values[name]!r}; only {required!r} is supported")
        defaults = _MOBILEBERT_DEFAULTS if model_type == "mobilebert" else {}
        known = {f.name for f in fields(cls)}
        ours = {
            "model_type": model_type,
            "kronecker": tuple(KroneckerRule(**rule) for rule in values.get("kronecker", ())),
        }
        return cls(**(defaults | {k: v for k, v in values.items() if k in known} | ours))


_KRONECKER = "kronecker-"
_BOTTLENECK_ONLY = (
    "normalization_type",
    "embedding_size",
    "intra_bottleneck_size",
    "num_feedforward_networks",
    "key_query_shared_bottleneck",
    "use_bottleneck_attention",
)
# Variants that exist in published config files but not in the networks of the four papers.
_FIXED = (
    ("position_embedding_type", "absolute"),
    ("is_decoder", False),
    ("add_cross_attention", False),
    ("use_bottleneck", True),
    ("trigram_input", True),
)
# What `transformers` leaves out of a MobileBERT config.json because it is its default.
_MOBILEBERT_DEFAULTS: dict[str, Any] = {
    "hidden_size": 512,
    "num_hidden_layers": 24,
    "num_attention_heads": 4,
    "intermediate_size": 512,
    "hidden_act": "relu",
    "normalization_type": "no_norm",
    "hidden_dropout_prob": 0.0,
    "embedding_size": 128,
    "intra_bottleneck_size": 128,
    "num_feedforward_networks": 4,
    "key_query_shared_bottleneck": True,
}
