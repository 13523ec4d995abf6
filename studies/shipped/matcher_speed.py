"""How long each matcher takes for one pair, from two strings to a probability, as ratios to ours.

python -m studies.shipped.matcher_speed ../shared/data/qqp/test.tsv results/ship/speed.json \
    --matcher matcher-m=runs/matcher-m/model --matcher matcher-m.int8=artefacts/matcher-m-int8 \
    --matcher esim.original=runs/length_bias/qqp.esim.original.seed0/model \
    --cosine cosine-minilm-l6 --cosine cosine-paraphrase-l3=paraphrase-MiniLM-L3-v2.onnx

All matchers live in one process on one thread and take turns on the same pairs, a block at a time, forwards
and backwards, so that a change of the machine's speed meets all of them; a ratio is that of two times of the
same block. Each pair is a call of its own, as an application makes them.
"""

import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from typer import Argument, Option

from android_bench.measuring import machine, statistics
from mobilebert_matching.data.pairs import read_pairs
from mobilebert_matching.evaluation.perturbations import sample
from mobilebert_runtime.files import write_json
from studies.common.script import run
from studies.length_bias.evaluate import open_scorer
from studies.shipped.cosine_baseline import SentenceEncoder

Pair = tuple[str, str]
BLOCK = 16  # pairs of a turn: short beside the machine's drift
WARM_UP = 8


def time_all(
    score: dict[str, Callable[[Sequence[Pair]], Any]], pairs: Sequence[Pair]
) -> dict[str, np.ndarray]:
    """Milliseconds a pair of each matcher, (blocks,)."""
    for call in score.values():
        for pair in pairs[:WARM_UP]:
            call([pair])
    took: dict[str, list[float]] = {name: [] for name in score}
    for turn, start in enumerate(range(0, len(pairs), BLOCK)):
        block = pairs[start : start + BLOCK]
        for name in score if turn % 2 == 0 else reversed(score):
            started = time.perf_counter()
            for pair in block:
                score[name]([pair])
            took[name].append(1000 * (time.perf_counter() - started) / len(block))
    return {name: np.array(times) for name, times in took.items()}


def main(
    data: Annotated[Path, Argument(help="Pairs.")],
    out: Annotated[Path, Argument(help="The record.")],
    matcher: Annotated[list[str] | None, Option(help="NAME=model directory or artefact (repeat).")] = None,
    cosine: Annotated[list[str] | None, Option(help="NAME, or NAME=encoder.onnx (repeat).")] = None,
    base: Annotated[str | None, Option(help="Name the ratios are to; default: the first matcher.")] = None,
    count: Annotated[int, Option("--pairs", min=1, help="The first so many pairs.")] = 512,
) -> None:
    """Time matchers against each other, one pair at a time."""
    torch.set_num_threads(1)
    score: dict[str, Callable[[Sequence[Pair]], Any]] = {}
    runtime = {}
    for name, _, source in (entry.partition("=") for entry in matcher or ()):
        scorer = open_scorer(source, 1)
        score[name], runtime[name] = scorer.score, scorer.runtime
    for name, _, source in (entry.partition("=") for entry in cosine or ()):
        encoder = SentenceEncoder.onnx(Path(source)) if source else SentenceEncoder.packaged()
        score[name], runtime[name] = encoder.score, encoder.runtime
    base = base or next(iter(score))
    pairs = sample(read_pairs(data).pairs, count)
    took = time_all(score, pairs)
    matchers = {}
    for name, times in took.items():
        low, high = statistics.ratio_interval(took[base], times)
        matchers[name] = {
            "runtime": runtime[name],
            "ms": float(np.median(times)),
            "ratio": float(statistics.ratio(took[base], times)),
            # With fewer than seven blocks there is none.
            "interval": (float(low), float(high)) if np.isfinite(high) else None,
            "blocks_ms": times.round(4).tolist(),
        }
    settings = {"base": base, "pairs": len(pairs), "block": BLOCK, "threads": 1}
    about = {"python": platform.python_version(), "machine": machine.describe()}
    write_json(out, settings | about | {"matchers": matchers})
    for name, row in matchers.items():
        shown = "" if row["interval"] is None else "[{:.2f}, {:.2f}]".format(*row["interval"])
        sys.stdout.write(f"{name:30} {row['ms']:8.2f} ms, × {row['ratio']:.2f} {shown}\n")


if __name__ == "__main__":
    run(main)
