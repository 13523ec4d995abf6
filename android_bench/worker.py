"""One measured session, in a process of its own: load, first inference, warm-up, steady inferences.

The parent writes one JSON task to standard input and reads one JSON record from standard output. A fresh process per
session makes load time, peak memory and the luck of memory layout part of what is measured, session by session.
Imports only the standard library, numpy and the runtime under test.
"""

import importlib.metadata
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from android_bench.machine import Watch, peak_mib, resident_mib

# Warm-up is over when two neighbouring windows have the same median within this share ...
WARM_TOLERANCE = 0.03
# ... a window being this many inferences and at least this long (ms), and warm-up is given up after this long (s).
WINDOW_RUNS, WINDOW_MS, WARM_LIMIT_S = 5, 40.0, 5.0
MIN_STEADY = 10

Feeds = list[dict[str, np.ndarray]]
Invoke = Callable[[dict[str, np.ndarray]], np.ndarray]


def session(task: dict[str, Any]) -> dict[str, Any]:
    """Measure one session.

    Args:
        task: `folder` (artefact), `runtime` ("litert", "tflite-runtime" or "onnxruntime"), `threads`, `seconds` of
            steady measurement, `inputs` (.npz with int32 (N, S) arrays), `slowdown` (share of each inference burnt
            on top, to test the gate; 0 normally).

    Returns:
        Times in ms (`import_ms`, `init_ms`, `first_ms`, ordered `warmup_ms` and `steady_ms`), `converged`, memory in
        MiB (`base_mib` before the model, `peak_mib`), the `runtime` version and the machine's behaviour.
    """
    arrays = np.load(task["inputs"])
    count = len(arrays[arrays.files[0]])
    feeds: Feeds = [{name: arrays[name][row : row + 1] for name in arrays.files} for row in range(count)]
    start = time.perf_counter()
    opener, version = RUNTIMES[task["runtime"]]()
    import_ms = 1e3 * (time.perf_counter() - start)
    base = resident_mib()

    watch = Watch()
    start = time.perf_counter()
    invoke = opener(Path(task["folder"]), task["threads"])
    init_ms = 1e3 * (time.perf_counter() - start)
    timed = _timed(invoke, feeds, task["slowdown"])
    first_ms = timed()
    warmup, converged = _warm_up(timed)
    steady: list[float] = []
    until = time.perf_counter() + task["seconds"]
    while len(steady) < MIN_STEADY or time.perf_counter() < until:
        steady.append(timed())
    return {
        "import_ms": round(import_ms, 3),
        "init_ms": round(init_ms, 3),
        "first_ms": round(first_ms, 4),
        "warmup_ms": [round(ms, 4) for ms in warmup],
        "converged": converged,
        "steady_ms": [round(ms, 4) for ms in steady],
        "base_mib": round(base, 2),
        "peak_mib": round(peak_mib(), 2),
        "runtime": version,
        "machine": watch.stop(),
    }


def _timed(invoke: Invoke, feeds: Feeds, slowdown: float) -> Callable[[], float]:
    """A function that runs the next input and returns its time in ms, with `slowdown` of it burnt on top."""
    turn = 0

    def once() -> float:
        nonlocal turn
        feed = feeds[turn % len(feeds)]
        turn += 1
        start = time.perf_counter()
        invoke(feed)
        end = time.perf_counter()
        until = end + slowdown * (end - start)
        while slowdown and end < until:
            end = time.perf_counter()
        return 1e3 * (end - start)

    return once


def _warm_up(timed: Callable[[], float]) -> tuple[list[float], bool]:
    """Run until two neighbouring windows agree (True) or the time for it is over (False)."""
    samples: list[float] = []
    until = time.perf_counter() + WARM_LIMIT_S
    while time.perf_counter() < until:
        samples.append(timed())
        runs = max(WINDOW_RUNS, round(WINDOW_MS / statistics.median(samples[-WINDOW_RUNS:])))
        if len(samples) >= 2 * runs:
            before, now = statistics.median(samples[-2 * runs : -runs]), statistics.median(samples[-runs:])
            if abs(now / before - 1) <= WARM_TOLERANCE:
                return samples, True
    return samples, False


Opener = Callable[[Path, int], Invoke]


def _litert() -> tuple[Opener, str]:
    from ai_edge_litert.interpreter import Interpreter

    return _tflite_opener(Interpreter), f"ai-edge-litert {importlib.metadata.version('ai-edge-litert')}"


def _tflite_runtime() -> tuple[Opener, str]:
    from tflite_runtime.interpreter import Interpreter

    return _tflite_opener(Interpreter), f"tflite-runtime {importlib.metadata.version('tflite-runtime')}"


def _onnxruntime() -> tuple[Opener, str]:
    import onnxruntime

    def opener(folder: Path, threads: int) -> Invoke:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        model = folder / _io(folder)["model_file"]
        run = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        kinds = {entry.name: np.dtype(entry.type[7:-1]) for entry in run.get_inputs()}  # "tensor(int64)" → int64
        return lambda feed: run.run(None, {name: feed[name].astype(kind) for name, kind in kinds.items()})[0]

    return opener, f"onnxruntime {onnxruntime.__version__}"


def _tflite_opener(interpreter_class: Any) -> Opener:
    def opener(folder: Path, threads: int) -> Invoke:
        io = _io(folder)
        interpreter = interpreter_class(str(folder / io["model_file"]), num_threads=threads)
        interpreter.allocate_tensors()
        slots = _input_slots(interpreter, [entry["name"] for entry in io["inputs"]])
        output = interpreter.get_output_details()[0]["index"]

        def invoke(feed: dict[str, np.ndarray]) -> np.ndarray:
            for name, (index, kind) in slots.items():
                interpreter.set_tensor(index, feed[name].astype(kind))
            interpreter.invoke()
            return interpreter.get_tensor(output)

        return invoke

    return opener


def _input_slots(interpreter: Any, names: list[str]) -> dict[str, tuple[int, Any]]:
    """Input name → (tensor index, dtype); by signature where the model has one, else by the order in io.json."""
    details = interpreter.get_input_details()
    for key, signature in interpreter.get_signature_list().items():
        if set(names) == set(signature["inputs"]):
            by_name = interpreter.get_signature_runner(key).get_input_details()
            return {name: (by_name[name]["index"], by_name[name]["dtype"]) for name in names}
    return {name: (entry["index"], entry["dtype"]) for name, entry in zip(names, details, strict=True)}


def _io(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "io.json").read_text(encoding="utf-8"))


RUNTIMES: dict[str, Callable[[], tuple[Opener, str]]] = {
    "litert": _litert,
    "tflite-runtime": _tflite_runtime,
    "onnxruntime": _onnxruntime,
}


def main() -> None:
    """Read a task, print a record. Whatever the runtime prints goes to standard error."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    json.dump(session(json.load(sys.stdin)), answer)
    answer.flush()


if __name__ == "__main__":
    main()
