"""What pairs of one's own bring: matcher-open-m fine-tuned on some, beside itself and a logistic regression.

    python -m studies.general_matcher.learning_curve --out results/general_matcher/learning_curve.json

For each data set, number of pairs and seed: the model as shipped, calibrated on them, a logistic regression
on its cosine, and the model fine-tuned as `mobilebert ship` does. A fifth of the pairs, at most 1,000, choose
the epoch and the threshold of the fine-tuned model; the regression is fitted on all of them.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from typer import Option

from mobilebert_export.shipping.ship import DEV_PAIRS, DEV_SHARE
from mobilebert_matching.evaluation.metrics import expected_calibration_error
from mobilebert_matching.evaluation.score_calibration import probabilities
from mobilebert_matching.length_bias.training_sets import Examples
from mobilebert_models import find_directory
from mobilebert_runtime.files import write_json
from mobilebert_training.finetuning.fit_matcher import fit, loop_config, settings_of
from mobilebert_training.finetuning.matchers import build_matcher
from recipes.general_matchers.heads import token_states
from recipes.general_matchers.texts import rows
from studies.common.records import read_json
from studies.common.script import Threads, console, run
from studies.general_matcher.evaluation_sets import spread
from studies.general_matcher.figures import auc
from studies.general_matcher.opened import open_matcher
from studies.general_matcher.options import SHARED, Shared

SETS = {"mrpc": ("glue/mrpc", "sentence"), "qqp": ("qqp", "question")}
TESTED = 1000  # test pairs, evenly spread


def main(
    out: Annotated[Path, Option(help="The record; what is in it already is not done again.")],
    model: Annotated[str, Option(help="Which embedding matcher.")] = "matcher-open-m",
    shared: Shared = SHARED,
    data: Annotated[list[str] | None, Option(help="mrpc or qqp (repeat for both).")] = None,
    pairs: Annotated[
        list[int] | None, Option(help="Training pairs (repeat); default 500, 2000, 10000.")
    ] = None,
    seeds: Annotated[int, Option(min=1, help="Seeds 0, 1, …")] = 3,
    split: Annotated[str, Option(help="What is measured on: dev for choices, then test.")] = "test",
    bf16: Annotated[bool, Option("--bf16", help="Train in bfloat16 products.")] = False,
    threads: Threads = 1,
) -> None:
    """Fill in the record, cell by cell."""
    torch.set_num_threads(threads)
    record: dict[str, Any] = (
        read_json(out) if out.is_file() else {"model": model, "split": split, "cells": {}}
    )
    for name in data or list(SETS):
        train, tested = examples(shared, name, "train"), examples(shared, name, split, TESTED)
        for count in pairs or (500, 2000, 10_000):
            if count > len(train):
                continue
            for seed in range(seeds):
                key = f"{name} {count} seed {seed}"
                if key not in record["cells"]:
                    record["cells"][key] = cell(model, train, tested, count, seed, bf16=bf16)
                    write_json(out, record)
                console().print(f"{key}: {record['cells'][key]}")


def examples(shared: Path, name: str, split: str, most: int = 10**9) -> Examples:
    """Pairs of a split, evenly spread where they are more than `most`."""
    folder, column = SETS[name]
    found = spread(rows(shared / "data" / folder / f"{split}.tsv"), most)
    pairs = [(row[f"{column}1"], row[f"{column}2"]) for row in found]
    return Examples(pairs, np.array([int(row["label"]) for row in found]), None)


def cell(
    model: str, train: Examples, tested: Examples, count: int, seed: int, *, bf16: bool
) -> dict[str, dict[str, float]]:
    """AUC, accuracy and calibration error of the three on `tested`."""
    order = np.random.default_rng(seed).permutation(len(train))[:count]
    kept_back = min(DEV_PAIRS, round(DEV_SHARE * count))
    dev, rest = train.take(order[:kept_back]), train.take(order[kept_back:])
    directory = find_directory(model)
    matcher = build_matcher(str(directory), seed=seed, max_tokens=settings_of("matcher-open-m").max_tokens)
    untuned = matcher.predict(tested.pairs)
    own = matcher.fit_settings(train.take(order).pairs, train.labels[order])
    fitted, asked = (cosines(directory, part) for part in (train.take(order), tested))
    regression = LogisticRegression(C=1e6).fit(fitted[:, None], train.labels[order])
    settings = settings_of("matcher-open-m")
    config = replace(loop_config(settings, len(rest), seed), dtype="bf16" if bf16 else "float32")
    with tempfile.TemporaryDirectory() as scratch:
        trained = fit(matcher, rest, dev, config, Path(scratch))
    decided = matcher.fit_settings(dev.pairs, dev.labels)
    tuned = probabilities(matcher.predict(tested.pairs), decided, tested.pairs)
    return {
        "untuned": figures(tested, probabilities(untuned, own, tested.pairs), own.threshold),
        "regression": figures(tested, regression.predict_proba(asked[:, None])[:, 1], 0.5),
        "tuned": figures(tested, tuned, decided.threshold) | {"best_step": trained["best_step"]},
    }


def cosines(directory: Path, part: Examples) -> np.ndarray:
    """Of the vectors of each pair's texts, (N,)."""
    matcher, tokenizer = open_matcher(str(directory))
    texts = [text for pair in part.pairs for text in pair]
    vectors = np.stack([state.vector for state in token_states(matcher, tokenizer, texts)])
    return np.asarray((vectors[0::2] * vectors[1::2]).sum(1))


def figures(tested: Examples, scores: np.ndarray, threshold: float) -> dict[str, float]:
    """AUC, accuracy at the threshold, expected calibration error."""
    found = {
        "auc": auc(tested.labels, scores),
        "accuracy": float(((scores >= threshold) == tested.labels).mean()),
        "ece": expected_calibration_error(tested.labels, scores),
    }
    return {name: round(value, 4) for name, value in found.items()}


if __name__ == "__main__":
    run(main)
