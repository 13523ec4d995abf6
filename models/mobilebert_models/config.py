"""The config of all our encoders, with Hugging Face's field names, so config.json needs no translation."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from mobilebert_runtime.card import INPUT_NAMES
from mobilebert_runtime.errors import ModelError

# gelu is the exact form; gelu_new, ALBERT's, and gelu_pytorch_tanh are the same approximation by tanh.
ACTIVATIONS = ("gelu", "gelu_new", "gelu_pytorch_tanh", "relu")
NORMS = ("layer_norm", "no_norm")
MODEL_TYPES = (
    "bert",
    "mobilebert",
    "albert",
    "distilbert",
    "roberta",
    "xlm-roberta",
    "electra",
    "mpnet",
    "modernbert",
    "deberta-v2",
)
_SHARES = ("layer_norm_eps", "initializer_range", "hidden_dropout_prob", "attention_probs_dropout_prob")
_MAY_BE_ZERO = ("type_vocab_size", "pad_token_id", "relative_attention_num_buckets", "position_buckets")
# What layers of an ALBERT share (Lan et al. 2020, Table 4).
LAYER_SHARING = ("all", "attention", "ffn", "none")


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
    """Shape of a BERT or one of its kin, an ALBERT, or a (inverted-)bottleneck BERT: MobileBERT, IB-BERT.

    `hidden_size` is the inter-block size (the feature map, MobileBERT Table 1 h_inter);
    `intra_bottleneck_size` is the width inside a block. MobileBERT has intra < inter, IB-BERT intra > inter.

    Raises:
        ModelError: an unknown name, or sizes that do not divide.
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
    type_vocab_size: int = 2  # 0: no token types
    layer_norm_eps: float = 1e-12
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    initializer_range: float = 0.02
    pad_token_id: int = 0
    # Tanh pooler before the classifier. BERT has it; the published MobileBERT classifies the raw [CLS] row.
    classifier_activation: bool = True
    # Width of the word embedding, where it is not the hidden size: ALBERT, ELECTRA and bottleneck models.
    embedding_size: int = 768
    # MPNet only: distances between tokens that have a bias of their own in the attention scores.
    relative_attention_num_buckets: int = 0
    # Below: ALBERT only. Groups of neighbouring layers that share parameters (L/M groups of M layers).
    num_hidden_groups: int = 1
    # What the layers of a group share; published checkpoints know "all" only.
    layer_sharing: str = "all"
    # Below: ModernBERT only. The layers' kinds, "full_attention" or "sliding_attention"; tokens in a window.
    layer_types: tuple[str, ...] = ()
    local_attention: int = 128
    # How slowly the angles of positions grow, in layers of either kind.
    global_rope_theta: float = 160_000.0
    local_rope_theta: float = 10_000.0
    classifier_pooling: str = "cls"  # what its classifiers read: the first row, or the mean of all
    # Below: DeBERTa-v2 and -v3 only. Terms of a score beside the content's: from content to position ("c2p")
    # and back ("p2c"); are their maps of positions those of the content?
    pos_att_type: tuple[str, ...] = ("c2p", "p2c")
    share_att_key: bool = False
    # Vectors of distances either way; 0: one for each distance up to `max_relative_positions`.
    position_buckets: int = 0
    max_relative_positions: int = 512
    norm_rel_ebd: str = "none"  # of the vectors of distances: none or layer_norm
    pooler_hidden_act: str = "gelu"
    # Below: bottleneck models only.
    intra_bottleneck_size: int = 768
    num_feedforward_networks: int = 1
    # Published MobileBERT: query and key read one shared bottleneck, value reads the feature map.
    key_query_shared_bottleneck: bool = False
    # MobileBERT-tiny (appendix E): query, key and value all read the block's reduced input.
    use_bottleneck_attention: bool = False
    # Additive score of a padded key. exp(-60) vanishes next to any real key in float32, and unlike -1e9 or
    # -10000 it leaves an int8 attention score a usable scale if a runtime does quantise the sum.
    attention_mask_value: float = -60.0
    kronecker: tuple[KroneckerRule, ...] = ()

    def __post_init__(self) -> None:
        """Check types, names and divisibility once, where the config is made."""
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name in _MAY_BE_ZERO else 1
            if field.type == "int" and not (isinstance(value, int) and value >= least):
                raise ModelError(
                    f"config: {field.name} is {value!r}; expected a whole number, {least} or more"
                )
            if field.type == "float" and not (isinstance(value, (int, float)) and math.isfinite(value)):
                raise ModelError(f"config: {field.name} is {value!r}; expected a number")
        for name in (
            "layer_norm_eps",
            "initializer_range",
            "hidden_dropout_prob",
            "attention_probs_dropout_prob",
        ):
            if not 0 <= getattr(self, name) <= 1:
                raise ModelError(f"config: {name} is {getattr(self, name)!r}; expected 0 to 1")
        for name, value, known in (
            ("model_type", self.model_type, MODEL_TYPES),
            ("hidden_act", self.hidden_act, ACTIVATIONS),
            ("normalization_type", self.normalization_type, NORMS),
            ("layer_sharing", self.layer_sharing, LAYER_SHARING),
            ("classifier_pooling", self.classifier_pooling, ("cls", "mean")),
            ("norm_rel_ebd", self.norm_rel_ebd, ("none", "layer_norm")),
            ("pooler_hidden_act", self.pooler_hidden_act, (*ACTIVATIONS, "tanh")),
            *(("pos_att_type", one, _POSITION_TERMS) for one in self.pos_att_type or (None,)),
            *(("layer_types", one, _LAYER_TYPES) for one in self.layer_types),
        ):
            if value not in known:
                raise ModelError(f"config: {name} is {value!r}; expected one of {', '.join(known)}")
        if self.pad_token_id >= self.vocab_size:
            raise ModelError(
                f"config: pad_token_id {self.pad_token_id} is none of the {self.vocab_size} tokens"
            )
        if self.attention_size % self.num_attention_heads:
            raise ModelError(
                f"config: attention width {self.attention_size} does not divide by "
                f"num_attention_heads {self.num_attention_heads}"
            )
        if self.num_hidden_layers % self.num_hidden_groups:
            raise ModelError(
                f"config: {self.num_hidden_layers} layers do not divide into num_hidden_groups "
                f"{self.num_hidden_groups}"
            )
        ours = self.normalization_type != "layer_norm" or self.kronecker
        if ours and self.model_type not in ("bert", "mobilebert"):
            raise ModelError(f"config: model_type {self.model_type!r} has layer_norm and no kronecker rules")
        if self.relative_attention_num_buckets not in (0, 32):
            found = self.relative_attention_num_buckets
            raise ModelError(f"config: relative_attention_num_buckets is {found}; only 32 is supported")

    @property
    def is_bottleneck(self) -> bool:
        """Whether blocks narrow (or widen) the feature map around attention and feed-forward."""
        return self.model_type == "mobilebert"

    @property
    def position_offset(self) -> int:
        """Row of the position table that the first token reads; those before it belong to padding."""
        return self.pad_token_id + 1 if self.model_type in _POSITIONS_AFTER_PADDING else 0

    @property
    def max_tokens(self) -> int:
        """Longest sequence that has positions."""
        return self.max_position_embeddings - self.position_offset

    @property
    def input_names(self) -> tuple[str, ...]:
        """The inputs that the network reads, in the order of `forward`."""
        always = self.model_type in ("albert", "mobilebert")
        return INPUT_NAMES if always or self.type_vocab_size > 1 else INPUT_NAMES[:2]

    @property
    def classifier_act(self) -> str:
        """Activation between the two linear maps of a classification head."""
        acts = {"distilbert": "relu", "electra": "gelu", "deberta-v2": self.pooler_hidden_act}
        return acts.get(self.model_type, "tanh")

    @property
    def layers_per_group(self) -> int:
        """M of "groups of M layers": neighbours of an ALBERT that share parameters."""
        return self.num_hidden_layers // self.num_hidden_groups

    @property
    def attention_size(self) -> int:
        """Total width of all heads: the intra-block size, or the hidden size of a plain BERT."""
        return self.intra_bottleneck_size if self.is_bottleneck else self.hidden_size

    def to_dict(self) -> dict[str, Any]:
        """config.json content that both we and `transformers` read."""
        out = asdict(self)
        for name in _ONLY_ELSEWHERE[self.model_type]:
            del out[name]
        for ours, theirs in _RENAMED.get(self.model_type, {}).items():
            out[theirs] = out.pop(ours)
        if self.is_bottleneck:
            out |= {"use_bottleneck": True, "trigram_input": True}
        out |= self._own_names(out)
        # What `transformers` does not compute gets a name it refuses: it would read "bert" or "albert"
        # and silently fill missing matrices with noise, or put its own norms in.
        if self.model_type == "albert":
            if self.layer_sharing == "none":  # as many groups as layers
                out |= {"num_hidden_groups": self.num_hidden_layers, "layer_sharing": "all"}
            elif self.layer_sharing != "all" and self.num_hidden_groups < self.num_hidden_layers:
                out["model_type"] = _PARTLY_SHARED + self.model_type
        if self.model_type == "bert":
            if self.normalization_type == "no_norm":
                out["model_type"] = _NO_NORM + self.model_type
            else:
                del out["normalization_type"]
        if self.kronecker:
            out["model_type"] = _KRONECKER + out["model_type"]
        else:
            del out["kronecker"]
        return out

    def _own_names(self, out: dict[str, Any]) -> dict[str, Any]:
        """What config.json of this type says in another form; `out` loses what is in the place of it."""
        if self.model_type == "deberta-v2":
            return {"pos_att_type": list(self.pos_att_type)} | dict(_DEBERTA_REQUIRED)
        if self.model_type != "modernbert":
            return {}
        rope = {kind: {"rope_type": "default", "rope_theta": out.pop(name)} for kind, name in _THETAS.items()}
        return {"layer_types": list(self.layer_types), "rope_parameters": rope}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> EncoderConfig:
        """Read a config.json of ours or of `transformers`.

        Raises:
            ModelError: the file asks for something these networks do not compute.
        """
        model_type = str(values.get("model_type"))
        for prefix in (_KRONECKER, _NO_NORM, _PARTLY_SHARED):
            model_type = model_type.removeprefix(prefix)
        if model_type not in MODEL_TYPES:
            raise ModelError(
                f"config: model_type is {model_type!r}; expected one of {', '.join(MODEL_TYPES)}"
            )
        for name, required in _FIXED:
            if values.get(name, required) != required:
                raise ModelError(f"config: {name} is {values[name]!r}; only {required!r} is supported")
        defaults = _DEFAULTS.get(model_type, {})
        renamed = _RENAMED.get(model_type, {})
        values = values | {ours: values[theirs] for ours, theirs in renamed.items() if theirs in values}
        if model_type == "modernbert":
            values = values | _of_modernbert(values)
        if model_type == "deberta-v2":
            values = values | _of_deberta(defaults | values)
        # What `transformers` does not read of this type.
        known = {f.name for f in fields(cls)} - set(_ONLY_ELSEWHERE[model_type])
        ours: dict[str, Any] = {
            "model_type": model_type,
            "kronecker": tuple(KroneckerRule(**rule) for rule in values.get("kronecker", ())),
        }
        if model_type in _NO_TOKEN_TYPES:
            ours["type_vocab_size"] = 0
        config = cls(**(defaults | {k: v for k, v in values.items() if k in known} | ours))
        inside = values.get("true_hidden_size", config.intra_bottleneck_size)
        if config.is_bottleneck and inside != config.intra_bottleneck_size:
            raise ModelError(
                f"config: true_hidden_size is {inside!r}; only intra_bottleneck_size, "
                f"{config.intra_bottleneck_size}, is supported"
            )
        return config


