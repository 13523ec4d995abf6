"""The networks of the papers' latency tables as model files: random weights, through our own exporter.

Latency does not depend on the values of weights and biases (`studies.latency.trained_weights` measures it),
and a network of random weights has no decisions that a quantised file could be verified against. So these are
external models, not artefacts: the same writer, the same recipes and the same calibration text, no
verification, nothing to ship.
"""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from android_bench.measuring.external_model import EXTERNAL_MODEL_FILE, ExternalModel
from mobilebert_export import samples
from mobilebert_export.console import silenced, step
from mobilebert_export.terminal import Terminal
from mobilebert_runtime.card import INPUT_NAMES, MODEL_FILES, OUTPUT_NAME, Bucket
from studies.latency.paper_tables import QUANTS, SEQ_LEN, PaperTable, artefact_names

TARGET = "tflite"


def table_configs() -> dict[str, Any]:
    """`studies.latency.paper_tables`'s names of networks → `models.EncoderConfig`."""
    from mobilebert_models import preset
    from mobilebert_models.kronecker.factor_shapes import preset_rules

    published, bert_base = preset("mobilebert"), preset("bert-base")
    return {
        "layernorm-gelu": preset("mobilebert-without-opt"),
        "layernorm-relu": replace(published, normalization_type="layer_norm"),
        "nonorm-gelu": replace(published, hidden_act="gelu"),
        "mobilebert": published,
        "mobilebert-tiny": preset("mobilebert-tiny"),
        "bert-base": bert_base,
        "kroneckerbert-8": replace(bert_base, kronecker=preset_rules(bert_base, "8")),
    }


def export_table(table: PaperTable, cache: Path, console: Terminal) -> list[Path]:
    """Folders of a table's models, NAME-none and NAME-int8; those that lie in `cache` already stay."""
    configs = table_configs()
    for row in table.rows:
        export_network(partial(random_network, configs[row.name]), row.name, cache, console)
    return [cache / name for name in artefact_names(table)]


def random_network(config: Any) -> Any:
    """A pair classifier with random weights, biases and norms.

    A fresh network's biases are zero. The converter leaves such a bias out and writes a product that several
    others read once for each of them, so that MobileBERT-tiny would multiply by every input bottleneck twice.
    """
    import torch

    from mobilebert_models import build

    network = build(config, seed=0)
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.02 * torch.randn(parameter.shape, generator=draw))
    return network


def export_network(network: Callable[[], Any], name: str, cache: Path, console: Terminal) -> list[Path]:
    """Convert one network and quantise the converted file, each unless it is there.

    Args:
        network: makes it, a pair classifier.
        name: the folders are CACHE/NAME-none and CACHE/NAME-int8.
        cache: where they are, or are made.
        console: shows the steps.
    """
    from mobilebert_export.pipeline.targets import Target
    from mobilebert_quantize.algebra import simplify
    from mobilebert_quantize.recipes import find_recipe

    target, none = Target(TARGET), find_recipe(TARGET, "none")
    plain, quantised = (cache / f"{name}-{quant}" for quant in QUANTS)
    if not (plain / EXTERNAL_MODEL_FILE).is_file():
        with step(console, f"Convert {name}"), silenced():
            # As `mobilebert export` does; equalised ranges change no operator, so the int8 file goes without.
            simple, lengths = simplify(network()).network, (Bucket(SEQ_LEN, f"seq_{SEQ_LEN}"),)
            names = (OUTPUT_NAME,)
            _complete(plain, "none", lambda path: target.write_float(simple, path, lengths, names, none))
    if not (quantised / EXTERNAL_MODEL_FILE).is_file():
        with step(console, f"Quantise {name}"), silenced():
            source, recipe, text = plain / MODEL_FILES[TARGET], find_recipe(TARGET, QUANTS[1]), _calibration()
            _complete(quantised, QUANTS[1], lambda path: target.quantise(source, path, recipe, text))
    return [plain, quantised]


def _calibration() -> dict[str, NDArray[np.int32]]:
    from mobilebert_models import shipped_directory
    from mobilebert_quantize.calibration_data import encode_calibration
    from mobilebert_runtime.tokenizer import PairTokenizer

    tokenizer = PairTokenizer.load(shipped_directory("matcher-qqp-m"))
    return encode_calibration(samples.calibration_pairs(), tokenizer, SEQ_LEN)


def _complete(folder: Path, quant: str, write: Callable[[Path], object]) -> None:
    """A bare model's folder under a temporary name, then under its own."""
    from mobilebert_export.pipeline.targets import Target
    from mobilebert_models import shipped_directory

    building = folder.with_name(f".{folder.name}.{os.getpid()}")
    building.mkdir(parents=True)
    try:
        model = building / MODEL_FILES[TARGET]
        write(model)
        graph = json.dumps({"graph": Target(TARGET).describe(model).to_json()}, indent=2)
        (building / "report.json").write_text(graph + "\n", encoding="utf-8")
        for name in ("vocab.txt", "tokenizer.json"):
            shutil.copyfile(shipped_directory("matcher-qqp-m") / name, building / name)
        inputs = {name: (name, "int32") for name in INPUT_NAMES}
        ExternalModel(TARGET, quant, model.name, SEQ_LEN, inputs).write(building)
        shutil.rmtree(folder, ignore_errors=True)
        building.replace(folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)
