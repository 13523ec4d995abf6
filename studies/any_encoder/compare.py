"""Sentence embedders in int8, ours beside other quantisers of one float file: accuracy, bytes, latency.

For each model directory: our float and int8 artefacts in TFLite and ONNX; ONNX Runtime's `quantize_dynamic`
of our float ONNX file, ai-edge-quantizer's dynamic and static defaults of our float TFLite file. Accuracy is
Spearman's correlation of the vectors' cosine with people's scores. Latency is of 128 tokens, all files in
turn in one process.

    python -m studies.any_encoder.compare minilm --out results/any_encoder/minilm.json
"""

from __future__ import annotations

import csv
import platform
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from scipy.stats import spearmanr
from typer import Argument, Option

from mobilebert_export.artefact_folder import write_checksums
from mobilebert_export.export_request import ExportRequest
from mobilebert_export.exporter import export
from mobilebert_runtime.card import read_card, read_recipe
from mobilebert_runtime.embedder import Embedder
from mobilebert_runtime.files import write_json
from quantize.tflite_int8 import rows_of
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, command_line, console, run

MULTILINGUAL = Path(__file__).with_name("multilingual_pairs.tsv")
CALLS = 10  # of one file before the next has its turn
# Ours first: a peer's file takes the place of the model in a copy of our float artefact's folder.
OURS = {f"{target}-{quant}": (target, quant) for target in ("tflite", "onnx") for quant in ("none", "int8")}


@dataclass(frozen=True)
class Pairs:
    """Text pairs with people's scores of how alike they are."""

    first: list[str]
    second: list[str]
    scores: list[float]

    @classmethod
    def read(cls, path: Path, prefix: str, most: int | None = None) -> Pairs:
        """The columns sentence1, sentence2 and score; `prefix` comes before each text."""
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[:most]
        first, second = ([prefix + row[name] for row in rows] for name in ("sentence1", "sentence2"))
        return cls(first, second, [float(row["score"]) for row in rows])


