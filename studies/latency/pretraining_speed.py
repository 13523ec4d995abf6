"""A pretraining step of our networks beside `transformers`' own: same weights, batch, optimiser, interleaved.

python -m studies.latency.pretraining_speed results/transfer/pretraining-speed.json
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any, cast

import numpy as np
import torch
import transformers
from typer import Argument, Option

import mobilebert_models
from android_bench.measuring.machine import describe
from mobilebert_runtime.files import write_json
from mobilebert_training.pretraining.pretraining_loss import PretrainingLoss
from mobilebert_training.pretraining.strategies import STRATEGIES, stages
from mobilebert_training.training_config import LossNormalizers
from studies.common.script import run

BATCH, LENGTH, GUESSED = 8, 128, 19  # 15% of 125 tokens
PRESETS = {"minilm-l6": "BertForPreTraining", "matcher-m": "MobileBertForPreTraining"}


def draw_batch(vocabulary: int) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """One batch as our network and as `transformers` reads it; a quarter of the sequences is padded."""
    rng = np.random.default_rng(0)
    ids = torch.from_numpy(rng.integers(1000, vocabulary, (BATCH, LENGTH)))
    mask, types = torch.ones_like(ids), torch.zeros_like(ids)
    types[:, LENGTH // 2 :] = 1
    mask[: BATCH // 4, 3 * LENGTH // 4 :] = 0
    ids[mask == 0] = 0
    positions = np.sort([rng.permutation(90)[:GUESSED] + 1 for _ in range(BATCH)])
    index = torch.from_numpy((positions + LENGTH * np.arange(BATCH)[:, None]).ravel())
    words, pair = torch.from_numpy(rng.integers(1000, vocabulary, len(index))), torch.arange(BATCH) % 2
    shared = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    labels = torch.full((BATCH * LENGTH,), -100)
    labels[index] = words
    ours = shared | {"masked_index": index, "masked_labels": words, "pair_labels": pair}
    return ours, shared | {"labels": labels.view(BATCH, LENGTH), "next_sentence_label": pair}


def alternating(updates: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each of two updates in every round, after one to warm up; which goes first alternates."""
    seconds: dict[str, list[float]] = {name: [] for name in updates}
    for number in range(rounds + 1):
        for name in list(updates)[:: 1 if number % 2 else -1]:
            started = time.perf_counter()
            updates[name]()
            if number:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def compare(preset: str, rounds: int) -> dict[str, Any]:
    """Seconds of each step of both, in the order they were taken."""
    config = replace(
        mobilebert_models.preset(preset), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    ours = cast(mobilebert_models.PretrainingHead, mobilebert_models.build(config, "pretraining", seed=0))
    with tempfile.TemporaryDirectory() as folder:
        mobilebert_models.save_pretrained(ours, folder)
        theirs = getattr(transformers, PRESETS[preset]).from_pretrained(folder)
    batch, batch_of_theirs = draw_batch(config.vocab_size)
    loss = PretrainingLoss(ours, None, stages(STRATEGIES["bare"], config.num_hidden_layers, 0, 1)[0])
    steps: dict[str, Callable[[], torch.Tensor]] = {
        "ours": lambda: loss(ours, batch, LossNormalizers())[0],
        "transformers": lambda: theirs(**batch_of_theirs).loss,
    }
    optimisers = {
        name: torch.optim.AdamW(network.parameters(), lr=1e-4)
        for name, network in (("ours", ours), ("transformers", theirs))
    }
    ours.train()
    theirs.train()
    first = {name: step().item() for name, step in steps.items()}
    if abs(first["ours"] - first["transformers"]) > 1e-3:
        raise SystemExit(f"{preset}: not the same network or loss: {first}")

    def update(name: str) -> None:
        optimisers[name].zero_grad(set_to_none=True)
        steps[name]().backward()
        torch.nn.utils.clip_grad_norm_(optimisers[name].param_groups[0]["params"], 1.0)
        optimisers[name].step()

    seconds = alternating({name: partial(update, name) for name in steps}, rounds)
    ratios = [t / o for o, t in zip(seconds["ours"], seconds["transformers"], strict=True)]
    tokens = int(batch["attention_mask"].sum())
    return {
        "first_loss": first,
        "real_tokens_a_step": tokens,
        "tokens_per_second": {name: tokens / median(times) for name, times in seconds.items()},
        "speed_over_transformers": {
            "median": median(ratios),
            "quartiles": np.quantile(ratios, [0.25, 0.75]).tolist(),
        },
        "seconds": seconds,
    }


def main(
    out: Annotated[Path, Argument(help="The record.")],
    rounds: Annotated[int, Option(min=1, help="Steps of each network.")] = 15,
) -> None:
    """Measure every preset and write the record."""
    about = {"batch": [BATCH, LENGTH], "guessed_tokens": GUESSED, "optimiser": "adamw", "rounds": rounds}
    about |= {"threads": torch.get_num_threads(), "torch": torch.__version__}
    about |= {"transformers": transformers.__version__, "machine": describe()}
    found = {}
    for preset in PRESETS:
        found[preset] = compare(preset, rounds)
        write_json(out, about | {"presets": found})


if __name__ == "__main__":
    run(main)
