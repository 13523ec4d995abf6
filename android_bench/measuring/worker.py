"""One measured session in its own process: load, first inference, warm-up, steady inferences in turns.

The parent writes JSON lines to standard input (the task, then one line a turn, then null) and reads a JSON
line for each: true when the model is warm, true after a turn, at the end the record. A fresh process per
session makes load time, peak memory and the luck of memory layout part of what is measured. Imports what an
application that runs an artefact imports, and nothing else.
"""

import importlib
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

from android_bench.measuring.external_model import describe, open_model
from android_bench.measuring.machine import Watch, peak_mib, resident_mib
from mobilebert_runtime.matcher import Matcher

# Warm-up is over when two neighbouring windows have the same median within this share ...
WARM_TOLERANCE = 0.03
# ... a window being at least this many inferences and this long (s); after this long (s) it is given up.
WINDOW_RUNS, WINDOW_S, WARM_LIMIT_S = 5, 0.04, 5.0
# A session has at least this many steady inferences, however slow the model.
MIN_STEADY = 10
# Imported before the clock of `init_ms` starts; its own time is `import_ms`.
RUNTIME_MODULES = {
    "tflite": ("ai_edge_litert.interpreter", "tflite_runtime.interpreter"),
    "onnx": ("onnxruntime",),
}

Call = Callable[[Any], Any]


class Measurement:
    """A loaded, warm model that measures in turns.

    Args:
        task: `folder` (artefact); `threads`; `mode`, "padded" (the network alone on encoded pairs), "mix" (a
            pass over pairs encoded in several lengths) or "text" (tokenise, run, softmax); `inputs`, a .npz
            of (N, S) arrays by input name (of a mix, of (1, S) by NUMBER/NAME) or, for "text", a list of
            pairs; `slowdown`, a share of each inference burnt on top (gate tests).
    """

    def __init__(self, task: dict[str, Any]) -> None:
        folder, text = Path(task["folder"]), task["mode"] == "text"
        inputs: list[Any] = [[tuple(pair)] for pair in task["inputs"]] if text else _rows(task["inputs"])
        self.import_ms = _import_runtime(describe(folder).target)
        self.base_mib = resident_mib()
        self.steady_ms: list[float] = []
        self.watch = Watch()
        with self.watch:
            start = time.perf_counter()
            call: Call
            if text:
                matcher = Matcher.load(folder, task["threads"])
                self.backend, call = matcher.backend, matcher.score
            else:
                self.backend = open_model(folder, task["threads"])
                call = run = self.backend.run
                if task["mode"] == "mix":
                    inputs = [inputs]  # all of them are one turn

                    def call(rows: list[Any]) -> None:
                        for row in rows:
                            run(row)

            self.init_ms = 1e3 * (time.perf_counter() - start)
            self.timed = _timed(call, inputs, task["slowdown"])
            self.first_ms = self.timed()
            self.warmup_ms, self.converged = _warm_up(self.timed)

    def turn(self, seconds: float, runs: int) -> None:
        """Measure for this long, and at least this many inferences."""
        with self.watch:
            enough, until = len(self.steady_ms) + runs, time.perf_counter() + seconds
            while len(self.steady_ms) < enough or time.perf_counter() < until:
                self.steady_ms.append(self.timed())

    def record(self) -> dict[str, Any]:
        """What was measured.

        Times in ms (`import_ms`, `init_ms`, `first_ms`, ordered `warmup_ms` and `steady_ms`), `converged`,
        memory in MiB (`base_mib` before the model, `peak_mib`), the `runtime` with its version, and how the
        `machine` behaved while this process was at work.
        """
        return {
            "import_ms": round(self.import_ms, 3),
            "init_ms": round(self.init_ms, 3),
            "first_ms": round(self.first_ms, 4),
            "warmup_ms": [round(ms, 4) for ms in self.warmup_ms],
            "converged": self.converged,
            "steady_ms": [round(ms, 4) for ms in self.steady_ms],
            "base_mib": round(self.base_mib, 2),
            "peak_mib": round(peak_mib(), 2),
            "runtime": f"{self.backend.name} {importlib.metadata.version(self.backend.name)}",
            "machine": self.watch.facts(),
        }


def session(task: dict[str, Any]) -> dict[str, Any]:
    """A whole session in one turn of `task["seconds"]`: on a phone, where processes do not take turns."""
    measurement = Measurement(task)
    measurement.turn(task["seconds"], MIN_STEADY)
    return measurement.record()


def _rows(path: str) -> list[dict[str, np.ndarray]]:
    """(N, S) arrays, or (1, S) by NUMBER/NAME → N inputs of batch 1."""
    arrays = dict(np.load(path))
    if all("/" in name for name in arrays):
        mixed: dict[str, dict[str, np.ndarray]] = {}
        for name, array in arrays.items():
            number, _, own = name.partition("/")
            mixed.setdefault(number, {})[own] = array
        return list(mixed.values())
    return [
        {name: a[i : i + 1] for name, a in arrays.items()} for i in range(len(next(iter(arrays.values()))))
    ]


def _import_runtime(target: str) -> float:
    """Import the first runtime installed for the target; ms it took. None at all: `open_backend` says so."""
    start = time.perf_counter()
    for module in RUNTIME_MODULES[target]:
        try:
            importlib.import_module(module)
            break
        except ModuleNotFoundError:
            continue
    return 1e3 * (time.perf_counter() - start)


def _timed(call: Call, inputs: list[Any], slowdown: float) -> Callable[[], float]:
    """A function that runs the next input and returns its time in ms, with `slowdown` of it burnt on top."""
    turn = 0

    def once() -> float:
        nonlocal turn
        value = inputs[turn % len(inputs)]
        turn += 1
        start = time.perf_counter()
        call(value)
        end = time.perf_counter()
        until = end + slowdown * (end - start)
        while end < until:
            end = time.perf_counter()
        return 1e3 * (end - start)

    return once


def _warm_up(timed: Callable[[], float]) -> tuple[list[float], bool]:
    """Run window after window until two neighbours agree (True) or the time for it is over (False)."""
    samples: list[float] = []
    previous = float("inf")
    until = time.perf_counter() + WARM_LIMIT_S
    while time.perf_counter() < until:
        window: list[float] = []
        end = time.perf_counter() + WINDOW_S
        while len(window) < WINDOW_RUNS or time.perf_counter() < end:
            window.append(timed())
        samples += window
        median = statistics.median(window)
        if abs(median / previous - 1) <= WARM_TOLERANCE:
            return samples, True
        previous = median
    return samples, False


def main() -> None:
    """Answer line by line. Whatever the runtime prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(value: Any) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    measurement = Measurement(json.loads(sys.stdin.readline()))
    answer(True)
    for turn in map(json.loads, sys.stdin):
        if turn is None:
            answer(measurement.record())
            return
        measurement.turn(turn["seconds"], turn["runs"])
        answer(True)


if __name__ == "__main__":
    main()
