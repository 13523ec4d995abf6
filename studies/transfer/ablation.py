"""The papers' pretraining ablations at a small scale: a table of runs, a record each, and their order.

MobileBERT Table 8 (strategies) and Table 9 (objectives), both without the operational optimisations; ALBERT
Table 5 (next sentence against sentence order). Every run of a table has the same budget of updates, the same
batches and, seed by seed, the same initial layers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from distill.pretraining.examples import ExampleRecipe
from distill.pretraining.shards import Corpus
from distill.pretraining.stages import PretrainingPlan, pretrain, pretrained, start
from distill.pretraining.strategies import stages, strategy
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from models import EncoderConfig, PretrainingHead, build, load_pretrained
from training.engine import EngineConfig

# LayerNorm and GELU: "the operational optimizations are removed in these experiments" (section 4.6.3).
_PLAIN = EncoderConfig(
    model_type="mobilebert",
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    hidden_act="gelu",
    normalization_type="layer_norm",
)


@dataclass(frozen=True)
class Scale:
    """Sizes and budget of a ablation. Vocabulary and positions follow from the corpus."""

    teacher: EncoderConfig
    student: EncoderConfig
    albert: EncoderConfig  # of Table 5
    teacher_steps: int
    transfer_steps: int  # of every strategy alike
    pretraining_steps: int
    pair_steps: int  # of each run of Table 5
    engine: EngineConfig  # its steps are replaced by the budget's
    development_examples: int = 2000


def _scale(
    layers: int, feature_map: int, heads: int, *, embedding: int, wide: int, narrow: int, **budget: Any
) -> Scale:
    """The proportions of MobileBERT Table 1: teacher wider than the feature map, student a quarter of it."""
    shared = replace(
        _PLAIN,
        hidden_size=feature_map,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        embedding_size=embedding,
    )
    teacher = replace(shared, intra_bottleneck_size=wide, intermediate_size=4 * wide)
    student = replace(
        shared, intra_bottleneck_size=narrow, intermediate_size=4 * narrow, num_feedforward_networks=4
    )
    albert = EncoderConfig(
        model_type="albert",
        hidden_size=feature_map,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * feature_map,
        embedding_size=embedding,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return Scale(teacher, student, albert, **budget)


SCALES: dict[str, Scale] = {
    # With a vocabulary of 8,192 and sequences of 64 about 20 core-hours for three seeds: see `budget`.
    "cpu": _scale(
        6,
        128,
        4,
        embedding=64,
        wide=256,
        narrow=32,
        teacher_steps=4000,
        transfer_steps=900,
        pretraining_steps=1200,
        pair_steps=3000,
        engine=EngineConfig(steps=1, batch_size=32, learning_rate=2e-3, checkpoint_every=100),
    ),
    # What an evening on two cores can do, with 4,096 word pieces: half an hour a seed, and for the teacher.
    "small": _scale(
        3,
        64,
        4,
        embedding=48,
        wide=192,
        narrow=16,
        teacher_steps=6000,
        transfer_steps=900,
        pretraining_steps=1200,
        pair_steps=3000,
        engine=EngineConfig(steps=1, batch_size=16, learning_rate=2e-3, checkpoint_every=200),
    ),
    # MobileBERT's own feature map and block widths at half its depth, for a GPU.
    "gpu": _scale(
        12,
        512,
        4,
        embedding=128,
        wide=1024,
        narrow=128,
        teacher_steps=40_000,
        transfer_steps=12_000,
        pretraining_steps=20_000,
        pair_steps=40_000,
        engine=EngineConfig(
            steps=1,
            batch_size=256,
            learning_rate=1e-3,
            optimiser="lamb",
            precision="bf16",
            checkpoint_every=500,
        ),
    ),
    # Shows that every cell runs; teaches nothing.
    "toy": _scale(
        2,
        16,
        2,
        embedding=8,
        wide=16,
        narrow=8,
        teacher_steps=4,
        transfer_steps=2,
        pretraining_steps=2,
        pair_steps=3,
        engine=EngineConfig(steps=1, batch_size=4, learning_rate=1e-3, record_every=1),
        development_examples=8,
    ),
}

# A third of the updates: with all of "small" every strategy that starts from the teacher's embeddings reaches
# the same loss, below the teacher's own.
SCALES["short"] = replace(SCALES["small"], transfer_steps=300, pretraining_steps=400)

# Name of a run → table, strategy, pairs.
CELLS: dict[str, tuple[str, str, str]] = {
    "bare": ("Table 9", "bare", "nsp"),
    "pd": ("Table 9", "pd", "nsp"),
    "pd-fmt": ("Table 9", "pd-fmt", "nsp"),
    "pkt": ("Tables 8 and 9", "pkt", "nsp"),
    "jkt": ("Table 8", "jkt", "nsp"),
    "akt": ("Table 8", "akt", "nsp"),
    "albert-nsp": ("ALBERT Table 5", "bare", "nsp"),
    "albert-sop": ("ALBERT Table 5", "bare", "sop"),
}

# Better first, by loss at masked tokens; pkt is the row "+ PD + FMT + AT".
ORDERS: tuple[tuple[str, str, str], ...] = (
    ("Table 8", "pkt", "jkt"),
    ("Table 8", "jkt", "akt"),
    ("Table 9", "pd", "bare"),
    ("Table 9", "pd-fmt", "pd"),
    ("Table 9", "pkt", "pd-fmt"),
)


def scale(name: str) -> Scale:
    """Look up a scale.

    Raises:
        OptionError: no scale has this name.
    """
    if name not in SCALES:
        raise OptionError(f"scale {name!r} is unknown; expected one of {', '.join(SCALES)}")
    return SCALES[name]


def run_ablation(
    size: str,
    corpus: Corpus,
    out: Path,
    runs: Path,
    *,
    seeds: Sequence[int],
    cells: Sequence[str] = tuple(CELLS),
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Train what has no record in `out`/cells yet, the teacher first; yields each run's name and record.

    A killed run goes on where it was.

    Args:
        size: name of a scale.
        corpus: token shards.
        out: folder of the records.
        runs: folder of the trainings, one folder a run.
        seeds: of layers, order, pairs and masks.
        cells: which rows.

    Raises:
        OptionError: an unknown scale or cell.
        ResumeError: `runs` holds a run of other settings.
    """
    chosen = scale(size)
    if unknown := [cell for cell in cells if cell not in CELLS]:
        raise OptionError(f"cell {unknown[0]!r} is unknown; expected one of {', '.join(CELLS)}")
    (out / "cells").mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        for cell in cells:
            name = f"{size}-{cell}-seed{seed}"
            path = out / "cells" / f"{name}.json"
            if not path.is_file():
                write_json(path, _run(name, cell, seed, chosen, corpus, size, runs))
            yield name, json.loads(path.read_text(encoding="utf-8"))


