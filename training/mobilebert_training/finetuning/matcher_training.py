"""Train a text matcher from a folder of labelled pairs to a model directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from mobilebert_matching.data.repeated_pairs import Repetitions, save_training_pairs
from mobilebert_matching.length_bias.training_sets import DataSet, TrainSet, find_data, training_part
from mobilebert_runtime.files import refuse_finished
from mobilebert_training.finetuning.fit_matcher import TrainingSettings, fit, loop_config, settings_of
from mobilebert_training.finetuning.matchers import build_matcher, source_directory
from mobilebert_training.run_directory import claim, data_hashes, locked, model_hashes


def train_matcher(
    data: Path,
    out: Path,
    *,
    arch: str = "matcher-open-m",
    train_set: TrainSet = "original",
    init: Path | None = None,
    group: str | None = None,
    max_pairs: int | None = None,
    seed: int = 0,
    threads: int = 2,
    force: bool = False,
    keep_finished: bool = False,
    progress: Callable[[str], None] = lambda _: None,
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
        force: replace a finished model, and an interrupted run on other inputs.
        progress: told of pairs that occur several times.
        keep_finished: return a finished model of the same inputs as it is.
        settings: other `TrainingSettings` than the row of `arch` has; None leaves a setting.

    Raises:
        OutputError: a finished model is there already.
        DataError: the pairs are missing or damaged.
        ResumeError: `out` holds a run with other inputs, or another process works there.
    """
    model, source = out / "model", source_directory(arch, init)
    if not keep_finished:
        refuse_finished(model, force=force)
    changed = replace(settings_of(arch), **{k: v for k, v in settings.items() if v is not None})
    inputs = asdict(changed) | {"data": data_hashes(data, ("train", "dev")), "model": model_hashes(source)}
    inputs |= {"arch": arch, "train_set": train_set, "group": group, "max_pairs": max_pairs, "seed": seed}
    with locked(out):
        claim(out, "train-matcher", inputs, force=force)
        if not (keep_finished and model.is_dir()):
            torch.set_num_threads(threads)
            _train(
                find_data(data, group),
                out,
                arch,
                train_set,
                init,
                max_pairs,
                seed,
                threads,
                changed,
                progress,
            )
    return model


def _train(
    folder: DataSet,
    out: Path,
    arch: str,
    train_set: TrainSet,
    init: Path | None,
    max_pairs: int | None,
    seed: int,
    threads: int,
    changed: TrainingSettings,
    progress: Callable[[str], None],
) -> None:
    examples, dev, metadata = training_part(folder, train_set, seed=seed, max_pairs=max_pairs)
    if said := Repetitions(**metadata["repetitions"]).describe():
        progress(f"  {folder.file('train')}: {said}")
    if seen := metadata["dev_pairs_in_training"]:
        progress(f"  {folder.folder}: {seen:,} of {len(dev):,} development pairs are training pairs, too")
    labels = int(examples.labels.max()) + 1
    matcher = build_matcher(arch, num_labels=labels, seed=seed, init=init, max_tokens=changed.max_tokens)
    metadata |= {"arch": arch, "data": folder.name, "train_set": train_set, "threads": threads}
    config = loop_config(changed, len(examples), seed)

    def keep() -> None:
        save_training_pairs(out, examples.pairs)
        matcher.save(out / "model", matcher.fit_settings(dev.pairs, dev.labels))

    fit(matcher, examples, dev, config, out, swap=changed.swap, metadata=metadata, keep=keep)
