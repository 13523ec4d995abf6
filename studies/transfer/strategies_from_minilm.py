"""MobileBERT's Tables 8 and 9 under MiniLM: in which order do knowledge-transfer strategies come out?

    python -m studies.transfer.strategies_from_minilm --texts TEXTS.txt --runs runs/from-minilm \
        --out results/transfer --seed 0 --seed 1 --seed 2

MiniLM, a trained sentence encoder, is the frozen teacher of a six-layer MobileBERT with its feature map. It
has no head for masked words, so that "PD" is the distillation of its sentence vector. All rows have the same
updates and, seed by seed, the same batches and the same start: fresh layers under word embeddings near the
teacher's. Half of the updates transfer layers where a row has a phase for that.

A run's network stays in RUNS/NAME/model, a sentence-transformers folder.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated

import torch
from typer import Option

from mobilebert_models import find_directory
from mobilebert_models.loading.embedders import save_embedder
from mobilebert_models.loading.sentence_modules import encoder_directory
from mobilebert_runtime.errors import DataError, OptionError
from mobilebert_runtime.files import write_json
from mobilebert_training.pretraining.pretraining_loss import trained
from mobilebert_training.pretraining.stages import under_new_heads
from mobilebert_training.pretraining.strategies import PretrainingStage, stages
from mobilebert_training.run_directory import changes, weights_hash
from mobilebert_training.trainer import processes, train
from mobilebert_training.training_config import ResumeError, TrainingConfig, require_bf16
from studies.common.records import Json, read_all, recorded, write_text
from studies.common.script import Out, Runs, Seeds, Threads, console, run
from studies.transfer.layerwise_student import (
    Drawn,
    Lessons,
    StageBatches,
    held_out_figures,
    read_lessons,
    stage_loss,
    start,
)
from studies.transfer.strategies_report import FIGURES, ROWS, page, summarise

STEM, CELL = "strategies-from-minilm", "minilm"  # names of the summary and of the cells


def main(
    out: Out,
    runs: Runs,
    texts: Annotated[Path, Option(help="Texts to learn from, one a line (.txt, .xz, .gz).")],
    teacher: Annotated[
        str, Option(help="minilm, or the folder of another BERT that embeds sentences.")
    ] = "minilm",
    sts: Annotated[Path | None, Option(help="STS-B's dev.tsv, to measure on as well.")] = None,
    updates: Annotated[int, Option(min=1, help="Of every row, transfer included.")] = 600,
    batch: Annotated[int, Option(min=1, help="Texts of an update.")] = 64,
    rate: Annotated[float, Option(help="Peak learning rate of every stage.")] = 1e-3,
    seeds: Seeds = None,
    rows: Annotated[list[str] | None, Option("--row", help="Only this row (repeat for more).")] = None,
    dtype: Annotated[str, Option(help="float32, or bf16 where the processor has it.")] = "bf16",
    threads: Threads = 1,
) -> None:
    """Train every row that has no record yet; then OUT/strategies-from-minilm.json and .md."""
    torch.set_num_threads(threads)
    engine = TrainingConfig(
        steps=updates, batch_size=batch, learning_rate=rate, dtype=dtype, checkpoint_every=0
    )
    chosen = rows or list(ROWS)
    if unknown := [row for row in chosen if row not in ROWS]:
        raise OptionError(f"--row {unknown[0]}: is unknown; expected one of {', '.join(ROWS)}")
    if dtype == "bf16":
        require_bf16(processes().device)
    lessons = read_lessons(find_directory(teacher), texts, runs / "labels", dtype)
    if len(lessons.rows) < batch:
        raise DataError(f"{texts}: {len(lessons.rows)} texts to train on; a batch has {batch}")
    for row in chosen:
        planned(row, lessons, engine)
    for name, record in run_rows(lessons, engine, out, runs, sts, seeds=seeds or [0], rows=chosen):
        shown = {k: round(record["figures"][k], 4) for k in FIGURES if k in record["figures"]}
        console().print(f"{name}: {record['seconds']:.0f} processor seconds, {shown}")
    found = read_all(out / "cells", f"{CELL}-*.json")  # also those of other seeds and earlier calls
    write_json(out / f"{STEM}.json", summarise(found))
    write_text(out / f"{STEM}.md", page(found))
    console().print(page(found))


def planned(row: str, lessons: Lessons, engine: TrainingConfig) -> list[PretrainingStage]:
    """The stages of a row: half of the updates are those of transfer.

    Raises:
        OptionError: too few updates for as many layers.
    """
    layers, transfer = lessons.teacher.config.num_hidden_layers, engine.steps // 2
    return stages(ROWS[row].strategy, layers, transfer, engine.steps - transfer)


def run_rows(
    lessons: Lessons,
    engine: TrainingConfig,
    out: Path,
    runs: Path,
    sts: Path | None,
    *,
    seeds: Sequence[int],
    rows: Sequence[str],
) -> Iterator[tuple[str, Json]]:
    """Train what has no record in `out`/cells yet, seed by seed; yields each cell's name and record.

    A cell that was interrupted begins anew.

    Args:
        lessons: of the teacher.
        engine: the optimisation; its steps are those of a row, its seed is replaced.
        out: folder of the records.
        runs: folder of the trainings, one folder a cell.
        sts: see `held_out_figures`.
        seeds: of layers and order.
        rows: which of `ROWS`.

    Raises:
        ResumeError: a record is there that has other settings, texts or teacher.
    """
    teacher = weights_hash(lessons.teacher)
    for seed, row in product(seeds, rows):
        name = f"{CELL}-{row}-seed{seed}"
        plan = {"engine": asdict(replace(engine, seed=seed)), "texts": lessons.hash, "teacher": teacher}
        path = out / "cells" / f"{name}.json"
        record = recorded(path, partial(_run, row, seed, lessons, engine, plan, sts, runs / name))
        if different := changes(record["plan"], plan):
            raise ResumeError(f"{path}: is a record with other {different}; give another --out")
        yield name, record


def _run(
    row: str, seed: int, lessons: Lessons, engine: TrainingConfig, plan: Json, sts: Path | None, folder: Path
) -> Json:
    head = under_new_heads(start(lessons, seed), seed)  # `trained` asks for heads; none of them learns
    student, drawn = head.encoder, Drawn()
    begun, passed = weights_hash(student), []
    in_turn = planned(row, lessons, engine)
    for stage in in_turn:
        began = time.process_time()
        record = train(
            head,
            StageBatches(lessons, drawn),
            stage_loss(stage, lessons.teacher),
            replace(engine, steps=stage.steps, seed=seed),
            folder,
            name=stage.name,
            parameters=trained(head, stage),
        )
        said: Json = {"stage": stage.name, "updates": stage.steps, "seconds": time.process_time() - began}
        said |= {"weights": stage.weights.parts, "learns": stage.learns, "curve": record["curve"]}
        if stage in in_turn[-2:]:  # where transfer ends, and where the row ends
            said["figures"] = held_out_figures(student, lessons, sts)
        passed.append(said)
    save_embedder(student, folder / "model", tokenizer_from=encoder_directory(lessons.folder), half=True)
    return {
        "cell": row,
        "table": ROWS[row].table,
        "seed": seed,
        "updates": drawn.updates,
        "texts": drawn.updates * engine.batch_size,
        "parameters": sum(p.numel() for p in student.parameters()),
        "seconds": sum(stage["seconds"] for stage in passed),  # of the processor, in training
        "figures": passed[-1]["figures"],
        "stages": passed,
        "start": begun,
        "batches": drawn.hash,
        "held_out_texts": len(lessons.held),
        "plan": plan,
        "student": student.config.to_dict(),
    }


if __name__ == "__main__":
    run(main)
