"""Where an inference spends its time: milliseconds by kind of operator, told by the runtimes' own profilers.

A .tflite file is profiled by LiteRT (android_bench/profiling/litert_profiler.py), inside XNNPACK's
partitions too; a .onnx file by ONNX Runtime's `enable_profiling`. The kinds are the runtime's: after fusing
and delegation, not those of the file. Timing every operator costs something; the same inferences without it
are given beside.
"""

import importlib.metadata
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from android_bench.measuring.external_model import describe
from android_bench.measuring.latency import encode
from android_bench.measuring.rounds import run_program
from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_runtime.backends import onnx_options

WARM_UP, RUNS = 10, 30
LIMIT_S = 300.0
# Of one inference: operator kind, whether a delegate ran it, ms.
Operators = Iterable[tuple[str, bool, float]]


@dataclass(frozen=True)
class Row:
    """All operators of one kind in one inference."""

    kind: str
    delegated: bool  # run by XNNPACK inside a partition
    count: int
    ms: float  # sum over the kind's operators of the median over inferences
    share: float  # of the sum over all kinds


@dataclass(frozen=True)
class Profile:
    """An operator profile; rows by descending time."""

    runtime: str
    threads: int
    plain_ms: float  # median inference with the profiler off
    profiled_ms: float  # and with it on
    rows: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def profile(folder: Path, threads: int = 1) -> Profile:
    """Profile an artefact folder or a bare model in a fresh process, on inputs padded to its length.

    Raises:
        ArtefactError: the folder is neither.
        MeasurementError: the runtime could not be profiled; the message says why.
    """
    with tempfile.TemporaryDirectory() as scratch:
        arrays, answer = Path(scratch) / "inputs.npz", Path(scratch) / "profile.json"
        np.savez(arrays, **encode(folder, PAIRS))  # type: ignore[arg-type]
        command = [
            sys.executable,
            "-P",
            "-m",
            "android_bench.profiling.operator_profile",
            str(folder.resolve()),
            str(arrays),
            str(threads),
            str(answer),
        ]
        run_program(command, os.environ, f"{folder}: its profile", LIMIT_S)
        found = json.loads(answer.read_text(encoding="utf-8"))
    return Profile(**{**found, "rows": tuple(Row(**row) for row in found["rows"])})


def summarise(runs: Iterable[Operators]) -> tuple[Row, ...]:
    """The operators of several inferences, in the order they ran → a row per kind.

    The median is taken for each operator before operators are added: interruptions then change none, though
    every inference may have one somewhere.

    Raises:
        ValueError: the inferences did not run the same operators.
    """
    sums: defaultdict[tuple[str, bool], float] = defaultdict(float)
    counts: Counter[tuple[str, bool]] = Counter()
    for operator in zip(*runs, strict=True):
        key = operator[0][:2]
        sums[key] += statistics.median(ms for _, _, ms in operator)
        counts[key] += 1
    # Operators of a few multiplications may all be shorter than the profiler's microsecond.
    total = sum(sums.values()) or 1.0
    rows = [Row(*key, counts[key], round(ms, 4), round(ms / total, 4)) for key, ms in sums.items()]
    return tuple(sorted(rows, key=lambda row: -row.ms))


def run(folder: Path, arrays: Path, threads: int) -> Profile:
    """What the process does: run the model `RUNS` times with the profiler and as often without."""
    found = describe(folder)
    loaded = np.load(arrays)
    count = len(loaded[loaded.files[0]])
    rows = [{name: loaded[name][n : n + 1] for name in loaded.files} for n in range(count)]
    measure = _profile_tflite if found.target == "tflite" else _profile_onnx
    return measure(folder / found.model_file, found.seq_len, rows, threads)


def _profile_tflite(model: Path, seq_len: int, rows: list[dict[str, Any]], threads: int) -> Profile:
    from android_bench.profiling.litert_profiler import ProfiledModel

    opened = ProfiledModel(model, seq_len, threads)
    _times(opened.run, rows, WARM_UP)
    plain, profiled, runs = [], [], []
    for number in range(RUNS):  # taking turns, so that both see the same machine
        row = rows[number % len(rows)]
        plain += _times(opened.run, [row], 1)
        start = time.perf_counter()
        runs.append(opened.profiled(row))
        profiled.append(1e3 * (time.perf_counter() - start))
    return _result("ai-edge-litert", threads, plain, profiled, summarise(runs))


def _profile_onnx(model: Path, _: int, rows: list[dict[str, Any]], threads: int) -> Profile:
    import onnxruntime

    def session(**extra: Any) -> Any:
        options = onnx_options(onnxruntime, threads)
        for name, value in extra.items():
            setattr(options, name, value)
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    with tempfile.TemporaryDirectory() as scratch:
        # One session after the other: the idle threads of two would spin against each other.
        plain = _times(partial(session().run, None), rows, WARM_UP + RUNS)
        watched = session(enable_profiling=True, profile_file_prefix=str(Path(scratch) / "trace"))
        profiled = _times(partial(watched.run, None), rows, WARM_UP + RUNS)
        trace = json.loads(Path(watched.end_profiling()).read_text(encoding="utf-8"))
    operators = summarise(list(read_trace(trace))[WARM_UP:])
    return _result("onnxruntime", threads, plain[WARM_UP:], profiled[WARM_UP:], operators)


def read_trace(trace: Iterable[Mapping[str, Any]]) -> Iterator[list[tuple[str, bool, float]]]:
    """ONNX Runtime's trace → the operators of each inference, found by the time that it spans."""
    events = [event for event in trace if "dur" in event]
    nodes = [event for event in events if str(event["name"]).endswith("_kernel_time")]
    for whole in (event for event in events if event["name"] == "model_run"):
        end = whole["ts"] + whole["dur"]
        yield [
            (str(node["args"]["op_name"]), False, node["dur"] / 1e3)
            for node in nodes
            if whole["ts"] <= node["ts"] < end
        ]


def _times(call: Callable[[Any], Any], rows: list[Any], count: int) -> list[float]:
    """The ms of `count` calls, row after row."""
    found = []
    for number in range(count):
        start = time.perf_counter()
        call(rows[number % len(rows)])
        found.append(1e3 * (time.perf_counter() - start))
    return found


def _result(
    runtime: str, threads: int, plain: list[float], profiled: list[float], rows: tuple[Row, ...]
) -> Profile:
    version = importlib.metadata.version(runtime)
    plain_ms, profiled_ms = (round(statistics.median(times), 4) for times in (plain, profiled))
    return Profile(f"{runtime} {version}", threads, plain_ms, profiled_ms, rows)


def main(folder: str, arrays: str, threads: str, answer: str) -> None:
    """Profile and write the result as JSON."""
    found = run(Path(folder), Path(arrays), int(threads))
    Path(answer).write_text(json.dumps(found.to_json()), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
