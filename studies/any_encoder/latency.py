"""Latency of all files of one or several accuracy records: 128 tokens, the files in turn in one process.

    R=results/any_encoder; python -m studies.any_encoder.latency $R/minilm.json --out $R/latency.json

Nothing else may run on the machine.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument, Option

from android_bench.measuring.machine import describe
from mobilebert_runtime.artefact import ArtefactModel, load
from mobilebert_runtime.files import write_json
from studies.common.records import check_outputs, read_json
from studies.common.script import Force, Threads, command_line, console, run

CALLS = 10  # of one file before the next has its turn
TOKENS = 128
TOKEN = 1037  # any that is no special token


def main(
    records: Annotated[list[Path], Argument(help="Records of studies.any_encoder.accuracy.")],
    out: Annotated[Path, Option(help="JSON file of the times.")],
    rounds: Annotated[
        int, Option(min=1, help="Turns of each file; the median is of their single runs.")
    ] = 15,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Time the files of each record and write medians and raw samples, in milliseconds."""
    check_outputs(out, force=force)
    found: dict[str, Any] = {}
    for record in records:
        console().print(f"{record.stem}: latency")
        read = read_json(record)
        folders = {name: Path(read["artefacts"]) / name for name in read["files"]}
        found[record.stem] = {
            name: {"p50_ms": round(float(np.median(times)), 3), "raw_ms": np.round(times, 3).tolist()}
            for name, times in latencies(folders, threads, rounds).items()
        }
    facts = {"command": command_line(), "machine": describe(), "threads": threads, "tokens": TOKENS}
    write_json(out, facts | {"models": found})


def latencies(folders: dict[str, Path], threads: int, rounds: int) -> dict[str, np.ndarray]:
    """Milliseconds of single runs, the files in turn, (rounds · CALLS,) by name."""
    artefacts = {name: load(folder, threads) for name, folder in folders.items()}
    times: dict[str, list[float]] = {name: [] for name in folders}
    for turn in range(rounds + 1):  # the first warms up
        for name, artefact in artefacts.items():
            inputs = full_row(artefact)
            for _ in range(CALLS):
                began = time.perf_counter()
                artefact.backend.run(inputs)
                if turn:
                    times[name].append(1e3 * (time.perf_counter() - began))
    return {name: np.array(found) for name, found in times.items()}


def full_row(artefact: ArtefactModel) -> dict[str, np.ndarray]:
    """Inputs of 128 tokens without padding, int32 (1, 128) each."""
    ids = np.full((1, TOKENS), TOKEN, np.int32)
    rows = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    return {name: rows[name] for name in artefact.card.inputs}


if __name__ == "__main__":
    run(main)
