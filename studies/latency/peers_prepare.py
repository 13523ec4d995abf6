"""The peers' artefacts and ours, from the same weights: what `studies.latency.peers` measures.

    python -m studies.latency.peers_prepare

Every step is done once; see README.md beside this file.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Option

from mobilebert_quantize.recipes import FALLBACKS, Recipe, find_recipe
from studies.common.script import run

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "runs" / "peers"
MODEL, SEQ_LEN = FOLDER / "model", 128
INPUTS = ("input_ids", "attention_mask", "token_type_ids")

# Artefacts by runtime: ours as `mobilebert export` makes them, the peers as peer_converters.py does.
OURS = {
    "tflite": {
        "ours-fp32": find_recipe("tflite", "none"),
        "ours-int8": find_recipe("tflite", "int8"),
        "ours-int8-mixed": FALLBACKS["tflite-int8"][0],
        "ours-dynamic": find_recipe("tflite", "dynamic"),
    },
    "onnx": {
        "ours-onnx-fp32": find_recipe("onnx", "none"),
        "ours-onnx-int8": find_recipe("onnx", "int8"),
        "ours-onnx-dynamic": find_recipe("onnx", "dynamic"),
    },
}
PEERS = {
    "tflite": ("litert-fp32", "litert-int8", "litert-dynamic", "tfconverter-fp32", "tfconverter-int8"),
    "onnx": ("ort-fp32", "ort-int8", "ort-dynamic"),
}


def main(
    python: Annotated[
        Path | None, Option(help="Convert with this environment's Python instead of one made for it.")
    ] = None,
) -> None:
    """Make whatever is missing of weights, the peers' environment and all artefacts (an hour on one core)."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    _once(MODEL, write_weights)
    _once(FOLDER / "calibration.npz", write_calibration)
    _once(FOLDER / "check.npz", write_check)
    peers_python = str(python or environment())
    convert = [peers_python, str(HERE / "peer_converters.py")]

    def converted(peer: str, pairs: str, out: Path) -> None:
        _run([*convert, peer, str(MODEL), str(FOLDER / pairs), str(out)])

    _once(FOLDER / "agreement.json", lambda out: converted("agree", "check.npz", out))
    for runtime, names in PEERS.items():
        for peer in names:
            _once(FOLDER / peer / f"model.{runtime}", partial(converted, peer, "calibration.npz"))
            describe(FOLDER / peer, runtime, peer.split("-")[-1])
    for runtime in OURS:
        convert_ours(runtime)


def convert_ours(runtime: str) -> None:
    """Our files of a runtime: the rewriting, writing and quantising of `mobilebert export`.

    Without its verification, as for the peers: labels and order of random weights are decided by hairs. How
    far each file's answers are from PyTorch's is on the page.
    """
    import mobilebert_models
    from mobilebert_export.pipeline.exact_rewrites import Rewritten, rewrite, rounded
    from mobilebert_export.pipeline.targets import Target
    from mobilebert_runtime.card import OUTPUT_NAME, Bucket

    calibration = dict(np.load(FOLDER / "calibration.npz"))
    file, lengths = f"model.{runtime}", (Bucket(SEQ_LEN, "main" if runtime == "tflite" else None),)

    def to_float(recipe: Recipe, out: Path) -> None:
        network = Rewritten(mobilebert_models.load_pretrained(MODEL))
        rewritten = rewrite(network, recipe, calibration, calibration)
        if recipe.weights == "int8":
            rewritten = rounded(rewritten, recipe, calibration)
        Target(runtime).write_float(rewritten.network, out, lengths, (OUTPUT_NAME,), recipe)

    def to_integers(recipe: Recipe, source: Path, out: Path) -> None:
        Target(runtime).quantise(source, out, recipe, calibration)

    for name, recipe in OURS[runtime].items():
        # What is quantised is rewritten for its recipe.
        plain = recipe.quant == "none"
        source = FOLDER / name / file if plain else FOLDER / f"float-for-{name}.{runtime}"
        _once(source, partial(to_float, recipe))
        if not plain:
            _once(FOLDER / name / file, partial(to_integers, recipe, source))
        describe(FOLDER / name, runtime, recipe.quant)


