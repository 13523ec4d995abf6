"""The peers' artefacts and ours, from the same weights, measured in one interleaved run.

python -m studies.latency.peers prepare                         (an hour on one core; every step is done once)
python -m studies.latency.peers measure [--runtime tflite|onnx] [--threads N] [--out results/bench/peers-…]

See benchmarks/README.md.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "runs" / "peers"
MODEL, SEQ_LEN = FOLDER / "model", 128
INPUTS = ("input_ids", "attention_mask", "token_type_ids")

# Artefacts by runtime: ours as `mobilebert export` makes them, the peers as peer_converters.py does.
OURS = {
    "tflite": {"ours-fp32": "none", "ours-int8": "int8", "ours-dynamic": "dynamic"},
    "onnx": {"ours-onnx-fp32": "none", "ours-onnx-int8": "int8", "ours-onnx-dynamic": "dynamic"},
}
PEERS = {
    "tflite": ("litert-fp32", "litert-int8", "litert-dynamic", "tfconverter-fp32", "tfconverter-int8"),
    "onnx": ("ort-fp32", "ort-int8", "ort-dynamic"),
}
# Base, candidate, figure, the ratio that must not be exceeded: what is claimed of the runs.
GOALS = {
    "tflite": (
        ("litert-int8", "ours-int8", "time", 0.70),
        ("tfconverter-int8", "ours-int8", "time", 0.73),
        ("ours-fp32", "ours-int8", "time", 0.95),
        ("ours-fp32", "ours-int8", "peak memory", 0.50),
        ("litert-fp32", "ours-fp32", "time", None),
        ("tfconverter-fp32", "ours-fp32", "time", None),
        ("litert-dynamic", "ours-dynamic", "time", None),
    ),
    "onnx": (
        ("ours-onnx-fp32", "ours-onnx-int8", "time", 1.00),
        ("ort-fp32", "ours-onnx-fp32", "time", None),
        ("ort-int8", "ours-onnx-int8", "time", None),
        ("ort-dynamic", "ours-onnx-dynamic", "time", None),
    ),
}


def prepare(python: str | None) -> None:
    """Make whatever is missing of weights, environment and artefacts."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    _once(MODEL, write_weights)
    _once(FOLDER / "calibration.npz", write_calibration)
    _once(FOLDER / "check.npz", write_check)
    peers_python = python or str(environment())
    convert = [peers_python, str(HERE / "peer_converters.py")]

    def converted(peer: str, pairs: str, out: Path) -> None:
        _run([*convert, peer, str(MODEL), str(FOLDER / pairs), str(out)])

    _once(FOLDER / "agreement.json", lambda out: converted("agree", "check.npz", out))
    for runtime, names in PEERS.items():
        for peer in names:
            _once(
                FOLDER / peer / f"model.{runtime}", lambda out, p=peer: converted(p, "calibration.npz", out)
            )
            describe(FOLDER / peer, runtime, peer.split("-")[-1])
    for runtime in OURS:
        convert_ours(runtime)


def convert_ours(runtime: str) -> None:
    """Our files of a runtime: the rewriting, writing and quantising of `mobilebert export`.

    Without its verification, as for the peers: labels and order of random weights are decided by hairs. How
    far each file's answers are from PyTorch's is on the page.
    """
    import models
    from mobilebert_export.exact_rewrites import rewrite
    from mobilebert_export.exporter import ExportRequest, quantise, write_float
    from mobilebert_runtime.card import Bucket
    from quantize.recipes import find_recipe

    calibration = dict(np.load(FOLDER / "calibration.npz"))
    file, lengths = f"model.{runtime}", (Bucket(SEQ_LEN, "main" if runtime == "tflite" else None),)

    def to_float(quant: str, out: Path) -> None:
        recipe = find_recipe(runtime, quant)
        rewritten = rewrite(models.load_pretrained(MODEL), recipe, calibration, calibration)
        write_float(rewritten.network, out, ExportRequest(out=out, target=runtime, quant=quant), lengths)

    def to_integers(quant: str, source: Path, out: Path) -> None:
        quantise(source, out, find_recipe(runtime, quant), calibration)

    for name, quant in OURS[runtime].items():
        # Ranges are equalised where they are static; the other recipes share one float file.
        plain = FOLDER / next(other for other, kind in OURS[runtime].items() if kind == "none") / file
        source = FOLDER / f"equalised.{runtime}" if quant == "int8" else plain
        _once(source, partial(to_float, quant))
        if quant != "none":
            _once(FOLDER / name / file, partial(to_integers, quant, source))
        describe(FOLDER / name, runtime, quant)


