"""The peers, each as its documentation says: run by studies/latency/peers.py in the peers' own environment.

python -m studies.latency.peer_converters agree|PEER MODEL_DIRECTORY PAIRS.npz OUT

MODEL_DIRECTORY is in the layout of `transformers`. PAIRS.npz holds encoded text pairs, int32 (N, S) by input
name, and for `agree` the logits (N, labels) they must give. Nothing of this project is imported here.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# Largest |Δlogit| between the networks that are about to be converted.
AGREEMENT = 1e-4
Pairs = dict[str, np.ndarray]


def agree(directory: Path, pairs: Pairs, out: Path) -> None:
    """Run the peers' networks in float and write how far their logits are from the given ones, as JSON."""
    import torch

    expected = pairs.pop("logits")
    with torch.inference_mode():
        inputs = {name: torch.from_numpy(values) for name, values in pairs.items()}
        theirs = {"transformers": _stock(directory)(**inputs).numpy()}
    graph = _tensorflow(directory, pairs["input_ids"].shape[1]).concrete
    theirs["tensorflow"] = np.concatenate([graph(**row).numpy() for row in _rows(pairs)])
    apart = {name: float(np.abs(logits - expected).max()) for name, logits in theirs.items()}
    out.write_text(json.dumps(apart) + "\n", encoding="utf-8")
    if max(apart.values()) > AGREEMENT:
        sys.exit(f"the networks do not compute the same: {apart}; nothing may be measured")


def litert_float(directory: Path, pairs: Pairs, out: Path) -> None:
    """`litert_torch.convert` on the stock network."""
    import litert_torch
    import torch

    example = {name: torch.from_numpy(values[:1]) for name, values in pairs.items()}
    litert_torch.convert(_stock(directory), sample_kwargs=example).export(str(out))


def litert_static(_: Path, pairs: Pairs, out: Path) -> None:
    """ai-edge-quantizer's static int8 recipe on litert_torch's file."""
    from ai_edge_quantizer import quantizer, recipe

    work = quantizer.Quantizer(str(_beside(out, "litert-fp32", "model.tflite")))
    work.load_quantization_recipe(recipe.static_wi8_ai8())
    ranges = work.calibrate({"serving_default": list(_rows(pairs))})
    work.quantize(ranges).export_model(str(out), overwrite=True)


def litert_dynamic(_: Path, __: Pairs, out: Path) -> None:
    """ai-edge-quantizer's dynamic-range recipe on litert_torch's file."""
    from ai_edge_quantizer import quantizer, recipe

    work = quantizer.Quantizer(str(_beside(out, "litert-fp32", "model.tflite")))
    work.load_quantization_recipe(recipe.dynamic_wi8_afp32())
    work.quantize().export_model(str(out), overwrite=True)


def tensorflow_float(directory: Path, pairs: Pairs, out: Path) -> None:
    """TFLiteConverter without optimisations."""
    _convert_tensorflow(directory, pairs, out, quantised=False)


def tensorflow_static(directory: Path, pairs: Pairs, out: Path) -> None:
    """TFLiteConverter's default full int8: `Optimize.DEFAULT` and a representative data set."""
    _convert_tensorflow(directory, pairs, out, quantised=True)


def onnx_float(directory: Path, pairs: Pairs, out: Path) -> None:
    """torch.onnx.export on the stock network."""
    import torch

    example = tuple(torch.from_numpy(pairs[name][:1]) for name in INPUTS)
    names: dict[str, Any] = {"input_names": list(INPUTS), "output_names": ["logits"]}
    torch.onnx.export(_stock(directory), example, str(out), dynamo=True, external_data=False, **names)


def onnx_dynamic(_: Path, __: Pairs, out: Path) -> None:
    """ONNX Runtime's `quantize_dynamic` with its defaults."""
    import onnx
    from onnxruntime.quantization import quantize_dynamic

    # The shapes torch.onnx notes beside the graph make it stop; ONNX infers them again.
    model = onnx.load(_beside(out, "ort-fp32", "model.onnx"))
    del model.graph.value_info[:]
    quantize_dynamic(model, out)


def onnx_static(_: Path, pairs: Pairs, out: Path) -> None:
    """ONNX Runtime's `quantize_static` with its defaults: QDQ, unsigned activations, one scale per tensor."""
    from onnxruntime.quantization import CalibrationDataReader, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.rows = _rows(pairs)

        def get_next(self) -> dict[str, np.ndarray] | None:
            return next(self.rows, None)

    quantize_static(_beside(out, "ort-fp32", "model.onnx"), out, Reader())


CONVERTERS: dict[str, Callable[[Path, Pairs, Path], None]] = {
    "agree": agree,
    "litert-fp32": litert_float,
    "litert-int8": litert_static,
    "litert-dynamic": litert_dynamic,
    "tfconverter-fp32": tensorflow_float,
    "tfconverter-int8": tensorflow_static,
    "ort-fp32": onnx_float,
    "ort-dynamic": onnx_dynamic,
    "ort-int8": onnx_static,
}


def _stock(directory: Path) -> Any:
    """The classifier of transformers, all its defaults, as a function from three tensors to logits."""
    import torch
    from transformers import MobileBertForSequenceClassification

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = MobileBertForSequenceClassification.from_pretrained(directory)

        def forward(
            self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
        ) -> torch.Tensor:
            return self.model(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
            ).logits

    return Logits().eval()


def _tensorflow(directory: Path, seq_len: int) -> Any:
    from mobilebert_tensorflow import MobileBert
    from safetensors.numpy import load_file

    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    return MobileBert(load_file(directory / "model.safetensors"), config, seq_len)


def _convert_tensorflow(directory: Path, pairs: Pairs, out: Path, *, quantised: bool) -> None:
    import tensorflow as tf

    network = _tensorflow(directory, pairs["input_ids"].shape[1])
    converter = tf.lite.TFLiteConverter.from_concrete_functions([network.concrete], network)
    if quantised:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: _rows(pairs)
    out.write_bytes(converter.convert())


def _rows(pairs: Pairs) -> Iterator[Pairs]:
    count = len(pairs["input_ids"])
    return ({name: pairs[name][row : row + 1] for name in INPUTS} for row in range(count))


def _beside(out: Path, peer: str, name: str) -> Path:
    """The float file that a quantiser starts from; it lies in its own peer's folder."""
    path = out.parent.parent / peer / name
    if not path.is_file():
        sys.exit(f"{path}: no such file; convert {peer} first")
    return path


if __name__ == "__main__":
    peer, directory, pairs, out = sys.argv[1], *map(Path, sys.argv[2:])
    CONVERTERS[peer](directory, dict(np.load(pairs)), out)
