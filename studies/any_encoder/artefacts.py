"""A model's artefacts, ours and those of other quantisers of one float file.

Ours: float and int8, TFLite and ONNX. The peers': ONNX Runtime's `quantize_dynamic` of our float ONNX file,
ai-edge-quantizer's dynamic and static defaults of our float TFLite file. A peer's file takes the place of the
model in a copy of our float artefact's folder, so that every file answers through the same runtime.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mobilebert_export import samples
from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_export.pipeline.exporter import export
from mobilebert_export.verification.verify import VerificationError
from mobilebert_quantize.recipes import RECIPES
from mobilebert_quantize.tflite.int8 import quantize_tflite, rows_of
from mobilebert_runtime.artefact import load
from mobilebert_runtime.card import read_card
from mobilebert_runtime.files import write_json
from studies.common.script import console

OURS = {f"{target}-{quant}": (target, quant) for target in ("tflite", "onnx") for quant in ("none", "int8")}


def make_artefacts(request: ExportRequest, peers: Sequence[str]) -> tuple[dict[str, Path], dict[str, str]]:
    """Artefact folders by name, ours first; those that are there already are kept. And what is refused.

    Args:
        request: the model and how to export it; `out` is the folder that holds the artefacts' folders, target
            and quantisation are set here.
        peers: of `PEERS`.

    Returns:
        The folders, and by name why verification refused those of ours that are missing.
    """
    request.out.mkdir(parents=True, exist_ok=True)
    folders: dict[str, Path] = {}
    refused: dict[str, str] = {}
    for name, (target, quant) in OURS.items():
        folder = request.out / name
        if not folder.is_dir():
            asked = replace(request, out=folder, target=target, quant=quant, measure=False)
            try:
                export(asked)
            except VerificationError as error:
                if quant == "none":
                    raise
                refused[name] = str(error)
                console().print(f"{name}: {error}")
                continue
        folders[name] = folder
    for name in peers:
        source, quantise = PEERS[name]
        folders[name] = request.out / name
        if not folders[name].is_dir():
            console().print(f"{name}: quantise")
            quantise_copy(folders[source], folders[name], quantise)
    return folders, refused


def quantise_copy(source: Path, out: Path, quantise: Callable[[Path, Path], None]) -> None:
    """A copy of an artefact folder with another file as its model, which nothing verifies."""
    unfinished = out.with_suffix(".partial")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(source, unfinished)
    card = read_card(unfinished)
    path = unfinished / card.model_file
    path.unlink()
    quantise(source, path)
    write_json(unfinished / "io.json", replace(card, quant=out.name).to_json())
    write_checksums(unfinished)
    unfinished.rename(out)


def ort_dynamic(folder: Path, out: Path) -> None:
    """ONNX Runtime's dynamic quantisation with its defaults."""
    import onnx
    from onnxruntime.quantization import quantize_dynamic

    model = onnx.load(folder / "model.onnx")
    del model.graph.value_info[:]  # shapes that torch.onnx notes make it stop; ONNX infers them again
    quantize_dynamic(model, out)


def ai_edge_dynamic(folder: Path, out: Path) -> None:
    """ai-edge-quantizer's recipe of int8 weights and ranges found at run time."""
    from ai_edge_quantizer import quantizer, recipe

    work = quantizer.Quantizer(str(folder / "model.tflite"))
    work.load_quantization_recipe(recipe.dynamic_wi8_afp32())
    out.write_bytes(work.quantize(enable_progress_report=False).quantized_model)


def our_dynamic(folder: Path, out: Path) -> None:
    """Our recipe of int8 weights and ranges found at run time, on the float file."""
    quantize_tflite(folder / "model.tflite", out, RECIPES["tflite-dynamic"], None)


def ai_edge_static(folder: Path, out: Path) -> None:
    """ai-edge-quantizer's recipe of int8 weights and activations, calibrated on our calibration texts.

    On an eighth of them: its calibration looks at every tensor of every bucket, an hour for all texts.
    Outputs stay float, so that the file stands in for ours.
    """
    from ai_edge_quantizer import algorithm_manager, qtyping, quantizer, recipe

    work = quantizer.Quantizer(str(folder / "model.tflite"))
    work.load_quantization_recipe(recipe.static_wi8_ai8())
    work.update_quantization_recipe(
        ".*", qtyping.TFLOperationName.OUTPUT, algorithm_key=algorithm_manager.AlgorithmName.NO_QUANTIZE
    )
    model = load(folder)
    pairs = samples.calibration_pairs()
    texts = pairs if model.card.texts == 2 else [text for pair in pairs for text in pair]
    calibration: dict[str, list[dict[str, np.ndarray]]] = {}
    for bucket in model.card.buckets:
        encoded = model.tokenizer.pad(model.tokenizer.ids(texts[::8], bucket.seq_len), bucket.seq_len)
        calibration[str(bucket.signature)] = rows_of({name: encoded[name] for name in model.card.inputs})
    out.write_bytes(work.quantize(work.calibrate(calibration), enable_progress_report=False).quantized_model)


# Name → the float artefact that it starts from, and what writes its file.
PEERS: dict[str, tuple[str, Callable[[Path, Path], None]]] = {
    "ort-dynamic": ("onnx-none", ort_dynamic),
    "ai-edge-dynamic": ("tflite-none", ai_edge_dynamic),
    "ai-edge-static": ("tflite-none", ai_edge_static),
}
