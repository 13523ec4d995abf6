"""Calibration error that chance leaves after 500 pairs: fitted and judged on pairs of one set.

    python -m studies.general_matcher.calibration_noise matcher-open-m --out calibration_noise.json

Slope and offset are fitted on 500 random pairs of MRPC's train split, which no training read, and judged on
as many others as the test split has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from typer import Argument, Option

from distill.general.development import dev_pairs
from distill.general.heads import pair_logits
from matching.evaluation.metrics import expected_calibration_error
from mobilebert_runtime.files import write_json
from studies.common.records import check_outputs
from studies.common.script import Force, Threads, console, run
from studies.general_matcher.figures import CALIBRATED_ON, calibrated
from studies.general_matcher.opened import open_matcher
from studies.general_matcher.options import SHARED, Shared

TRAIN, TESTED = "glue/mrpc/train.tsv", 1725
DRAWS = 300


def main(
    model: Annotated[str, Argument(help="An embedding matcher.")],
    out: Annotated[Path, Option(help="The record.")],
    shared: Shared = SHARED,
    threads: Threads = 1,
    force: Force = False,
) -> None:
    """Write mean, 5th and 95th percentile of the error over random draws."""
    check_outputs(out, force=force)
    torch.set_num_threads(threads)
    matcher, tokenizer = open_matcher(model)
    left, right, labels = dev_pairs(shared / "data", TRAIN, "sentence", "label", 10**9)
    errors = chance_errors(labels, pair_logits(matcher, tokenizer, left, right))
    low, high = np.percentile(errors, (5, 95))
    found = {"model": model, "draws": DRAWS, "fitted_on": CALIBRATED_ON, "judged_on": TESTED}
    found |= {name: round(float(v), 4) for name, v in (("mean", errors.mean()), ("p5", low), ("p95", high))}
    write_json(out, found)
    console().print(found)


def chance_errors(labels: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Expected calibration error of each draw, (`DRAWS`,), of labels (N,) and log-odds (N,)."""
    draw, errors = np.random.default_rng(0), []
    for _ in range(DRAWS):
        order = draw.permutation(len(labels))
        fitted, judged = order[:CALIBRATED_ON], order[CALIBRATED_ON : CALIBRATED_ON + TESTED]
        found = calibrated(labels[fitted], values[fitted], values[judged])
        errors.append(expected_calibration_error(labels[judged].astype(int), found))
    return np.array(errors)


if __name__ == "__main__":
    run(main)
