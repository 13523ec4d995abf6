"""The peers' artefacts and ours, from the same weights, measured in one interleaved run.

    python -m studies.latency.peers_prepare
    python -m studies.latency.peers --runtime tflite --threads 1

See README.md beside this file.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
from typer import Option

from android_bench.measuring import statistics
from android_bench.measuring.external_model import open_model
from android_bench.measuring.latency import Comparison, encode, name_candidates
from android_bench.measuring.latency import measure as interleave
from android_bench.measuring.latency_record import Record
from android_bench.measuring.latency_report import bench_markdown, check_free, plot, write_files
from android_bench.measuring.progress import session_progress
from mobilebert_runtime.errors import OptionError
from studies.common.markdown import table, with_interval
from studies.common.records import Json
from studies.common.script import Force, run
from studies.latency.peers_prepare import FOLDER, HERE, OURS, PEERS

# Base, candidate, figure: whose ratio the page gives.
COMPARED = {
    "tflite": (
        ("litert-int8", "ours-int8", "time"),
        ("tfconverter-int8", "ours-int8", "time"),
        ("ours-fp32", "ours-int8", "time"),
        ("ours-fp32", "ours-int8", "peak memory"),
        ("litert-fp32", "ours-fp32", "time"),
        ("tfconverter-fp32", "ours-fp32", "time"),
        ("litert-dynamic", "ours-dynamic", "time"),
        ("litert-dynamic", "ours-int8", "time"),
        ("litert-dynamic", "ours-int8-mixed", "time"),
        ("ours-int8", "ours-int8-mixed", "time"),
    ),
    "onnx": (
        ("ours-onnx-fp32", "ours-onnx-int8", "time"),
        ("ort-fp32", "ours-onnx-fp32", "time"),
        ("ort-int8", "ours-onnx-int8", "time"),
        ("ort-dynamic", "ours-onnx-dynamic", "time"),
        ("ort-dynamic", "ours-onnx-int8", "time"),
    ),
}


def main(
    runtime: Annotated[str, Option(help="tflite or onnx.")] = "tflite",
    threads: Annotated[int, Option(help="Threads of the runtime.")] = 1,
    sessions: Annotated[int, Option(help="Interleaved sessions per artefact, a process each.")] = 7,
    seconds: Annotated[float, Option(help="Steady measurement per session, after warm-up.")] = 1.0,
    retries: Annotated[int, Option(help="Repeat a session this often while the machine is troubled.")] = 1,
    profile: Annotated[bool, Option("--profile", help="Add time by kind of operator.")] = False,
    out: Annotated[
        Path | None, Option(help="Write OUT.json, OUT.md, OUT.png; default: below results/bench.")
    ] = None,
    force: Force = False,
) -> None:
    """One interleaved run of ours and the peers."""
    if runtime not in OURS:
        raise OptionError(f"--runtime {runtime!r} is unknown; expected one of {', '.join(OURS)}")
    out = out or HERE.parents[1] / "results" / "bench" / f"peers-{runtime}-{threads}-thread"
    check_free(out, force=force)
    names = (*OURS[runtime], *PEERS[runtime])
    candidates = name_candidates([FOLDER / name for name in names], threads)
    with session_progress() as begin:
        progress = begin(f"{threads} thread(s)")
        measured = interleave(
            candidates, sessions=sessions, seconds=seconds, retries=retries, progress=progress
        )
    record = Record.of(measured, profiled=profile)
    ratios = [compare(measured, *compared) for compared in COMPARED[runtime]]
    answers = {name: accuracy(FOLDER / name) for name in names}
    page = f"{peers_markdown(ratios, answers, threads)}\n{bench_markdown(record)}"
    data = {**record.to_json(), "ratios": ratios, "answers": answers}
    for path in write_files(out, data, page, lambda path: plot(record, path), force=force):
        sys.stderr.write(f"{path}\n")


def compare(measured: Comparison, base: str, candidate: str, figure: str) -> Json:
    """The ratio candidate / base in a run, and for times its 98% interval."""
    if figure == "time":
        ratio = measured.ratio(base, candidate)
        interval = [
            float(end)
            for end in statistics.ratio_interval(measured.medians(base), measured.medians(candidate))
        ]
    else:
        ratio = measured.summary(candidate)["peak_mib"] / measured.summary(base)["peak_mib"]
        interval = None
    return {
        "base": base,
        "candidate": candidate,
        "figure": figure,
        "ratio": ratio,
        "interval": interval if interval and np.isfinite(interval[1]) else None,
    }


def accuracy(folder: Path) -> dict[str, float]:
    """How far a model's logits are from PyTorch's float ones on text that no quantiser saw."""
    check = dict(np.load(FOLDER / "check.npz"))
    expected = check.pop("logits")
    arrays = encode(folder, check)
    backend = open_model(folder, 1)
    rows = range(len(expected))
    answers = [backend.run({name: a[i : i + 1] for name, a in arrays.items()}) for i in rows]
    found = np.concatenate([next(iter(answer.values())) for answer in answers])
    margin, margin_expected = found[:, 1] - found[:, 0], expected[:, 1] - expected[:, 0]
    return {
        "rms_logit_error": float(np.sqrt(((found - expected) ** 2).mean())),
        "correlation": float(np.corrcoef(margin, margin_expected)[0, 1]) if margin.std() else 0.0,
    }


def peers_markdown(ratios: list[Json], answers: Mapping[str, Mapping[str, float]], threads: int) -> str:
    """The ratios first, then what each file's answers are worth."""
    compared = [
        [row["candidate"], row["base"], row["figure"], with_interval(row["ratio"], row["interval"], 3)]
        for row in ratios
    ]
    worth = [
        [name, f"{found['rms_logit_error']:.2g}", f"{found['correlation']:.4f}"]
        for name, found in answers.items()
    ]
    return f"""# MobileBERT beside the other converters, {threads} thread(s)

One state dict (24.6M parameters, published shape, seeded weights), 128 tokens, batch 1, one run.

{table(["time or memory of", "relative to", "of", "ratio [98% interval]"], compared)}

{table(["", "rms logit error against PyTorch", "correlation of the margin"], worth)}
"""


if __name__ == "__main__":
    run(main)
