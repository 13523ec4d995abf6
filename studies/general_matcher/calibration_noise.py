"""Calibration error after 500 pairs, over many draws of them: which they are decides as much as the model.

    python -m studies.general_matcher.calibration_noise matcher-open-m --out calibration_noise.json

Slope and offset are fitted on 500 random pairs of a split that no training read, and judged on the whole test
split: it opens that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from typer import Argument, Option

from mobilebert_matching.evaluation.metrics import expected_calibration_error
from mobilebert_runtime.files import write_json
from recipes.general_matchers.development import dev_pairs
from recipes.general_matchers.heads import pair_logits
from studies.common.records import Json, check_outputs
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.figures import CALIBRATED_ON, calibrated, error_by_chance
from studies.general_matcher.opened import open_matcher
from studies.general_matcher.options import SHARED, Shared

# Name, file to fit on, file to judge on, columns. MRPC's dev split has just 500 pairs.
SETS = (
    ("qqp", "qqp/dev.tsv", "qqp/test.tsv", "question"),
    ("mrpc", "glue/mrpc/train.tsv", "glue/mrpc/test.tsv", "sentence"),
    ("twitter_url", "twitter_url/train.tsv", "twitter_url/test.tsv", "sentence"),
)
MOST = 10_000  # pairs of a split to draw from or to judge on
DRAWS = 300
ASKED = 0.03


def main(
    models: Annotated[list[str], Argument(help="Embedding matchers.")],
    out: Annotated[Path, Option(help="The record.")],
    shared: Shared = SHARED,
    most: Annotated[int, Option(min=CALIBRATED_ON, help="Pairs of each split, evenly spread.")] = MOST,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write mean, 5th and 95th percentile of the error over random draws, by model and set."""
    check_outputs(out, force=force)
    torch.set_num_threads(threads)
    found: Json = {"draws": DRAWS, "fitted_on": CALIBRATED_ON, "models": {}}
    for model in models:
        matcher, tokenizer = open_matcher(model)
        of_model = found["models"][Path(model).name] = {}
        for name, fitted, judged, column in SETS:
            splits = []
            for file in (fitted, judged):
                left, right, labels = dev_pairs(shared / "data", file, column, "label", most)
                splits.append((labels, pair_logits(matcher, tokenizer, left, right)))
            of_model[name] = drawn(*splits[0], *splits[1])
            console().print(model, name, of_model[name])
    write_json(out, found)


def drawn(labels: np.ndarray, values: np.ndarray, test_labels: np.ndarray, test_values: np.ndarray) -> Json:
    """Figures of the error on test pairs (M,) over draws of the pairs (N,) that are fitted on."""
    errors = calibration_errors(labels, values, test_labels, test_values)
    all_fitted = calibrated(labels, values, test_values, len(labels))
    own = calibrated(labels, values, values, len(labels))
    ideal = calibration_errors(own, values, all_fitted, test_values, drawn_labels=True)
    return {
        "pairs": len(labels),
        "test_pairs": len(test_labels),
        "mean": round(float(errors.mean()), 4),
        "p5_p95": [round(float(v), 4) for v in np.percentile(errors, (5, 95))],
        f"share_within_{ASKED}": round(float((errors <= ASKED).mean()), 3),
        "fitted_on_all": round(expected_calibration_error(test_labels.astype(int), all_fitted), 4),
        "of_true_probabilities": error_by_chance(all_fitted)[0],
        "of_a_logistic_curve": {
            "mean": round(float(ideal.mean()), 4),
            f"share_within_{ASKED}": round(float((ideal <= ASKED).mean()), 3),
        },
    }


def calibration_errors(
    labels: np.ndarray,
    values: np.ndarray,
    test_labels: np.ndarray,
    test_values: np.ndarray,
    *,
    drawn_labels: bool = False,
) -> np.ndarray:
    """Expected calibration error of each draw, (`DRAWS`,), of labels and log-odds.

    Args:
        labels: (N,) of the pairs to fit on, 0 or 1.
        values: (N,) their log-odds.
        test_labels: (M,) of the pairs to judge on.
        test_values: (M,) their log-odds.
        drawn_labels: both labels are probabilities, from which each draw takes its labels: what a
            calibration of the right form would show.
    """
    draw, errors = np.random.default_rng(0), []
    for _ in range(DRAWS):
        fitted = draw.permutation(len(labels))[:CALIBRATED_ON]
        own, judged = labels[fitted], test_labels
        if drawn_labels:
            own = (draw.random(len(own)) < own).astype(float)
            judged = (draw.random(len(judged)) < judged).astype(float)
        found = calibrated(own, values[fitted], test_values)
        errors.append(expected_calibration_error(judged.astype(int), found))
    return np.array(errors)


if __name__ == "__main__":
    run(main)