# Prefixes of model_type in our own config.json files.
_KRONECKER = "kronecker-"
_NO_NORM = "nonorm-"
_PARTLY_SHARED = "partly-shared-"
_BOTTLENECK_ONLY = (
    "intra_bottleneck_size",
    "num_feedforward_networks",
    "key_query_shared_bottleneck",
    "use_bottleneck_attention",
)
_ALBERT_ONLY = ("num_hidden_groups", "layer_sharing")
_MPNET_ONLY = ("relative_attention_num_buckets",)
_MODERNBERT_ONLY = (
    *("layer_types", "local_attention", "global_rope_theta", "local_rope_theta", "classifier_pooling"),
)
_DEBERTA_ONLY = (
    *("pos_att_type", "share_att_key", "position_buckets", "max_relative_positions", "norm_rel_ebd"),
    "pooler_hidden_act",
)
_POSITION_TERMS = ("c2p", "p2c")
_LAYER_TYPES = ("full_attention", "sliding_attention")
_THETAS = {"full_attention": "global_rope_theta", "sliding_attention": "local_rope_theta"}
_PLAIN = ("embedding_size", "normalization_type", "classifier_activation", *_ALBERT_ONLY, *_BOTTLENECK_ONLY)
# Fields without a meaning for a network of this type; they are not written.
_ONLY_ELSEWHERE = {
    "bert": ("embedding_size", *_MPNET_ONLY, *_ALBERT_ONLY, *_BOTTLENECK_ONLY),
    "albert": ("normalization_type", *_MPNET_ONLY, *_BOTTLENECK_ONLY),
    "mobilebert": (*_MPNET_ONLY, *_ALBERT_ONLY),
    "distilbert": (*_PLAIN, "type_vocab_size", "layer_norm_eps", *_MPNET_ONLY),
    "roberta": (*_PLAIN, *_MPNET_ONLY),
    "xlm-roberta": (*_PLAIN, *_MPNET_ONLY),
    "electra": (*(name for name in _PLAIN if name != "embedding_size"), *_MPNET_ONLY),
    "mpnet": (*_PLAIN, "type_vocab_size"),
}
_ONLY_ELSEWHERE = {
    **{name: (*others, *_MODERNBERT_ONLY, *_DEBERTA_ONLY) for name, others in _ONLY_ELSEWHERE.items()},
    "modernbert": (*_PLAIN, "type_vocab_size", *_MPNET_ONLY, *_DEBERTA_ONLY),
    "deberta-v2": (*_PLAIN, *_MPNET_ONLY, *_MODERNBERT_ONLY),
}
# Ours → what config.json of this type calls it.
_RENAMED = {
    "modernbert": {
        "hidden_act": "hidden_activation",
        "layer_norm_eps": "norm_eps",
        "hidden_dropout_prob": "mlp_dropout",
        "attention_probs_dropout_prob": "attention_dropout",
    },
    "distilbert": {
        "hidden_size": "dim",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "intermediate_size": "hidden_dim",
        "hidden_act": "activation",
        "hidden_dropout_prob": "dropout",
        "attention_probs_dropout_prob": "attention_dropout",
    },
}
_NO_TOKEN_TYPES = ("distilbert", "mpnet", "modernbert")
_POSITIONS_AFTER_PADDING = ("roberta", "xlm-roberta", "mpnet")
# Variants that exist in published config files but not in the networks of the four papers.
_FIXED = (
    ("position_embedding_type", "absolute"),
    ("is_decoder", False),
    ("add_cross_attention", False),
    ("use_bottleneck", True),
    ("trigram_input", True),
    ("inner_group_num", 1),
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
# The same of an ALBERT config.json: an xxlarge model.
_ALBERT_DEFAULTS: dict[str, Any] = {
    "vocab_size": 30000,
    "hidden_size": 4096,
    "num_hidden_layers": 12,
    "num_attention_heads": 64,
    "intermediate_size": 16384,
    "hidden_act": "gelu_new",
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "embedding_size": 128,
}
_ELECTRA_DEFAULTS: dict[str, Any] = {
    "hidden_size": 256,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
    "embedding_size": 128,
}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "mobilebert": _MOBILEBERT_DEFAULTS,
    "albert": _ALBERT_DEFAULTS,
    "electra": _ELECTRA_DEFAULTS,
    "roberta": {"vocab_size": 50265, "pad_token_id": 1},
    "xlm-roberta": {"pad_token_id": 1},
    "modernbert": {
        "vocab_size": 50368,
        "num_hidden_layers": 22,
        "intermediate_size": 1152,
        "max_position_embeddings": 8192,
        "layer_norm_eps": 1e-5,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "pad_token_id": 50283,
    },
    "mpnet": {"vocab_size": 30527, "pad_token_id": 1, "relative_attention_num_buckets": 32},
    "deberta-v2": {
        "vocab_size": 128100,
        "hidden_size": 1536,
        "num_hidden_layers": 24,
        "num_attention_heads": 24,
        "intermediate_size": 6144,
        "max_position_embeddings": 512,
        "type_vocab_size": 0,
        "layer_norm_eps": 1e-7,
    },
}


