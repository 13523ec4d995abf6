"""Do real weights answer as sentence-transformers, from text to vector?

Each model is converted in float, to TFLite and ONNX, at the longest input that it takes, and compared with
the library as every export is: on texts that make settings matter, with each prompt that the model names.

    python -m studies.any_encoder.from_text minilm e5=runs/e5/model --out results/any_encoder/from-text.json
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from mobilebert_export.console import silenced
from mobilebert_export.pipeline.artefact_folder import complete
from mobilebert_export.pipeline.card import artefact_card
from mobilebert_export.pipeline.loading import LoadedModel, load_model
from mobilebert_export.pipeline.own_library import check_from_text
from mobilebert_export.pipeline.targets import Target
from mobilebert_quantize.recipes import find_recipe
from mobilebert_runtime.card import Bucket
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import write_json
from studies.common.records import check_outputs
from studies.common.script import Force, command_line, console, run

TARGETS = ("tflite", "onnx")


def main(
    models: Annotated[list[str], Argument(help="Sentence embedders, NAME or NAME=DIRECTORY.")],
    out: Annotated[Path, Option(help="Record to write.")],
    target: Annotated[list[str] | None, Option(help="tflite or onnx; default: both.")] = None,
    force: Force = False,
) -> None:
    """Convert, and write what the comparison with the library found."""
    check_outputs(out, force=force)
    found: dict[str, Any] = {}
    for entry in models:
        name, _, directory = entry.partition("=")
        model = load_model(directory or name)
        found[name] = {one: agreement(model, one) for one in target or TARGETS}
        write_json(out, {"command": command_line(), "models": found})


def agreement(model: LoadedModel, target: str) -> dict[str, Any]:
    """The library, the texts and prompts, and the largest |Δ| of a number of a vector."""
    recipe, writer, length = find_recipe(target, "none"), Target(target), model.longest
    card = artefact_card(model, recipe, (Bucket(length, writer.signature(length)),))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with silenced():
            outputs = tuple(card.outputs(length))
            writer.write_float(model.network, folder / card.model_file, card.buckets, outputs, recipe)
            complete(folder, card, model)
        library = check_from_text(model, folder, lambda _: None, in_pytorch=False)
    if library is None or card.embedding is None:
        raise DataError(f"{model.folder}: no sentence embedder of another library")
    console().print(f"{model.source['name']}, {target}: {library.largest:.1e}")
    return library.to_json() | {"seq_len": length, "prompts": dict(card.embedding.prompts)}


if __name__ == "__main__":
    run(main)
