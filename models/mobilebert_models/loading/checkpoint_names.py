"""What published checkpoints call our parameters, family by family.

Our heads hold their encoder as `encoder.`; published ones as `bert.`, `roberta.` and so on. Classification
heads of every family are an activated linear map of the [CLS] row, our `encoder.pooler.dense`, and a linear
map to the logits, our `classifier`.
"""

from __future__ import annotations

import re

from torch import Tensor

from mobilebert_models.config import EncoderConfig
from mobilebert_models.networks import albert, modernbert

# Ours → theirs, inside one layer.
_DISTILBERT_LAYER = {
    "attention.self.query.": "attention.q_lin.",
    "attention.self.key.": "attention.k_lin.",
    "attention.self.value.": "attention.v_lin.",
    "attention.output.dense.": "attention.out_lin.",
    "attention.output.LayerNorm.": "sa_layer_norm.",
    "intermediate.dense.": "ffn.lin1.",
    "output.dense.": "ffn.lin2.",
    "output.LayerNorm.": "output_layer_norm.",
}
_MPNET_LAYER = {
    "attention.self.query.": "attention.attn.q.",
    "attention.self.key.": "attention.attn.k.",
    "attention.self.value.": "attention.attn.v.",
    "attention.output.dense.": "attention.attn.o.",
    "attention.output.LayerNorm.": "attention.LayerNorm.",
}
_DEBERTA_LAYER = {
    f"attention.self.{one}.": f"attention.self.{one}_proj." for one in ("query", "key", "value")
}
_LAYERS = {
    "distilbert": ("transformer", _DISTILBERT_LAYER),
    "mpnet": ("encoder", _MPNET_LAYER),
    "deberta-v2": ("encoder", _DEBERTA_LAYER),
}
# What a bare encoder's own `encoder.` holds.
_IN_STACK = ("layer.", "relative_attention_bias.", "rel_embeddings.", "LayerNorm.")
# Where a family's sequence classifier keeps the two linear maps of its head, if not as BERT does.
_TWO_MAPS = {"encoder.pooler.dense.": "classifier.dense.", "classifier.": "classifier.out_proj."}
_CLASSIFIERS = {
    "distilbert": {"encoder.pooler.dense.": "pre_classifier."},
    "roberta": _TWO_MAPS,
    "xlm-roberta": _TWO_MAPS,
    "electra": _TWO_MAPS,
    "mpnet": _TWO_MAPS,
    "deberta-v2": {"encoder.pooler.dense.": "pooler.dense."},
    # Its token classifiers have this head, too.
    "modernbert": {"encoder.pooler.dense.": "head.dense.", "encoder.pooler.norm.": "head.norm."},
}


def encoder_prefix(config: EncoderConfig) -> str:
    """What published heads call their encoder, with a dot."""
    return {"modernbert": "model.", "xlm-roberta": "roberta.", "deberta-v2": "deberta."}.get(
        config.model_type, f"{config.model_type}."
    )


def published_tensors(
    named: dict[str, Tensor], config: EncoderConfig, *, classifier: bool
) -> dict[str, Tensor]:
    """Parameters by their names in a published checkpoint; `classifier`: of a classifier."""
    found = {published_name(name, config, classifier=classifier): one for name, one in named.items()}
    return modernbert.published_tensors(found) if config.model_type == "modernbert" else found


def published_name(name: str, config: EncoderConfig, *, classifier: bool) -> str:
    """A parameter's name in a published checkpoint; `classifier`: of a sequence classifier."""
    if classifier:
        for ours, theirs in _CLASSIFIERS.get(config.model_type, {}).items():
            if name.startswith(ours):
                return theirs + name.removeprefix(ours)
    head, _, rest = name.partition(".")
    inside_head = head == "encoder" and not rest.startswith(_IN_STACK)
    prefix, inner = (encoder_prefix(config), rest) if inside_head else ("", name)
    return prefix + _published_inside(inner, config)


def our_tensors(published: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    """Tensors of a checkpoint by our names; those of a head's encoder begin with `encoder.`."""
    prefix = encoder_prefix(config)
    tensors: dict[str, Tensor] = {}
    for given, tensor in published.items():
        # Checkpoints converted from TensorFlow call a norm's scale gamma and its shift beta.
        name = given.replace("LayerNorm.gamma", "LayerNorm.weight").replace(
            "LayerNorm.beta", "LayerNorm.bias"
        )
        outer, inner = ("encoder.", name.removeprefix(prefix)) if name.startswith(prefix) else ("", name)
        if config.model_type == "modernbert":
            parts = modernbert.our_tensors(inner, tensor)
            tensors |= {outer + part: one for part, one in parts.items()}
            continue
        tensors[outer + _our_inside(inner, config)] = tensor
    # After the encoder's own: a pooler in the file is not what such a classifier reads.
    for ours, theirs in _CLASSIFIERS.get(config.model_type, {}).items():
        tensors |= {
            ours + name.removeprefix(theirs): tensors.pop(name)
            for name in list(tensors)
            if name.startswith(theirs)
        }
    return tensors


def _published_inside(name: str, config: EncoderConfig) -> str:
    if config.model_type == "albert":
        return albert.published_name(name, config)
    if config.model_type == "modernbert":  # several of our tensors are one: `published_tensors`
        return name
    stack, parts = _LAYERS.get(config.model_type, ("encoder", {}))
    found = re.fullmatch(r"encoder\.layer\.(\d+)\.(.*)", name)
    if found is None:
        return name
    part = _replaced(found[2], parts)
    return f"{stack}.layer.{found[1]}.{part}"


def _our_inside(name: str, config: EncoderConfig) -> str:
    if config.model_type == "albert":
        return albert.our_name(name, config)
    stack, parts = _LAYERS.get(config.model_type, ("encoder", {}))
    found = re.fullmatch(rf"{stack}\.layer\.(\d+)\.(.*)", name)
    if found is None:
        return name
    part = _replaced(found[2], {theirs: ours for ours, theirs in parts.items()})
    return f"encoder.layer.{found[1]}.{part}"


def _replaced(name: str, starts: dict[str, str]) -> str:
    for start, other in starts.items():
        if name.startswith(start):
            return other + name.removeprefix(start)
    return name