def _of_modernbert(values: dict[str, Any]) -> dict[str, Any]:
    """Kinds of layers and angles of a ModernBERT's config.json, as `transformers` 4 or 5 wrote it.

    Raises:
        ModelError: it asks for biases, another activation of the head or another kind of angles.
    """
    for name, required in _MODERNBERT_FIXED:
        if values.get(name, required) != required:
            raise ModelError(f"config: {name} is {values[name]!r}; only {required!r} is supported")
    found: dict[str, Any] = {}
    layers, every = values.get("layer_types"), values.get("global_attn_every_n_layers", 3)
    count = values.get("num_hidden_layers", _DEFAULTS["modernbert"]["num_hidden_layers"])
    if layers is None:
        layers = [_LAYER_TYPES[bool(depth % every)] for depth in range(count)]
    if len(layers) != count:
        raise ModelError(f"config: layer_types names {len(layers)} layers, num_hidden_layers is {count}")
    found["layer_types"] = tuple(layers)
    for kind, name in _THETAS.items():
        angles = (values.get("rope_parameters") or {}).get(kind) or {}
        if angles.get("rope_type", "default") != "default":
            raise ModelError(f"config: rope_type is {angles['rope_type']!r}; only 'default' is supported")
        if "rope_theta" in angles:
            found[name] = angles["rope_theta"]
    return found


