"""How many instructions the runtime executes for one inference, counted by valgrind's callgrind.

A second opinion that noise cannot touch: two counts of one artefact differed by 0.0003% on a busy machine. It
is not time (a cache miss counts as one instruction, and valgrind offers AVX2 but no AVX-512 to the kernels),
so the gate reads only its change. The kernels' names make it an operator profile as well.
"""

import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from android_bench.measuring.external_model import open_model
from android_bench.measuring.latency import BenchError, Pairs, encode
from android_bench.measuring.rounds import run_program
from android_bench.measuring.sample_pairs import PAIRS

# Instructions inside these packages' libraries are the runtime's; Python's and numpy's are not counted.
RUNTIME_LIBRARIES = ("ai_edge_litert", "tflite_runtime", "onnxruntime")
# `callgrind_annotate` prints "1,234 (5.6%)  file:function [library]", one line per function.
_LINE = re.compile(r"^\s*([\d,]+) \([^)]*\)\s+\S*?:(?P<function>.+?)(?:'\d+)? \[(?P<library>.+)\]$")
LIMIT_S = 3600.0


@dataclass(frozen=True)
class InstructionCount:
    """Instructions of the runtime's own code, one thread."""

    inference: int
    load: int  # opening the model and its first inference, less one later inference
    kernels: dict[str, int]  # function → instructions of one inference, largest first

    def to_json(self) -> dict[str, object]:
        """Plain data with the twenty largest kernels."""
        return {
            "inference": self.inference,
            "load": self.load,
            "kernels": dict(list(self.kernels.items())[:20]),
        }


def count_instructions(folder: Path, pairs: Pairs = PAIRS[:1]) -> InstructionCount:
    """Count one inference of an artefact: a run with two inferences minus a run with one (minutes each).

    Raises:
        BenchError: valgrind is not installed.
        MeasurementError: the runtime cannot run under valgrind; the message says why.
    """
    for tool in ("valgrind", "callgrind_annotate"):
        if not shutil.which(tool):
            raise BenchError(
                f"{tool} is not installed: apt-get install valgrind, or leave out instruction counts"
            )
    with tempfile.TemporaryDirectory() as scratch:
        inputs = Path(scratch) / "inputs.npz"
        np.savez(inputs, **encode(folder, pairs))  # type: ignore[arg-type]
        once, twice = (_profile(folder, inputs, count) for count in (1, 2))
    kernels = Counter(twice)
    kernels.subtract(once)
    steady = {function: count for function, count in kernels.most_common() if count > 0}
    inference = sum(twice.values()) - sum(once.values())
    return InstructionCount(inference, sum(once.values()) - inference, steady)


def run_inferences(folder: Path, inputs: Path, count: int) -> None:
    """What valgrind watches: open the artefact, run its first input `count` times."""
    backend = open_model(folder, 1)
    feed = {name: array[:1] for name, array in np.load(inputs).items()}
    for _ in range(count):
        backend.run(feed)


def read_profile(text: str) -> Counter[str]:
    """Function → instructions from `callgrind_annotate`'s page, functions of a runtime's libraries only."""
    counts: Counter[str] = Counter()
    for line in text.splitlines():
        found = _LINE.match(line)
        if found and any(library in found["library"] for library in RUNTIME_LIBRARIES):
            counts[found["function"]] += int(found[1].replace(",", ""))
    return counts


def _profile(folder: Path, inputs: Path, count: int) -> Mapping[str, int]:
    profile = inputs.with_name(f"callgrind.{count}")
    command = [
        *("valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"),
        *(
            sys.executable,
            "-P",
            "-m",
            "android_bench.profiling.instructions",
            str(folder),
            str(inputs),
            str(count),
        ),
    ]
    # One thread everywhere and a fixed hash seed: the same instructions each time.
    quiet = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    run_program(command, os.environ | quiet, f"{folder}: {command[0]}", LIMIT_S)
    annotate = ["callgrind_annotate", "--threshold=100", str(profile)]
    page = run_program(annotate, os.environ, f"{folder}: {annotate[0]}", LIMIT_S)
    return read_profile(page)


if __name__ == "__main__":
    run_inferences(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