def write_weights(directory: Path) -> None:
    """A MobileBERT of the published shape (24.6M parameters) with seeded weights, in transformers' layout.

    Latency does not depend on the values, but int8 ranges do: scales are those of a trained network, NoNorm's
    γ around 0.9 with a spread, so that the feature map's size stays the same from layer to layer.
    """
    import torch

    import mobilebert_models

    network = mobilebert_models.build(mobilebert_models.preset("mobilebert"), seed=0)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, values in network.named_parameters():
            if "LayerNorm.weight" in name:
                values.uniform_(0.7, 1.1, generator=generator)
            elif "LayerNorm.bias" in name:
                values.normal_(0, 0.05, generator=generator)
            elif values.dim() == 1:
                values.normal_(0, 0.02, generator=generator)
            else:
                values.mul_(10.0 if "_embeddings." in name else 2.5)
    mobilebert_models.save_pretrained(
        network,
        directory,
        tokenizer_from=mobilebert_models.shipped_directory("matcher-qqp-m"),
        settings=mobilebert_models.MatcherSettings(),
    )


def write_calibration(path: Path) -> None:
    """The bundled calibration pairs, padded: what every quantiser here measures its ranges on."""
    from mobilebert_export import samples

    np.savez(path, **_encode(samples.calibration_pairs()))  # type: ignore[arg-type]


def write_check(path: Path) -> None:
    """Pairs that no quantiser saw, with the logits of our network."""
    import torch

    import mobilebert_models
    from mobilebert_export import samples

    encoded = _encode(samples.verification_pairs())
    with torch.inference_mode():
        inputs = {name: torch.from_numpy(values) for name, values in encoded.items()}
        network = mobilebert_models.load_pretrained(MODEL)
        batches = zip(*(tensor.split(16) for tensor in inputs.values()), strict=True)
        logits = torch.cat([network(**dict(zip(inputs, batch, strict=True))) for batch in batches]).numpy()
    np.savez(path, logits=logits, **encoded)  # type: ignore[arg-type]


def environment() -> Path:
    """The Python of the peers' environment, made from peers-requirements.txt when it is not there yet."""
    requirements = HERE / "peers-requirements.txt"
    stamp = hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]
    home = FOLDER / "venv"
    python, ready = home / "bin" / "python", home / f".ready-{stamp}"
    if not ready.exists():
        shutil.rmtree(home, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(home)])
        _run([str(python), "-m", "pip", "install", "--quiet", "--requirement", str(requirements)])
        ready.touch()
    return python


def describe(folder: Path, runtime: str, quant: str) -> None:
    """Make a peer's folder one that `android_bench` can measure, and note what XNNPACK takes of its graph."""
    from android_bench.measuring.external_model import ExternalModel
    from mobilebert_export.pipeline.targets import Target

    inputs = {name: (name, "int32") for name in INPUTS}
    ExternalModel(runtime, quant, f"model.{runtime}", SEQ_LEN, inputs).write(folder)
    for name in ("vocab.txt", "tokenizer.json"):
        shutil.copyfile(MODEL / name, folder / name)
    if runtime == "tflite":
        graph = Target(runtime).describe(folder / "model.tflite").to_json()
        (folder / "report.json").write_text(json.dumps({"graph": graph}, indent=2) + "\n", encoding="utf-8")


def _encode(pairs: list[tuple[str, str]]) -> dict[str, np.ndarray]:
    import mobilebert_models
    from mobilebert_runtime.tokenizer import PairTokenizer

    return PairTokenizer.load(mobilebert_models.shipped_directory("matcher-qqp-m")).encode(pairs, SEQ_LEN)


def _once(path: Path, make: Callable[[Path], Any]) -> None:
    """Make a file or folder under a temporary name unless it is there; a failed step leaves nothing."""
    if path.exists():
        return
    sys.stderr.write(f"{path.relative_to(FOLDER)}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    building = path.with_name(f"building-{path.name}")
    make(building)
    building.replace(path)


def _run(command: list[str]) -> None:
    """A step in a process of its own; its failure ends this one."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3"}
    if code := subprocess.run(command, env=os.environ | quiet, check=False).returncode:
        sys.exit(f"stopped with {code}: {' '.join(command)}")


if __name__ == "__main__":
    run(main)
