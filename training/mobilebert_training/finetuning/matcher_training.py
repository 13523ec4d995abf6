"""Train a text matcher from a folder of labelled pairs to a model directory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from mobilebert_matching.length_bias.training_sets import TrainSet, find_data, training_part
from mobilebert_runtime.files import refuse_finished
from mobilebert_training.finetuning.fit_matcher import fit, loop_config, settings_of
from mobilebert_training.finetuning.matchers import build_matcher


def train_matcher(
    data: Path,
    out: Path,
    *,
    arch: str = "minilm",
    train_set: TrainSet = "original",
    init: Path | None = None,
    group: str | None = None,
    max_pairs: int | None = None,
    seed: int = 0,
    threads: int = 2,
    force: bool = False,
    **settings: Any,
) -> Path:
    """Train a matcher and return OUT/model, with decision settings fitted on the development pairs.

    Args:
        data: folder with train.tsv and perhaps dev.tsv.
        out: folder of the run; an interrupted run there is resumed.
        arch: a row of `mobilebert_training.finetuning.fit_matcher.TRAINING`, or a model directory to start
            from.
        train_set: "original", or "adversarial": without length-divergence bias.
        init: model directory that bert-tiny starts from.
        group: column of the query key, where the folder holds lists.
        max_pairs: train on so many pairs, drawn at random.
        seed: of initial weights, order, dropout, choice of pairs.
        threads: CPU threads.
        force: replace a finished model.
        settings: other `TrainingSettings` than the row of `arch` has; None leaves a setting.

    Raises:
        OutputError: a finished model is there already.
        DataError: the pairs are missing or damaged.
        ResumeError: `out` holds a run with other settings.
    """
    refuse_finished(out / "model", force=force)
    torch.set_num_threads(threads)
    folder = find_data(data, group)
    examples, dev, metadata = training_part(folder, train_set, seed=seed, max_pairs=max_pairs)
    changed = replace(settings_of(arch), **{k: v for k, v in settings.items() if v is not None})
    labels = int(examples.labels.max()) + 1
    matcher = build_matcher(arch, num_labels=labels, seed=seed, init=init, max_tokens=changed.max_tokens)
    metadata |= {"arch": arch, "data": folder.name, "train_set": train_set, "threads": threads}
    config = loop_config(changed, len(examples), seed)

    def keep() -> None:
        matcher.save(out / "model", matcher.fit_settings(dev.pairs, dev.labels))

    fit(matcher, examples, dev, config, out, swap=changed.swap, metadata=metadata, keep=keep)
    return out / "model"
