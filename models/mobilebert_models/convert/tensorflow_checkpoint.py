"""Google's MobileBERT and BERT checkpoints (TensorFlow 1 format) as weights of our networks.

TensorFlow is an extra (`pip install mobilebert-export[tensorflow]`): nothing else in the project needs it to
read a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mobilebert_models.config import EncoderConfig
from mobilebert_models.networks.heads import build
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import parse_json

# Optimiser state and counters that a training checkpoint also holds.
_NOT_WEIGHTS = re.compile(
    r"(^|/)(adam_[mv]|lamb_[mv]|AdamWeightDecayOptimizer.*|LAMBOptimizer.*|global_step)(/|$)"
)
# Pieces of a variable's path → pieces of ours; first match wins.
_PIECES = (
    (re.compile(r"^layer_(\d+)$"), r"layer.\1"),
    (re.compile(r"^ffn_layer_(\d+)$"), r"ffn.\1"),
    (re.compile(r"^FakeLayerNorm$"), "LayerNorm"),  # NoNorm's name in the published code
    (re.compile(r"^(kernel|gamma|output_weights)$"), "weight"),
    (re.compile(r"^(beta|output_bias)$"), "bias"),
    (re.compile(r"^extra_output_weights$"), "dense.weight"),
    (re.compile(r"^(\w+_embeddings)$"), r"\1.weight"),
)
_TRANSPOSED = ("kernel", "extra_output_weights")


def read_tensorflow_checkpoint(checkpoint: str | Path, config: str | Path) -> nn.Module:
    """Load a pretraining checkpoint (encoder with MLM and NSP heads) in eval mode and float32.

    Args:
        checkpoint: its prefix, the path without `.index` and `.data-…`.
        config: the `bert_config.json` that lies beside it.

    Raises:
        ModelError: TensorFlow is not installed, a file is missing or damaged, or variables do not fit.
    """
    settings = _read_config(Path(config))
    model = build(settings, "pretraining", seed=0)
    found = dict(_variables(Path(checkpoint)))
    expected = model.state_dict()
    missing, unknown = sorted(expected.keys() - found.keys()), sorted(found.keys() - expected.keys())
    if missing or unknown:
        raise ModelError(
            f"{checkpoint}: lacks {len(missing)} variables of {config} (first: {missing[:1]}) and has "
            f"{len(unknown)} that it does not name (first: {unknown[:1]})"
        )
    for name, tensor in found.items():
        if tensor.shape != expected[name].shape:
            raise ModelError(
                f"{checkpoint}: {name} has shape {tuple(tensor.shape)}, "
                f"{config} asks for {tuple(expected[name].shape)}"
            )
    model.load_state_dict(found)
    return model.eval()


def our_name(variable: str) -> str:
    """A TensorFlow variable's name → the parameter's name in our pretraining model."""
    pieces = []
    for piece in variable.split("/"):
        for pattern, replacement in _PIECES:
            if pattern.match(piece):
                pieces.append(pattern.sub(replacement, piece))
                break
        else:
            pieces.append(piece)
    name = ".".join(pieces)
    return re.sub(r"^(mobile)?bert\.", "encoder.", name)


def _variables(checkpoint: Path) -> Iterator[tuple[str, Tensor]]:
    if find_spec("tensorflow") is None:
        raise ModelError("reading a TensorFlow checkpoint needs `pip install mobilebert-export[tensorflow]`")
    import tensorflow as tf

    if not checkpoint.with_name(checkpoint.name + ".index").is_file():
        raise ModelError(f"{checkpoint}.index: no such file; give the prefix, without .index or .data-…")
    try:
        reader = tf.train.load_checkpoint(str(checkpoint))
        names = [n for n in reader.get_variable_to_shape_map() if not _NOT_WEIGHTS.search(n)]
        for name in names:
            value: np.ndarray = reader.get_tensor(name)
            kernel = name.rsplit("/", 1)[-1] in _TRANSPOSED
            yield (
                our_name(name),
                torch.from_numpy(np.array(value.T if kernel else value, np.float32, order="C")),
            )
    except (tf.errors.OpError, ValueError, IndexError) as error:
        raise ModelError(f"{checkpoint}: damaged checkpoint ({str(error).splitlines()[0]})") from error


def _read_config(path: Path) -> EncoderConfig:
    if not path.is_file():
        raise ModelError(f"{path}: no such file; give the bert_config.json of the checkpoint")
    try:
        values: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
        bottleneck = bool(values.get("use_bottleneck"))
        return EncoderConfig.from_dict(values | {"model_type": "mobilebert" if bottleneck else "bert"})
    except (ValueError, TypeError, ModelError) as error:
        raise ModelError(f"{path}: not a BERT config ({error})") from error
