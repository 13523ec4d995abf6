"""How fast and in how much memory `mobilebert audit` reads a file larger than one would keep in memory.

    python -m studies.latency.audit_speed --rows 5000000 --out results/length_bias/audit-speed.json

The file is synthetic: words drawn from a seeded vocabulary, 3 to 30 a text, about one pair in three positive.
"""

import json
import multiprocessing
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import numpy as np
from typer import Option

from mobilebert_runtime.files import write_json
from studies.common.script import run

CHUNK = 100_000  # rows written at a time


def write_pairs(path: Path, rows: int, seed: int = 0) -> None:
    """A TSV of `rows` labelled pairs."""
    rng = np.random.default_rng(seed)
    words = np.array(["".join(rng.choice(list("etaoinshrdlu"), rng.integers(2, 9))) for _ in range(5_000)])
    with path.open("w", encoding="utf-8") as file:
        file.write("label\ttext_a\ttext_b\n")
        for start in range(0, rows, CHUNK):
            count = min(CHUNK, rows - start)
            labels = rng.random(count) < 1 / 3
            lengths = rng.integers(3, 31, (count, 2))
            drawn = words[rng.integers(0, len(words), int(lengths.sum()))]
            stops = np.cumsum(lengths.ravel())
            texts = [" ".join(drawn[a:b]) for a, b in zip([0, *stops[:-1]], stops, strict=True)]
            file.writelines(
                f"{int(label)}\t{a}\t{b}\n"
                for label, a, b in zip(labels, texts[::2], texts[1::2], strict=True)
            )


def main(
    out: Annotated[Path, Option(help="The record.")],
    rows: Annotated[int, Option(min=1, help="Rows of the file.")] = 5_000_000,
) -> None:
    """Write the file, audit it in a process of its own, record seconds and peak memory."""
    with tempfile.TemporaryDirectory() as scratch:
        pairs, report = Path(scratch) / "pairs.tsv", Path(scratch) / "audit.json"
        # In another process: a child's peak memory counts from that of the process that starts it.
        writer = multiprocessing.get_context("spawn").Process(target=write_pairs, args=(pairs, rows))
        writer.start()
        writer.join()
        if writer.exitcode:
            raise SystemExit(f"writing {rows:,} rows failed")
        command = [sys.executable, "-m", "mobilebert_export", "audit", str(pairs), "--json", str(report)]
        load = os.getloadavg()[0]
        started = time.monotonic()
        subprocess.run(command, check=True)
        seconds = time.monotonic() - started
        record = {
            "rows": rows,
            "bytes": pairs.stat().st_size,
            "seconds": round(seconds, 2),
            "peak_mib": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, 1),
            "cores": os.cpu_count(),
            "load_before": round(load, 2),
            "python": platform.python_version(),
            "counted": sum(
                c["positive"] + c["negative"] for c in json.loads(report.read_text())["categories"]
            ),
        }
    write_json(out, record)
    sys.stdout.write(f"{json.dumps(record)}\n")


if __name__ == "__main__":
    run(main)
