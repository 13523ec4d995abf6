"""Fit the decision of a matcher to labelled pairs of a folder, by default without their length bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mobilebert_matching.data.labelled_pairs import (
    LabelledPairs,
    read_labelled,
    read_split,
    require_two_classes,
)
from mobilebert_matching.evaluation.score_calibration import SLOPES, refit
from mobilebert_matching.length_bias.length_prior import FEWEST, LengthPrior, too_few
from mobilebert_models import EmbeddingMatcher, MatcherSettings, PairClassifier
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_training.finetuning.encoded_pairs import predict_logits

USELESS = "so all pairs now score alike; give more pairs, or see whether the labels are the wrong way round"


@dataclass(frozen=True)
class Debiasing:
    """Whether the length bias of some pairs is taken out of a decision."""

    prior: LengthPrior | None  # None: it is not
    said: str  # what is done, or why nothing is


def find_debiasing(data: Path, dev: LabelledPairs, strength: float | None = None) -> Debiasing:
    """The length prior of a folder's train.tsv, or of dev.tsv where there is no other.

    Args:
        data: folder with dev.tsv and perhaps train.tsv, or the file of `dev`.
        dev: development pairs, with labels 0 and 1.
        strength: share of the bias that is taken out, however few pairs there are; 0: nothing. None: all of
            it, where the pairs are enough to fit it by.

    Raises:
        DataError: train.tsv is damaged, or with a `strength` has too few pairs for any fit.
    """
    if strength == 0:
        return Debiasing(None, "length bias: left in, as asked for")
    name = "train" if (data / "train.tsv").is_file() else "dev"
    pairs, labels = _read(data, name) if name == "train" else dev
    file, dev_file = (_file(data, part).name for part in (name, "dev"))
    if strength is None:
        fewest = int(np.bincount(dev.labels, minlength=2).min())
        lacking = f"{dev_file} has {fewest} pairs of a label, {FEWEST} are needed" if fewest < FEWEST else ""
        if (few := too_few(pairs, labels)) is not None:
            lacking = f"{file}: {few}"
        if lacking:
            return Debiasing(None, f"length bias: left in, there are too few pairs to fit it ({lacking})")
    prior = LengthPrior.fit(pairs, labels).scaled(1.0 if strength is None else strength)
    return Debiasing(prior, f"length bias: corrected by the lengths of {file}")


def fit_decision(
    network: PairClassifier | EmbeddingMatcher,
    tokenizer: PairTokenizer,
    given: MatcherSettings,
    data: Path,
    *,
    debias: float | None = None,
    equal_recall: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> MatcherSettings:
    """Temperature, threshold, length shift and, of an embedding matcher, offset, fitted on dev.tsv.

    Args:
        network: a matcher of two labels.
        tokenizer: of this model.
        given: its settings, whose names of labels stay.
        data: folder with dev.tsv and perhaps train.tsv, or one file of development pairs.
        debias: as `strength` of `find_debiasing`.
        equal_recall: as in `fit_debiased_settings`.
        progress: told, in a line, what became of the length bias, and in another where the scores say nothing
            about the labels.

    Raises:
        DataError: pairs are missing, damaged, or have other labels than 0 and 1.
    """
    dev, file = _read(data, "dev"), _file(data, "dev")
    require_two_classes(dev.labels, str(file))
    debiasing = find_debiasing(data, dev, debias)
    logits = predict_logits(network, tokenizer, dev.pairs)
    offset = isinstance(network, EmbeddingMatcher)
    settings = refit(given, logits, dev, debiasing.prior, offset=offset, equal_recall=equal_recall)
    progress(debiasing.said)
    if settings.temperature > 0.99 / SLOPES[0]:
        progress(f"{file}: the scores of its {len(dev.labels):,} pairs do not rise with the label, {USELESS}")
    return settings


def _read(data: Path, name: str) -> LabelledPairs:
    """The pairs of a folder's split, or of one file; `DataError` where a label is above 1."""
    found = read_labelled(data) if data.is_file() else read_split(data, name)
    if found.labels.max() > 1:
        raise DataError(f"{_file(data, name)}: has label {found.labels.max()}; expected 0 and 1")
    return found


def _file(data: Path, name: str) -> Path:
    return data if data.is_file() else data / f"{name}.tsv"
