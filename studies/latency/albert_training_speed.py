"""A pretraining step of an ALBERT beside the BERT of the same layers, interleaved (ALBERT Table 2, speed).

    python -m studies.latency.albert_training_speed results/transfer/albert-training-speed.json

On one machine sharing saves the optimiser's work on the layers' weights, and none of their products; the
paper's figure has the communication between its devices in it.
"""

from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Annotated, Any, cast

import torch
from typer import Argument, Option

import mobilebert_models
from android_bench.measuring.machine import describe
from mobilebert_runtime.files import write_json
from mobilebert_training.pretraining.pretraining_loss import PretrainingLoss
from mobilebert_training.pretraining.strategies import STRATEGIES, stages
from mobilebert_training.training_config import LossNormalizers
from studies.common.records import Json, check_outputs
from studies.common.script import Force, console, run
from studies.latency.pretraining_speed import BATCH, LENGTH, alternating, draw_batch


def main(
    out: Annotated[Path, Argument(help="The record.")],
    bert: Annotated[str, Option(help="Preset.")] = "bert-large",
    albert: Annotated[str, Option(help="Preset with as many and as wide layers.")] = "albert-large",
    rounds: Annotated[int, Option(min=1, help="Steps of each network.")] = 5,
    force: Force = False,
) -> None:
    """Measure both and write how many steps the ALBERT takes in the time of one of the BERT."""
    check_outputs(out, force=force)
    steps = {name: _step(name) for name in (bert, albert)}
    seconds = alternating(steps, rounds)
    ratios = [slow / fast for slow, fast in zip(seconds[bert], seconds[albert], strict=True)]
    record: Json = {
        "batch": [BATCH, LENGTH],
        "optimiser": "adamw",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "machine": describe(),
        "speedup": {"median": median(ratios), "lowest": min(ratios), "highest": max(ratios)},
        "seconds": seconds,
    }
    write_json(out, record)
    console().print(f"{albert}: {median(ratios):.2f} steps in the time of one of {bert}")


def _step(preset: str) -> Any:
    """One update of a fresh network, always on the same batch."""
    config = replace(
        mobilebert_models.preset(preset), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    network = cast(mobilebert_models.PretrainingHead, mobilebert_models.build(config, "pretraining", seed=0))
    network.train()
    batch, _ = draw_batch(config.vocab_size)
    loss = PretrainingLoss(network, None, stages(STRATEGIES["bare"], config.num_hidden_layers, 0, 1)[0])
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-4)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        loss(network, batch, LossNormalizers())[0].backward()
        optimiser.step()

    return step


if __name__ == "__main__":
    run(main)
