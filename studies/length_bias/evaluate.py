"""`mobilebert evaluate` for word-level matchers too, which the installed program does not know.

python -m studies.length_bias.evaluate runs/length_bias/qqp.esim.original.seed0/model \
    --data ../shared/data/qqp/test.tsv --train ../shared/data/qqp/train.tsv --json FILE
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from typer import Argument, Option

from mobilebert_export.evaluation import scoring
from mobilebert_matching.data.labelled_pairs import read_labelled
from mobilebert_matching.evaluation.pair_evaluation import evaluate
from mobilebert_matching.evaluation.score_calibration import probabilities
from mobilebert_matching.length_bias.bias_audit import load_quartiles
from mobilebert_models import MatcherSettings
from mobilebert_runtime.files import write_json
from mobilebert_runtime.tokenizer import Pair
from studies.common.script import Threads, console, run
from studies.length_bias.word_level.word_matcher import is_word_matcher, load_word_matcher


def open_scorer(matcher: str, threads: int) -> scoring.Scorer:
    """As `mobilebert_export.evaluation.scoring.open_scorer`, word-level matchers included."""
    directory = Path(matcher)
    if not is_word_matcher(directory):
        return scoring.open_scorer(matcher, threads)
    torch.set_num_threads(threads)
    network, settings = load_word_matcher(directory), MatcherSettings.load(directory)

    def score(pairs: Sequence[Pair]) -> np.ndarray:
        return probabilities(network.predict(pairs), settings, pairs)

    return scoring.Scorer(score, settings.threshold, f"PyTorch {torch.__version__}")


def main(
    matcher: Annotated[str, Argument(help="Directory of a trained matcher, word-level or encoder.")],
    data: Annotated[Path, Option(help="Labelled pairs.")],
    json_file: Annotated[Path, Option("--json", help="The record.")],
    train: Annotated[Path | None, Option(help="Training pairs that cut CAT1 to CAT4; default: DATA.")] = None,
    threads: Threads = 2,
) -> None:
    """Accuracy, F1, AUC, calibration error and length bias of a matcher on labelled pairs."""
    pairs, labels = read_labelled(data)
    scorer = open_scorer(matcher, threads)
    quartiles = load_quartiles(train, "pairwise") if train else None
    figures = evaluate(pairs, labels, scorer.score(pairs), scorer.threshold, quartiles)
    write_json(json_file, scoring.record_head(matcher, scorer, data, symmetric=False) | figures)
    console().print(f"{matcher}: accuracy {figures['accuracy']:.4f}, AUC {figures['auc']:.4f}")


if __name__ == "__main__":
    run(main)
