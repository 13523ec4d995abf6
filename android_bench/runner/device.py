"""The bundle's program, run on the device: one session or a list of scores, written as checked JSON.

    python -m android_bench.runner.device TASK.json

The task names an artefact folder and where the result goes. The last line of standard output is
`MOBILEBERT-END nonce sha256-of-the-result`: without it, or with another hash, a run did not happen. A shell
over adb reports success when the device disappears, so its exit code proves nothing.
"""

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from android_bench.measuring import machine, worker
from mobilebert_runtime.artefact import read_tokenizer
from mobilebert_runtime.artefact_files import read_files
from mobilebert_runtime.card import check_checksums, read_card
from mobilebert_runtime.matcher import Matcher, positive_probability

SENTINEL = "MOBILEBERT-END"


def run(task: dict[str, Any]) -> dict[str, Any]:
    """Do a task and return its result.

    Args:
        task: `action` "session" (with `mode`, `seconds`: see `worker.session`) or "match"; `folder`, the
            artefact; `pairs`; `threads`; `cores`, "all" or "fast".

    Returns:
        `record` (a session's) or `scores`, `logits` and `labels` of the pairs; `cores`, in use; `device`, see
        `machine.describe`; `checksums`, the SHA-256 of the artefact's SHA256SUMS, whose files were compared.
    """
    folder = Path(task["folder"])
    check_checksums(folder)
    result: dict[str, Any] = {
        "checksums": hashlib.sha256((folder / "SHA256SUMS").read_bytes()).hexdigest(),
        "cores": use_cores(task["cores"]),
        "device": machine.describe(),
    }
    pairs = [(a, b) for a, b in task["pairs"]]
    if task["action"] == "match":
        matcher = Matcher.load(folder, task["threads"])
        logits = matcher.logits(pairs)
        scores = [
            float(score) for score in positive_probability(logits, matcher.card, matcher.card.shift(pairs))
        ]
        labels = [matcher.label(score) for score in scores]
        return result | {"scores": scores, "labels": labels, "logits": logits.tolist()}
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        inputs: Any = pairs
        if task["mode"] == "padded":
            inputs = str(Path(scratch) / "inputs.npz")
            card = read_card(folder)
            encoded: dict[str, Any] = dict(read_tokenizer(read_files(folder)).encode(pairs, card.seq_len))
            np.savez(inputs, **encoded)
        work = {"slowdown": 0.0, **task, "inputs": inputs}
        return result | {"record": worker.session(work)}


def use_cores(which: str) -> list[int]:
    """Pin this process to "all" cores or the "fast" ones (above the slowest clock); the cores in use.

    Phones mix slow and fast cores. Where all clocks are alike or unknown, "fast" means all.
    """
    cores = sorted(os.sched_getaffinity(0))
    if which == "fast":
        clocks = {core: _max_khz(core) for core in cores}
        fast = [core for core in cores if clocks[core] > min(clocks.values())]
        if fast:
            os.sched_setaffinity(0, fast)
            return fast
    return cores


def _max_khz(core: int) -> int:
    try:
        return int(Path(f"/sys/devices/system/cpu/cpu{core}/cpufreq/cpuinfo_max_freq").read_text())
    except (OSError, ValueError):
        return 0


def main() -> int:
    """Do the task of the file named on the command line; an expected error is one line, exit 2."""
    task = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        result = run(task)
    except Exception as error:
        if not hasattr(error, "exit_code"):
            raise
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 2
    answer = json.dumps({"nonce": task["nonce"], **result}).encode()
    out = Path(task["out"])
    part = out.with_suffix(".part")
    part.write_bytes(answer)
    part.rename(out)
    sys.stdout.write(f"\n{SENTINEL} {task['nonce']} {hashlib.sha256(answer).hexdigest()}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