def _run(
    name: str, cell: str, seed: int, chosen: Scale, corpus: Corpus, size: str, runs: Path
) -> dict[str, Any]:
    table, way, pairs = CELLS[cell]
    plan = _plan(chosen, cell, seed)
    master = _teacher(chosen, corpus, runs / f"{size}-teacher") if strategy(way).needs_teacher else None
    student = start(_config(chosen, cell, corpus), master, plan, corpus)
    records = pretrain(student, master, corpus, plan, runs / name)
    return {
        "cell": cell,
        "table": table,
        "scale": size,
        "strategy": way,
        "pairs": pairs,
        "seed": seed,
        "updates": sum(r["config"]["steps"] for r in records),
        "sequences": sum(r["config"]["steps"] * r["config"]["batch_size"] for r in records),
        "parameters": sum(p.numel() for p in student.parameters()),
        "seconds": sum(r["seconds"] for r in records),
        "development": {k: v for k, v in records[-1]["evaluations"][-1].items() if k != "step"},
        "plan": asdict(plan),
        "student": student.config.to_dict(),
        "corpus": {"fingerprint": corpus.fingerprint, "files": corpus.meta["plan"]["files"]},
        "curves": {r["stage"]: r["curve"] for r in records},
    }


def _plan(chosen: Scale, cell: str, seed: int) -> PretrainingPlan:
    table, way, pairs = CELLS[cell]
    alone = table == "ALBERT Table 5"
    # ALBERT masks runs of words (section 4.1), MobileBERT tokens (appendix D).
    recipe = ExampleRecipe(pairs, "ngram" if alone else "token", seed)
    steps = chosen.pair_steps if alone else chosen.pretraining_steps
    engine = replace(chosen.engine, steps=steps, seed=seed)
    return PretrainingPlan(
        way, 0 if alone else chosen.transfer_steps, engine, recipe, chosen.development_examples
    )


def _config(chosen: Scale, cell: str, corpus: Corpus) -> EncoderConfig:
    return _fitted(chosen.albert if CELLS[cell][0] == "ALBERT Table 5" else chosen.student, corpus)


def _fitted(config: EncoderConfig, corpus: Corpus) -> EncoderConfig:
    special = corpus.special
    return replace(
        config,
        vocab_size=special.vocab_size,
        pad_token_id=special.pad,
        max_position_embeddings=corpus.seq_len,
    )


