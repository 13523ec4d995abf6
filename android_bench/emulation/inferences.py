"""What is watched in emulation: open an artefact, run its first input twice, mark where an inference ends.

    python inferences.py ARTEFACT INPUTS.npz

Prints where the runtime's code lies in memory. The mark is a system call that the emulator writes into its
trace; nothing else asks for that name.
"""

import os
import sys
from pathlib import Path

import numpy as np

from android_bench.measuring.external_model import open_model

MARK = "/mobilebert-inference-ends"
# Whose instructions are the runtime's; Python's and numpy's are not counted.
LIBRARIES = ("ai_edge_litert", "onnxruntime")


def main(folder: Path, inputs: Path) -> None:
    """Run the input twice."""
    backend = open_model(folder, 1)
    feed = {name: array[:1] for name, array in np.load(inputs).items()}
    for _ in range(2):
        backend.run(feed)
        os.access(MARK, os.F_OK)
    with Path("/proc/self/maps").open() as maps:
        sys.stdout.writelines(
            line for line in maps if " r-xp " in line and any(name in line for name in LIBRARIES)
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
