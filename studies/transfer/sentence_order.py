"""ALBERT's Table 5 from a trained encoder: it goes on with next sentences or with sentence order.

    python -m studies.transfer.sentence_order --corpus runs/shards-tail-minilm --updates 1000 \
        --runs runs/sentence-order --out results/transfer/sentence-order.json

From fresh weights no network that fits this machine learns either question (`studies.transfer.ablation`), so
both runs begin with MiniLM's encoder, under new heads. Each learns masked words and one question about pairs
of segments, and is asked both questions of documents that were held out. All but the question is alike.

A run's network stays in RUNS/NAME/model: MiniLM with a head for masked words.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import torch
from rich.table import Table
from typer import Option

from mobilebert_matching.evaluation.metrics import wilson
from mobilebert_models import find_directory, load_pretrained
from mobilebert_models.networks.layers import encoder_of
from mobilebert_runtime.files import write_json
from mobilebert_training.pretraining.examples import PAIRS, ExampleRecipe
from mobilebert_training.pretraining.shards import Corpus
from mobilebert_training.pretraining.stages import PretrainingPlan, keep, pretrain, under_new_heads
from mobilebert_training.training_config import TrainingConfig
from studies.common.records import Json, check_outputs, recorded
from studies.common.script import Force, Runs, Threads, console, run


def main(
    out: Annotated[Path, Option(help="The record of both runs.")],
    runs: Runs,
    corpus: Annotated[Path, Option(help="Token shards of `mobilebert corpus build --vocab minilm`.")],
    start: Annotated[str, Option(help="Encoder that both begin with.")] = "minilm",
    updates: Annotated[int, Option(min=1, help="Of each run.")] = 1500,
    batch: Annotated[int, Option(min=1, help="Sequences of an update.")] = 32,
    rate: Annotated[float, Option(help="Peak learning rate.")] = 1e-4,
    dtype: Annotated[str, Option(help="float32, or bf16 where the processor has it.")] = "bf16",
    seed: Annotated[int, Option(help="Of heads, order, pairs and masks.")] = 0,
    asked: Annotated[int, Option(min=1, help="Held-out pairs of each question.")] = 2000,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Train on each question, ask both."""
    torch.set_num_threads(threads)
    check_outputs(out, force=force)
    shards = Corpus(corpus)
    engine = TrainingConfig(
        steps=updates, batch_size=batch, learning_rate=rate, dtype=dtype, seed=seed, checkpoint_every=100
    )
    found: Json = {}
    for pairs in PAIRS:
        plan = PretrainingPlan("bare", 0, engine, ExampleRecipe(pairs, "ngram", seed), asked)
        name = f"{pairs}-seed{seed}"
        found[pairs] = recorded(runs / f"{name}.json", partial(_run, start, shards, plan, runs / name))
    write_json(out, found)
    shown = Table("learned", "asked", "right", "95%")
    for pairs, record in found.items():
        for question, said in record["asked"].items():
            low, high = said["interval"]
            shown.add_row(pairs, question, f"{said['accuracy']:.3f}", f"{low:.3f} to {high:.3f}")
    console().print(shown)


def _run(start: str, corpus: Corpus, plan: PretrainingPlan, folder: Path) -> Json:
    encoder = encoder_of(load_pretrained(find_directory(start)))
    student = under_new_heads(encoder, plan.engine.seed)
    (record,) = pretrain(student, None, corpus, plan, folder)
    keep(student, folder, tokenizer_from=corpus.folder)
    figures: dict[str, Any] = record["evaluations"][-1]
    return {
        "start": start,
        "updates": plan.engine.steps,
        "sequences": plan.engine.steps * plan.engine.batch_size,
        "seconds": record["seconds"],
        "mlm_loss": figures["mlm_loss"],
        "asked": {question: _share(figures[f"{question}_accuracy"], plan) for question in PAIRS},
        "plan": asdict(plan),
        "corpus": {
            "fingerprint": corpus.fingerprint,
            "files": corpus.meta["plan"]["files"],
            "seq_len": corpus.seq_len,
        },
        "curve": record["curve"],
    }


def _share(accuracy: float, plan: PretrainingPlan) -> Json:
    pairs = plan.development_examples
    return {"accuracy": accuracy, "interval": wilson(round(accuracy * pairs), pairs), "pairs": pairs}


if __name__ == "__main__":
    run(main)
