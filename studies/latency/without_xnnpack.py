"""MobileBERT's Table 7 with TFLite's own kernels: the same files with XNNPACK and without.

    python -m studies.latency.without_xnnpack artefacts/paper --out results/bench/table-7-without-xnnpack

The paper measured with TensorFlow Lite of 2020, which ran each operator with its own kernel. Today XNNPACK
takes over nearly all of them. What LayerNorm and GELU cost without it shows whether that is why the paper's
ratios are not found today.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.markdown import Markdown
from rich.progress import track
from typer import Argument, Option

from android_bench.measuring import machine, statistics
from android_bench.measuring.latency import encode
from mobilebert_export import samples
from mobilebert_runtime.files import write_json
from studies.common.markdown import table, with_interval
from studies.common.records import Json, check_outputs, write_text
from studies.common.script import Force, command_line, console, run
from studies.latency.paper_tables import find_table

WARM_UP = 3
KERNELS = {"XNNPACK": "BUILTIN", "TFLite's own": "BUILTIN_WITHOUT_DEFAULT_DELEGATES"}


def main(
    cache: Annotated[Path, Argument(help="Where `paper_table` made Table 7's networks.")],
    out: Annotated[Path, Option(help="Writes OUT.json and OUT.md.")],
    rounds: Annotated[int, Option(min=5, help="In each, every network and kernel runs once.")] = 40,
    force: Force = False,
) -> None:
    """Time the float files of Table 7 in turns, one thread; each network's ratio to NoNorm & ReLU."""
    paths = out.with_suffix(".json"), out.with_suffix(".md")
    check_outputs(*paths, force=force)
    rows = {row.name: row.label for row in find_table("7").rows}
    runs = {
        (kernels, name): _runner(cache / f"{name}-none", resolver)
        for kernels, resolver in KERNELS.items()
        for name in rows
    }
    samples_ms = interleaved(list(runs.values()), rounds)
    times = dict(zip(runs, samples_ms, strict=True))
    found = {
        kernels: {
            label: ratio(times[kernels, "mobilebert"], times[kernels, name]) for name, label in rows.items()
        }
        for kernels in KERNELS
    }
    here = machine.describe()
    about = {"command": command_line(), "machine": here, "threads": 1, "rounds": rounds}
    write_json(paths[0], about | {"ratios": found, "ms": [[*key, list(ms)] for key, ms in times.items()]})
    write_text(paths[1], page(found, here["cpu"], rounds))
    console().print(Markdown(page(found, here["cpu"], rounds)))


def _runner(folder: Path, resolver: str) -> Callable[[], None]:
    """One inference of a folder's model on the first bundled pair."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    model = Interpreter(
        str(folder / "model.tflite"),
        num_threads=1,
        experimental_op_resolver_type=getattr(OpResolverType, resolver),
    )
    run_signature = model.get_signature_runner()
    feed = {name: array[:1] for name, array in encode(folder, samples.calibration_pairs()[:1]).items()}
    return lambda: run_signature(**feed)


def interleaved(runs: Sequence[Callable[[], Any]], rounds: int) -> list[np.ndarray]:
    """Milliseconds of each, (rounds,) apiece: all run once in every round, in another order each time."""
    for one in runs:
        for _ in range(WARM_UP):
            one()
    found = np.zeros((len(runs), rounds))
    order = np.random.default_rng(0)
    for column in track(range(rounds), "Rounds"):
        for row in order.permutation(len(runs)):
            started = time.perf_counter()
            runs[row]()
            found[row, column] = 1000 * (time.perf_counter() - started)
    return list(found)


def ratio(base: np.ndarray, other: np.ndarray) -> Json:
    """Time of the other over the base's: `ratio` and its 98% `interval` over rounds, and `median_ms`."""
    low, high = statistics.ratio_interval(base, other)
    return {
        "ratio": float(statistics.ratio(base, other)),
        "interval": [float(low), float(high)],
        "median_ms": float(np.median(other)),
    }


def page(found: Json, cpu: str, rounds: int) -> str:
    """Table 7's ratios here, by kernels."""
    labels = list(next(iter(found.values())))
    lines = [
        [
            label,
            *(
                with_interval(found[kernels][label]["ratio"], found[kernels][label]["interval"], 2)
                for kernels in KERNELS
            ),
            *(f"{found[kernels][label]['median_ms']:.1f}" for kernels in KERNELS),
        ]
        for label in labels
    ]
    head = [
        "float",
        *(f"{kernels}, ratio" for kernels in KERNELS),
        *(f"{kernels}, ms" for kernels in KERNELS),
    ]
    how = (
        f"Time over NoNorm & ReLU's, random weights, 128 tokens, one thread of {cpu}, {rounds} rounds in "
        "turns in one process."
    )
    return f"# MobileBERT Table 7 with TFLite's own kernels\n\n{how}\n\n{table(head, lines)}\n"


if __name__ == "__main__":
    run(main)
