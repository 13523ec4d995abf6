"""Go on training a matcher of Quora questions under the teacher of `studies.qqp_teacher.teacher`.

    python -m studies.qqp_teacher.train runs/qqp/m --start runs/matcher-m/model --epochs 1.4 --dtype bf16
    python -m studies.qqp_teacher.train runs/qqp/s --start runs/matcher-s/model --rate 4e-4 --dtype bf16

An interrupted run is taken up again by the same command; with --force a finished one takes another --kept
without training again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from typer import Argument, Option

from mobilebert_matching.data.labelled_pairs import read_split
from mobilebert_matching.length_bias.length_prior import LengthPrior
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.files import refuse_finished
from mobilebert_training.distillation.distillation_data import DistillationData
from mobilebert_training.training_config import TrainingConfig
from studies.common.script import Force, Threads, run
from studies.qqp_teacher.options import CACHE, DATA, Cache, Data, distinct_texts
from studies.qqp_teacher.student import train_further
from studies.qqp_teacher.teacher import WORDS
from studies.qqp_teacher.vector_teacher import mixed_targets


def main(
    out: Annotated[Path, Argument(help="Folder of the run.")],
    start: Annotated[str, Option(help="Matcher whose weights are taken up.")] = "matcher-qqp-m",
    data: Data = DATA,
    cache: Cache = CACHE,
    rate: Annotated[float, Option(help="Peak learning rate.")] = 3e-4,
    epochs: Annotated[float, Option(help="Passes over labelled and mined pairs.")] = 0.8,
    kept: Annotated[float, Option(min=0, max=1, help="Share of the weights before in the mean.")] = 0.5,
    label_share: Annotated[float, Option(help="Share of the label in a labelled pair's target.")] = 0.5,
    debias: Annotated[float, Option(help="Share of the length prior taken out of the targets.")] = 1.0,
    dtype: Annotated[str, Option(help="Of products: float32 or bf16.")] = "float32",
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write OUT/model, its weights in eight bits and its decision settings fitted on dev.tsv, debiased."""
    refuse_finished(out / "model", force=force)
    torch.set_num_threads(threads)
    if not (cache / WORDS).is_file():
        raise DataError(f"{cache / WORDS}: no such file; run studies.qqp_teacher.teacher first")
    train, dev = read_split(data, "train"), read_split(data, "dev")
    texts, words = distinct_texts(dev, train), np.load(cache / WORDS)
    pairs = DistillationData(train, [(texts[a], texts[b]) for a, b in words["pairs"]], dev)
    targets = mixed_targets(pairs, np.concatenate([words["train"], words["mined"]]), label_share, debias)
    loop = TrainingConfig(epochs=epochs, learning_rate=rate, dtype=dtype, evaluate_every=1200)
    facts = {"label_share": label_share, "debias": debias}
    prior = LengthPrior.fit(*train)
    train_further(out, start, pairs, pairs.pairs, pairs.labels, targets, prior, loop, kept, facts)


if __name__ == "__main__":
    run(main)
