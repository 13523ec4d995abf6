"""The model file of an artefact: float first, then quantised from that; and what makes it an artefact."""

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilebert_export.pipeline.artefact_folder import write_checksums
from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_export.pipeline.loading import LoadedModel
from mobilebert_quantize.product_noise import ProductForm
from mobilebert_quantize.recipes import Recipe, find_recipe
from mobilebert_runtime.card import OUTPUT_NAME, ArtefactCard, Bucket
from mobilebert_runtime.card_parts import SPELLING_FILE, TOKENIZER_FILE, VOCABULARY_FILE
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import PairTokenizer


def write_float(
    network: Any,
    path: Path,
    request: ExportRequest,
    buckets: tuple[Bucket, ...],
    outputs: Sequence[str] = (OUTPUT_NAME,),
) -> None:
    """The float file of the request's target; `outputs` is what its tensors are called."""
    if request.target == "tflite":
        from mobilebert_export.tflite.writer import write_float_tflite

        in_16_bits = find_recipe(request.target, request.quant).activation_bits == 16
        write_float_tflite(network, path, buckets, outputs, batch_axis=not in_16_bits)
    else:
        from mobilebert_export.onnx.writer import write_float_onnx

        write_float_onnx(network, path, buckets, request.opset, outputs)


def quantise(
    source: Path,
    target: Path,
    recipe: Recipe,
    calibration: dict[str, NDArray[np.int32]] | None,
    keep_float: Collection[int] = (),
) -> tuple[ProductForm, ...]:
    """Write the quantised file of a recipe; products with these numbers stay in float.

    Returns:
        How each product is computed, where the recipe has static ranges.
    """
    if recipe.weights == "float16":
        from mobilebert_quantize.half_precision import halve

        halve(source, target)
        return ()
    if recipe.target == "tflite":
        from mobilebert_quantize.tflite.int8 import quantize_tflite

        return quantize_tflite(source, target, recipe, calibration, keep_float)
    from mobilebert_quantize.onnx.int8 import quantize_onnx

    return quantize_onnx(source, target, recipe, calibration, keep_float)


def complete(folder: Path, card: ArtefactCard, model: LoadedModel) -> None:
    """Add what makes a model file an artefact that `Matcher.load` opens."""
    shutil.copyfile(model.directory / TOKENIZER_FILE, folder / TOKENIZER_FILE)
    if SPELLING_FILE in card.files:
        shutil.copyfile(model.directory / SPELLING_FILE, folder / SPELLING_FILE)
    if VOCABULARY_FILE in card.files:
        write_vocabulary(model.tokenizer, folder / VOCABULARY_FILE)
    write_json(folder / "io.json", card.to_json())
    write_checksums(folder)


def write_vocabulary(tokenizer: PairTokenizer, path: Path) -> None:
    """vocab.txt of a WordPiece: an entry a line, in the order of their ids."""
    entries = sorted(tokenizer.vocabulary().items(), key=lambda entry: entry[1])
    path.write_text("".join(f"{token}\n" for token, _ in entries), encoding="utf-8", newline="\n")
