"""Does an exported ALBERT keep its sharing? File sizes of albert-base, float32, TFLite and ONNX.

    python -m studies.latency.albert_size results/transfer/albert-size.json

Random weights, norms away from the identity: at the identity the converter folds nothing.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated, cast

import torch
from typer import Argument

from mobilebert_export.console import silenced
from mobilebert_export.onnx.writer import write_float_onnx
from mobilebert_export.tflite.writer import write_float_tflite
from mobilebert_models import PairClassifier, build, preset
from mobilebert_runtime.card import Bucket
from mobilebert_runtime.files import write_json
from studies.common.script import run

PRESET, SEQ_LEN, OPSET = "albert-base", 128, 20


def main(out: Annotated[Path, Argument(help="The record.")]) -> None:
    """Export albert-base as TFLite and ONNX and record the sizes."""
    model = cast(PairClassifier, build(preset(PRESET), seed=0))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "LayerNorm" in name:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    shared = 4 * sum(parameter.numel() for parameter in model.parameters())
    layer = 4 * sum(parameter.numel() for parameter in model.encoder.layers[0].parameters())
    sizes = {}
    with tempfile.TemporaryDirectory() as folder, silenced():
        for target in ("tflite", "onnx"):
            path = Path(folder) / f"model.{target}"
            if target == "tflite":
                write_float_tflite(model, path, [Bucket(SEQ_LEN, "serving_default")])
            else:
                write_float_onnx(model, path, [Bucket(SEQ_LEN)], OPSET)
            sizes[target] = {"bytes": path.stat().st_size, "of_shared": path.stat().st_size / shared}
    record = {
        "model": f"{PRESET} with a pair classifier",
        "seq_len": SEQ_LEN,
        "shared_bytes": shared,
        "bytes_if_every_layer_had_its_own": shared + (model.config.num_hidden_layers - 1) * layer,
        "files": sizes,
    }
    write_json(out, record)
    sys.stdout.write(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