def main(
    model: Annotated[str, Argument(help="Model directory, or 'minilm'.")],
    out: Annotated[Path, Option(help="JSON file of the record.")],
    work: Annotated[Path, Option(help="Folder for the artefacts; those that are there are kept.")] = Path(
        "runs/any_encoder"
    ),
    sts: Annotated[Path, Option(help="STS-B's test file.")] = Path("../shared/data/glue/sts-b/test.tsv"),
    prefix: Annotated[str, Option(help="Before each text, such as 'query: ' for E5.")] = "",
    multilingual: Annotated[bool, Option("--multilingual", help="Other languages too.")] = False,
    most: Annotated[int | None, Option(min=10, help="STS-B pairs, from the first on; default: all.")] = None,
    rounds: Annotated[int, Option(min=1, help="Turns of each file in the latency run.")] = 15,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Export, quantise by the peers, and write accuracy, bytes and latency of each file."""
    check_outputs(out, force=force)
    folders = make_artefacts(model, work)
    sets = {"sts-b": Pairs.read(sts, prefix, most)}
    if multilingual:
        sets["multilingual"] = Pairs.read(MULTILINGUAL, prefix)
    found: dict[str, Any] = {}
    for name, folder in folders.items():
        console().print(f"{name}: accuracy")
        found[name] = measured(folder, sets, threads)
    for name, times in latencies(folders, threads, rounds).items():
        found[name] |= {"p50_ms": round(float(np.median(times)), 3), "raw_ms": np.round(times, 3).tolist()}
    write_json(
        out,
        {
            "command": command_line(),
            "machine": {"processor": platform.processor() or platform.machine(), "threads": threads},
            "pairs": {name: len(pairs.scores) for name, pairs in sets.items()},
            "files": found,
        },
    )


def make_artefacts(model: str, work: Path) -> dict[str, Path]:
    """Artefact folders by name, ours and the peers'."""
    base = work / Path(model).name
    base.mkdir(parents=True, exist_ok=True)
    folders: dict[str, Path] = {}
    for name, (target, quant) in OURS.items():
        folders[name] = base / name
        if not folders[name].is_dir():
            request = ExportRequest(
                out=folders[name], model=model, target=target, quant=quant, seq_len=128, measure=False
            )
            export(request, console())
    for name, (source, quantise) in PEERS.items():
        folders[name] = base / name
        if not folders[name].is_dir():
            console().print(f"{name}: quantise")
            unfinished = folders[name].with_suffix(".partial")
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(folders[source], unfinished)
            card = read_card(unfinished)
            path = unfinished / card.model_file
            path.unlink()
            quantise(folders[source], path)
            write_json(unfinished / "io.json", replace(card, quant=name).to_json())
            write_checksums(unfinished)
            unfinished.rename(folders[name])
    return folders


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


def ai_edge_static(folder: Path, out: Path) -> None:
    """ai-edge-quantizer's recipe of int8 weights and activations, calibrated on our calibration texts."""
    from ai_edge_quantizer import quantizer, recipe

    from mobilebert_export import samples

    work = quantizer.Quantizer(str(folder / "model.tflite"))
    work.load_quantization_recipe(recipe.static_wi8_ai8())
    card, embedder = read_card(folder), Embedder.load(folder)
    texts = [text for pair in samples.calibration_pairs() for text in pair]
    calibration: dict[str, list[dict[str, np.ndarray]]] = {}
    for bucket in card.buckets:
        rows = embedder.tokenizer.ids(texts, bucket.seq_len)
        encoded = embedder.tokenizer.pad(rows, bucket.seq_len)
        calibration[str(bucket.signature)] = rows_of({name: encoded[name] for name in card.inputs})
    out.write_bytes(work.quantize(work.calibrate(calibration), enable_progress_report=False).quantized_model)


# Name → the float artefact that it starts from, and what writes its file.
PEERS: dict[str, tuple[str, Callable[[Path, Path], None]]] = {
    "ort-dynamic": ("onnx-none", ort_dynamic),
    "ai-edge-dynamic": ("tflite-none", ai_edge_dynamic),
    "ai-edge-static": ("tflite-none", ai_edge_static),
}


def measured(folder: Path, sets: dict[str, Pairs], threads: int) -> dict[str, Any]:
    """Bytes, the recipe that was taken, and Spearman's correlation on each set."""
    embedder = Embedder.load(folder, threads)
    figures: dict[str, Any] = {"bytes": (folder / embedder.card.model_file).stat().st_size}
    if embedder.card.quant in ("none", "int8"):
        figures["recipe"] = read_recipe(folder)["recipe"]["name"]
    for name, pairs in sets.items():
        first, second = embedder.embed(pairs.first), embedder.embed(pairs.second)
        norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
        cosine = (first * second).sum(1) / norms
        figures[f"{name} spearman"] = round(float(spearmanr(cosine, pairs.scores)[0]), 4)
    return figures


def latencies(folders: dict[str, Path], threads: int, rounds: int) -> dict[str, np.ndarray]:
    """Milliseconds of single runs at 128 tokens, the files in turn, (rounds · CALLS,) by name."""
    backends = {name: Embedder.load(folder, threads) for name, folder in folders.items()}
    times: dict[str, list[float]] = {name: [] for name in folders}
    for turn in range(rounds + 1):  # the first warms up
        for name, embedder in backends.items():
            ids = np.full((1, 128), 1037, np.int32)
            inputs = {key: ids if key == "input_ids" else np.ones_like(ids) for key in embedder.card.inputs}
            if "token_type_ids" in inputs:
                inputs["token_type_ids"] = np.zeros_like(ids)
            for _ in range(CALLS):
                began = time.perf_counter()
                embedder.backend.run(inputs)
                if turn:
                    times[name].append(1e3 * (time.perf_counter() - began))
    return {name: np.array(found) for name, found in times.items()}


if __name__ == "__main__":
    run(main)
