"""What scoring many pairs in one call saves: `rank` beside single calls, both orders beside one.

    python -m studies.latency.batch_scoring artefacts/matcher-onnx --out batch-scoring.json

One thread, from texts to scores. A query is ranked against 32 texts by one `rank` and by 32 calls of `score`,
and each of 32 pairs is scored in one order and in both (`symmetric`), a call each. The ways take turns on the
same texts, forwards and backwards; a ratio is that of two times of the same query.
"""

import platform
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument, Option

from android_bench.measuring import machine, statistics
from mobilebert_export import samples
from mobilebert_matching.data.pairs import read_text_pairs
from mobilebert_runtime.files import write_json
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.tokenizer import Pair
from studies.common.records import check_outputs
from studies.common.script import Force, command_line, run

CANDIDATES = 32
MOST_PAIRS = 224  # as many as are bundled


def ways(matcher: Matcher, query: str, texts: list[str]) -> dict[str, Callable[[], Any]]:
    """What is timed, by name, for one query and its texts."""
    return {
        "single calls": lambda: [matcher.score([(query, text)]) for text in texts],
        "rank": lambda: matcher.rank(query, texts),
        "symmetric": lambda: [matcher.score([(query, text)], symmetric=True) for text in texts],
    }


def time_ways(matcher: Matcher, pairs: Sequence[Pair], queries: int) -> dict[str, np.ndarray]:
    """Milliseconds of each way, (queries,): queries are first texts, the texts ranked second ones."""
    texts = [b for _, b in pairs[:CANDIDATES]]
    took: dict[str, list[float]] = {}
    for turn in range(queries + 1):
        chosen = ways(matcher, pairs[turn % len(pairs)][0], texts)
        for name in chosen if turn % 2 == 0 else reversed(chosen):
            started = time.perf_counter()
            chosen[name]()
            took.setdefault(name, []).append(1000 * (time.perf_counter() - started))
    return {name: np.array(times[1:]) for name, times in took.items()}  # the first turn warms up


def resident_mib() -> float:
    """Memory of this process that is in RAM, by Linux's count."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def summary(took: dict[str, np.ndarray]) -> dict[str, Any]:
    """Median times, and their ratios to single calls in one order, with 98% intervals."""
    found: dict[str, Any] = {}
    for name, times in took.items():
        low, high = statistics.ratio_interval(took["single calls"], times)
        found[name] = {
            "ms": float(np.median(times)),
            "ratio": float(statistics.ratio(took["single calls"], times)),
            # With fewer than seven queries there is none.
            "interval": (float(low), float(high)) if np.isfinite(high) else None,
        }
    return found


def main(
    artefacts: Annotated[list[Path], Argument(help="Matchers' artefact folders.")],
    out: Annotated[Path, Option(help="The record, a JSON file.")],
    data: Annotated[
        Path | None, Option("--pairs", help="Texts to score; default: the bundled pairs, some of them long.")
    ] = None,
    queries: Annotated[int, Option(min=1, help="Queries, each with 32 texts.")] = 40,
    force: Force = False,
) -> None:
    """Time `rank` and `symmetric` beside single calls."""
    check_outputs(out, force=force)
    pairs = samples.verification_pairs() if data is None else read_text_pairs(data)[:MOST_PAIRS]
    rows: dict[str, Any] = {}
    for folder in artefacts:
        before = resident_mib()
        matcher = Matcher.load(folder)
        loaded = resident_mib() - before
        taken = time_ways(matcher, pairs, queries)
        tokens = [len(ids) for ids, _ in matcher.tokenizer.ids(pairs, matcher.card.seq_len)]
        rows[folder.name] = {
            "runtime": matcher.backend.name,
            "quant": matcher.card.quant,
            "inputs_in_one_call": matcher.backend.most_rows,
            "packed": matcher.backend.packed and asdict(matcher.backend.packed.shape),
            "model_bytes": (folder / matcher.card.model_file).stat().st_size,
            # Of the process; exact for the first artefact alone, as later ones reuse what it gave back.
            "resident_mib": {"loaded": round(loaded, 1), "run": round(resident_mib() - before, 1)},
            "tokens_quartiles": np.quantile(tokens, (0.25, 0.5, 0.75)).tolist(),
            "ways": summary(taken),
        }
    about = {"command": command_line(), "python": platform.python_version(), "machine": machine.describe()}
    settings = {"queries": queries, "texts": CANDIDATES, "threads": 1}
    write_json(out, about | settings | {"artefacts": rows})
    for name, row in rows.items():
        for way, found in row["ways"].items():
            sys.stdout.write(f"{name:30} {way:14} {found['ms']:8.2f} ms, × {found['ratio']:.3f}\n")


if __name__ == "__main__":
    run(main)