_MODERNBERT_FIXED = (
    *((name, False) for name in ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias")),
    ("classifier_activation", "gelu"),
    ("rope_scaling", None),
)


def _of_deberta(values: dict[str, Any]) -> dict[str, Any]:
    """Positions of a DeBERTa's config.json, as `transformers` reads it.

    Raises:
        ModelError: it asks for absolute positions, a convolution, or other widths inside than outside.
    """
    for name, wanted in _DEBERTA_REQUIRED:  # the library's own default is the other
        if values.get(name, not wanted) is not wanted:
            raise ModelError(f"config: {name} is not {json.dumps(wanted)}; only that is supported")
    size = values["hidden_size"]
    for name, required in (
        ("conv_kernel_size", 0),
        ("embedding_size", size),
        ("pooler_hidden_size", size),
        ("attention_head_size", size // values["num_attention_heads"]),
    ):
        if values.get(name, required) != required:
            raise ModelError(f"config: {name} is {values[name]!r}; only {required!r} is supported")
    terms, farthest = values.get("pos_att_type") or (), values.get("max_relative_positions", -1)
    terms = terms.lower().replace(" ", "").split("|") if isinstance(terms, str) else terms
    return {
        "pos_att_type": tuple(dict.fromkeys(terms)),
        "position_buckets": max(values.get("position_buckets", -1), 0),
        "max_relative_positions": farthest if farthest > 0 else values["max_position_embeddings"],
        "norm_rel_ebd": values.get("norm_rel_ebd", "none").strip().lower(),
    }


_DEBERTA_REQUIRED = (("relative_attention", True), ("position_biased_input", False))