def write_weights(directory: Path) -> None:
    """A MobileBERT of the published shape (24.6M parameters) with seeded weights, in transformers' layout.

    Latency does not depend on the values, but int8 ranges do: scales are those of a trained network, NoNorm's
    γ around 0.9 with a spread, so that the feature map's size stays the same from layer to layer.
    """
    import torch

    import models

    network = models.build(models.preset("mobilebert"), seed=0)
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
    models.save_pretrained(
        network,
        directory,
        tokenizer_from=models.shipped_directory(),
        settings=models.MatcherSettings(),
    )


def write_calibration(path: Path) -> None:
    """The bundled calibration pairs, padded: what every quantiser here measures its ranges on."""
    from mobilebert_export import samples

    np.savez(path, **_encode(samples.calibration_pairs()))


def write_check(path: Path) -> None:
    """Pairs that no quantiser saw, with the logits of our network."""
    import torch

    import models
    from mobilebert_export import samples

    encoded = _encode(samples.verification_pairs()[:48])
    with torch.inference_mode():
        inputs = {name: torch.from_numpy(values) for name, values in encoded.items()}
        logits = models.load_pretrained(MODEL)(**inputs).numpy()
    np.savez(path, logits=logits, **encoded)


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
    from android_bench.external_model import ExternalModel
    from mobilebert_export.tflite_writer import describe_tflite

    inputs = {name: (name, "int32") for name in INPUTS}
    ExternalModel(runtime, quant, f"model.{runtime}", SEQ_LEN, inputs).write(folder)
    for name in ("vocab.txt", "tokenizer.json"):
        shutil.copyfile(MODEL / name, folder / name)
    if runtime == "tflite":
        graph = describe_tflite(folder / "model.tflite")
        (folder / "report.json").write_text(json.dumps({"graph": graph}, indent=2) + "\n", encoding="utf-8")


def measure(
    runtime: str,
    threads: int,
    out: Path,
    *,
    sessions: int,
    seconds: float,
    retries: int,
    profiled: bool,
    force: bool,
) -> None:
    """One interleaved run of ours and the peers, operator profiles beside if asked; OUT.json, .md, .png."""
    from android_bench.latency import measure as interleave
    from android_bench.latency import name_candidates
    from android_bench.latency_record import Record
    from android_bench.latency_report import bench_markdown, check_free, plot, write_files
    from android_bench.progress import session_progress

    check_free(out, force=force)
    names = (*OURS[runtime], *PEERS[runtime])
    candidates = name_candidates([FOLDER / name for name in names], threads)
    with session_progress() as begin:
        progress = begin(f"{threads} thread(s)")
        run = interleave(candidates, sessions=sessions, seconds=seconds, retries=retries, progress=progress)
    record = Record.of(run, profiled=profiled)
    ratios = [judge(run, *goal) for goal in GOALS[runtime]]
    answers = {name: accuracy(FOLDER / name) for name in names}
    page = "\n".join([*peers_markdown(ratios, answers, threads), bench_markdown(record)])
    data = {**record.to_json(), "ratios": ratios, "answers": answers}
    for path in write_files(out, data, page, lambda path: plot(record, path), force=force):
        sys.stderr.write(f"{path}\n")


