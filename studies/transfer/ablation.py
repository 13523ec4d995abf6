"""The papers' pretraining ablations at a small scale: a table of runs, a record each, and their order.

    python -m studies.transfer.ablation --scale short --corpus runs/shards --runs runs/ablation \
        --out results/transfer

MobileBERT Table 8 (strategies) and Table 9 (objectives), both without the operational optimisations; ALBERT
Table 3 (width of the embeddings), Table 4 (what the layers share), Table 5 (next sentence against sentence
order), Table 8 (dropout), Tables 11 and 12 (depth and width). Every run of a table has the same budget of
updates, the same batches and, seed by seed, the same initial layers where their shapes agree.

A run's network stays in RUNS/NAME/model, to be fine-tuned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, cast

import torch
from rich.table import Table
from typer import Option

from mobilebert_models import EncoderConfig, PretrainingHead, build, load_pretrained
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from mobilebert_training.pretraining.examples import ExampleRecipe
from mobilebert_training.pretraining.shards import Corpus
from mobilebert_training.pretraining.stages import PretrainingPlan, keep, pretrain, pretrained, start
from mobilebert_training.pretraining.strategies import stages, strategy
from studies.common.records import Json, read_all, recorded, write_text
from studies.common.script import Out, Runs, Seeds, Threads, console, run
from studies.transfer.report import ROWS, draw, page, summarise
from studies.transfer.scales import Scale, scale


def main(
    out: Out,
    runs: Runs,
    corpus: Annotated[Path, Option(help="Token shards of `mobilebert corpus build`.")],
    size: Annotated[str, Option("--scale", help="small, short, cpu, gpu or toy.")] = "cpu",
    rows: Annotated[list[str] | None, Option("--row", help="Only this row (repeat for more).")] = None,
    seeds: Seeds = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Updates and hours at 20 GFLOP/s only.")] = False,
    threads: Threads = 1,
) -> None:
    """Pretrain every row that has no record yet; then OUT/ablation-SCALE.json, .md and .png."""
    torch.set_num_threads(threads)
    shards = Corpus(corpus)
    if dry_run:
        budgets = Table("run", "updates", "GFLOP an update", "hours a seed at 20 GFLOP/s")
        for row in budget(size, shards, gigaflops=20.0):
            figures = f"{row['updates']:,}", f"{row['gigaflop_an_update']:.1f}", f"{row['hours']:.2f}"
            budgets.add_row(row["run"], *figures)
        console().print(budgets)
        return
    for name, record in run_ablation(size, shards, out, runs, seeds=seeds or [0], rows=rows or tuple(ROWS)):
        development = {k: round(v, 4) for k, v in record["development"].items()}
        console().print(f"{name}: {record['seconds']:.0f} s, {development}")
    found = read_all(out / "cells", f"{size}-*.json")  # also those of other seeds and earlier calls
    stem = f"ablation-{size}"
    write_json(out / f"{stem}.json", summarise(found))
    write_text(out / f"{stem}.md", f"{page(found)}\n![Loss at masked tokens]({stem}.png)\n")
    draw(found, out / f"{stem}.png")
    console().print(page(found))


def run_ablation(
    size: str,
    corpus: Corpus,
    out: Path,
    runs: Path,
    *,
    seeds: Sequence[int],
    rows: Sequence[str] = tuple(ROWS),
) -> Iterator[tuple[str, Json]]:
    """Train what has no record in `out`/cells yet, the teacher first; yields each run's name and record.

    An interrupted run goes on where it was.

    Args:
        size: name of a scale.
        corpus: token shards.
        out: folder of the records.
        runs: folder of the trainings, one folder a run.
        seeds: of layers, order, pairs and masks.
        rows: which of `ROWS`.

    Raises:
        OptionError: an unknown scale or row.
        ResumeError: `runs` holds a run of other settings.
    """
    chosen = scale(size)
    if unknown := [row for row in rows if row not in ROWS]:
        raise OptionError(f"row {unknown[0]!r} is unknown; expected one of {', '.join(ROWS)}")
    for seed, row in product(seeds, rows):
        name = f"{size}-{row}-seed{seed}"
        run = partial(_run, row, seed, size, chosen, corpus, runs, runs / name)
        yield name, recorded(out / "cells" / f"{name}.json", run)


def _run(name: str, seed: int, size: str, chosen: Scale, corpus: Corpus, runs: Path, folder: Path) -> Json:
    row, plan = ROWS[name], _plan(chosen, name, seed)
    teacher = None
    if strategy(row.strategy).needs_teacher:
        teacher = _teacher(chosen, corpus, runs / f"{size}-teacher")
    student = start(_config(chosen, name, corpus), teacher, plan, corpus)
    records = pretrain(student, teacher, corpus, plan, folder)
    keep(student, folder, tokenizer_from=corpus.folder)
    return {
        "cell": name,
        "table": row.table,
        "scale": size,
        "strategy": row.strategy,
        "pairs": row.pairs,
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


def _plan(chosen: Scale, name: str, seed: int) -> PretrainingPlan:
    row = ROWS[name]
    alone = row.of_albert
    # ALBERT masks runs of words (section 4.1), MobileBERT tokens (appendix D).
    recipe = ExampleRecipe(row.pairs, "ngram" if alone else "token", seed)
    steps = chosen.pair_steps if alone else chosen.pretraining_steps
    engine = replace(chosen.engine, steps=steps, seed=seed)
    return PretrainingPlan(
        row.strategy, 0 if alone else chosen.transfer_steps, engine, recipe, chosen.development_examples
    )


def _config(chosen: Scale, name: str, corpus: Corpus) -> EncoderConfig:
    row = ROWS[name]
    config = chosen.student
    if row.of_albert:
        albert = chosen.albert
        config = replace(
            albert,
            layer_sharing=row.sharing,
            num_hidden_layers=max(1, round(row.depth * albert.num_hidden_layers)),
            hidden_size=row.width * albert.hidden_size,
            intermediate_size=row.width * albert.intermediate_size,
            num_attention_heads=row.width * albert.num_attention_heads,
            hidden_dropout_prob=row.dropout,
            attention_probs_dropout_prob=row.dropout,
        )
        if row.embedding is not None:
            config = replace(config, embedding_size=int(row.embedding * albert.hidden_size))
    return _fitted(config, corpus)


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


def budget(size: str, corpus: Corpus, *, gigaflops: float) -> list[Json]:
    """Updates and hours of each run at a speed of so many 10⁹ floating-point operations a second.

    Matrices cost two operations a weight and token forward, four backward; the vocabulary is scored at 15% of
    the tokens. Attention's own products, a few per cent at these lengths, are left out.
    """
    chosen = scale(size)
    tokens = chosen.engine.batch_size * corpus.seq_len
    teacher = _weights(_fitted(chosen.teacher, corpus))
    rows = [_row("teacher", chosen.teacher_steps, 6 * teacher * tokens, gigaflops)]
    for name, row in ROWS.items():
        plan, way = _plan(chosen, name, 0), strategy(row.strategy)
        config = _config(chosen, name, corpus)
        own = 6 * _weights(config) * tokens
        asked = 2 * teacher * tokens if way.needs_teacher else 0.0
        planned = stages(way, config.num_hidden_layers, plan.transfer_steps, plan.engine.steps)
        rows.append(_row(name, sum(s.steps for s in planned), own + asked, gigaflops))
    return rows


def _row(name: str, steps: int, operations: float, gigaflops: float) -> Json:
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


if __name__ == "__main__":
    run(main)