def _teacher(chosen: Scale, corpus: Corpus, folder: Path) -> PretrainingHead:
    """The teacher of all runs of a scale, pretrained once; seed 0."""
    engine = replace(chosen.engine, steps=chosen.teacher_steps)
    plan = PretrainingPlan("bare", 0, engine, ExampleRecipe(), chosen.development_examples)
    model = start(_fitted(chosen.teacher, corpus), None, plan, corpus)
    directory = pretrained(model, None, corpus, plan, folder, tokenizer_from=corpus.folder)
    return cast(PretrainingHead, load_pretrained(directory))


def budget(size: str, corpus: Corpus, *, gigaflops: float) -> list[dict[str, Any]]:
    """Updates and hours of each run at a speed of so many 10⁹ floating-point operations a second.

    Matrices cost two operations a weight and token forward, four backward; the vocabulary is scored at 15% of
    the tokens. Attention's own products, a few per cent at these lengths, are left out.
    """
    chosen = scale(size)
    tokens = chosen.engine.batch_size * corpus.seq_len
    teacher = _weights(_fitted(chosen.teacher, corpus))
    rows = [_row("teacher", chosen.teacher_steps, 6 * teacher * tokens, gigaflops)]
    for cell, (_, way, _) in CELLS.items():
        plan = _plan(chosen, cell, 0)
        config = _config(chosen, cell, corpus)
        own = 6 * _weights(config) * tokens
        asked = 2 * teacher * tokens if strategy(way).needs_teacher else 0.0
        planned = stages(strategy(way), config.num_hidden_layers, plan.transfer_steps, plan.engine.steps)
        rows.append(_row(cell, sum(s.steps for s in planned), own + asked, gigaflops))
    return rows


def _row(name: str, steps: int, operations: float, gigaflops: float) -> dict[str, Any]:
    return {
        "run": name,
        "updates": steps,
        "gigaflop_an_update": operations / 1e9,
        "hours": steps * operations / (gigaflops * 1e9) / 3600,
    }


def _weights(config: EncoderConfig) -> float:
    """Matrix weights that a token passes; a shared layer counts as often as it is used."""
    model = cast(PretrainingHead, build(config, "pretraining"))
    layers = sum(p.numel() for layer in model.encoder.layers for p in layer.parameters() if p.dim() > 1)
    return layers + 0.15 * config.vocab_size * config.hidden_size


def summarise(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds, and for each step of the papers' orders the paired difference with its 95% interval.

    A step "holds" where the interval is on the paper's side of zero, "fails" where it is on the other, and is
    "undecided" else; with one seed there is no interval.
    """
    by_cell: dict[str, dict[int, dict[str, float]]] = {}
    for record in records:
        by_cell.setdefault(record["cell"], {})[record["seed"]] = record["development"]
    means = {
        cell: {
            name: float(np.mean([run[name] for run in runs.values()])) for name in next(iter(runs.values()))
        }
        | {"seeds": sorted(runs)}
        for cell, runs in by_cell.items()
    }
    orders = []
    for table, better, worse in ORDERS:
        first, second = by_cell.get(better, {}), by_cell.get(worse, {})
        if seeds := sorted(first.keys() & second.keys()):
            # Positive: the better one has the lower loss.
            gains = [second[s]["mlm_loss"] - first[s]["mlm_loss"] for s in seeds]
            orders.append({"table": table, "better": better, "worse": worse, "seeds": seeds} | verdict(gains))
    return {"means": means, "orders": orders, "pairs": _cross(by_cell)}


def _cross(by_cell: dict[str, dict[int, dict[str, float]]]) -> dict[str, Any]:
    """ALBERT Table 5: accuracy of each model on both kinds of pairs, and how far above chance it is."""
    out: dict[str, Any] = {}
    for cell, asked in (
        ("albert-sop", "nsp"),
        ("albert-nsp", "sop"),
        ("albert-sop", "sop"),
        ("albert-nsp", "nsp"),
    ):
        if runs := by_cell.get(cell):
            values = [run[f"{asked}_accuracy"] for run in runs.values()]
            out[f"{cell} asked {asked}"] = {"accuracy": float(np.mean(values))} | verdict(
                [value - 0.5 for value in values]
            )
    return out


def verdict(gains: Sequence[float]) -> dict[str, Any]:
    """Mean of paired differences, their 95% interval, and whether it excludes zero; see `summarise`."""
    from scipy.stats import t

    mean = float(np.mean(gains))
    if len(gains) < 2:
        return {"difference": mean, "interval": None, "verdict": "one seed"}
    half = float(t.ppf(0.975, len(gains) - 1) * np.std(gains, ddof=1) / np.sqrt(len(gains)))
    verdict = "holds" if mean - half > 0 else "fails" if mean + half < 0 else "undecided"
    return {"difference": mean, "interval": [mean - half, mean + half], "verdict": verdict}