def judge(run: Any, base: str, candidate: str, figure: str, limit: float | None) -> dict[str, Any]:
    """One goal against a run: the ratio candidate / base, a 98% interval of times, whether it holds."""
    from android_bench import statistics

    if figure == "time":
        ratio = run.ratio(base, candidate)
        interval = [
            float(end) for end in statistics.ratio_interval(run.medians(base), run.medians(candidate))
        ]
    else:
        ratio = run.summary(candidate)["peak_mib"] / run.summary(base)["peak_mib"]
        interval = None
    return {
        "base": base,
        "candidate": candidate,
        "figure": figure,
        "ratio": ratio,
        "interval": interval if interval and np.isfinite(interval[1]) else None,
        "goal": limit,
        "met": None if limit is None else ratio <= limit,
    }


def accuracy(folder: Path) -> dict[str, float]:
    """How far a model's logits are from PyTorch's float ones on text that no quantiser saw."""
    from android_bench.external_model import open_model
    from android_bench.latency import encode

    check = dict(np.load(FOLDER / "check.npz"))
    expected = check.pop("logits")
    arrays = encode(folder, check)
    backend = open_model(folder, 1)
    rows = range(len(expected))
    found = np.concatenate([backend.run({name: a[i : i + 1] for name, a in arrays.items()}) for i in rows])
    margin, margin_expected = found[:, 1] - found[:, 0], expected[:, 1] - expected[:, 0]
    return {
        "rms_logit_error": float(np.sqrt(((found - expected) ** 2).mean())),
        "correlation": float(np.corrcoef(margin, margin_expected)[0, 1]) if margin.std() else 0.0,
    }


def peers_markdown(
    ratios: list[dict[str, Any]], answers: Mapping[str, Mapping[str, float]], threads: int
) -> list[str]:
    """The claims first, then what each file's answers are worth."""
    lines = [
        f"# MobileBERT against the other converters, {threads} thread(s)",
        "",
        "One state dict (24.6M parameters, published shape, seeded weights), 128 tokens, batch 1, one run.",
        "",
        "| time or memory of | relative to | of | ratio | 98% interval | goal | |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in ratios:
        interval = "–" if row["interval"] is None else "{:.3f} to {:.3f}".format(*row["interval"])
        goal = "–" if row["goal"] is None else f"≤ {row['goal']:.2f}"
        verdict = {None: "", True: "met", False: "missed"}[row["met"]]
        cells = (row["candidate"], row["base"], row["figure"], f"{row['ratio']:.3f}", interval, goal, verdict)
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| | rms logit error against PyTorch | correlation of the margin |", "|---|---|---|"]
    lines += [
        f"| {name} | {found['rms_logit_error']:.2g} | {found['correlation']:.4f} |"
        for name, found in answers.items()
    ]
    return [*lines, ""]


def _encode(pairs: list[tuple[str, str]]) -> dict[str, np.ndarray]:
    import models
    from mobilebert_runtime.tokenizer import PairTokenizer

    return PairTokenizer.load(models.shipped_directory()).encode(pairs, SEQ_LEN)


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


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    step = steps.add_parser("prepare", help="make what is missing of environment, weights and artefacts")
    step.add_argument("--python", help="convert with this environment instead of one made for it")
    step = steps.add_parser("measure", help="one interleaved run of ours and the peers")
    step.add_argument("--runtime", choices=OURS, default="tflite")
    step.add_argument("--threads", type=int, default=1)
    step.add_argument("--sessions", type=int, default=7)
    step.add_argument("--seconds", type=float, default=1.0)
    step.add_argument("--retries", type=int, default=1, help="repeat a round while the machine is troubled")
    step.add_argument("--profile", action="store_true", help="add time by kind of operator")
    step.add_argument("--out", type=Path)
    step.add_argument("--force", action="store_true", help="replace existing files")
    given = parser.parse_args()
    if given.step == "prepare":
        prepare(given.python)
        return
    out = given.out or HERE.parents[1] / "results" / "bench" / f"peers-{given.runtime}-{given.threads}-thread"
    amount = {"sessions": given.sessions, "seconds": given.seconds, "retries": given.retries}
    try:
        measure(given.runtime, given.threads, out, **amount, profiled=given.profile, force=given.force)
    except Exception as error:
        if not hasattr(error, "exit_code"):
            raise
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
