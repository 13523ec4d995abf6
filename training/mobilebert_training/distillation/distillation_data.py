"""What students are taught with: labelled pairs, mined pairs, and what teachers say of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import log_softmax

import mobilebert_models
from mobilebert_matching.data.labelled_pairs import LabelledPairs, read_split, require_classes
from mobilebert_matching.length_bias.length_prior import LengthPrior, adjusted
from mobilebert_matching.mining.tfidf import mine_pairs
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from mobilebert_training.distillation.losses import UNLABELLED
from mobilebert_training.distillation.task_distillation import TaskTargets
from mobilebert_training.distillation.teacher_logits import teacher_logits


@dataclass(frozen=True)
class DistillationData:
    """N pairs, of which the first `len(train.pairs)` have labels of their own."""

    train: LabelledPairs
    mined: list[Pair]
    dev: LabelledPairs

    @property
    def pairs(self) -> list[Pair]:
        """Labelled pairs, then mined ones."""
        return self.train.pairs + self.mined

    @property
    def labels(self) -> np.ndarray:
        """(N,) class indices, `UNLABELLED` for mined pairs."""
        return np.concatenate([self.train.labels, np.full(len(self.mined), UNLABELLED)])

    @property
    def texts(self) -> list[str]:
        """Both texts of every labelled pair."""
        return [text for pair in self.train.pairs for text in pair]


def gather(data: Path, mined_pairs: int, seed: int = 0) -> DistillationData:
    """Read a folder of pairs and mine unlabelled ones among its training texts.

    Pairs of dev.tsv and, where there is one, test.tsv are never mined.

    Raises:
        DataError: train.tsv or dev.tsv is missing or has bad rows.
    """
    train, dev = read_split(data, "train"), read_split(data, "dev")
    require_classes(train, dev, data)
    held_out = dev.pairs + (read_split(data, "test").pairs if (data / "test.tsv").is_file() else [])
    distillation_data = DistillationData(train, [], dev)
    if not mined_pairs:
        return distillation_data
    mined = mine_pairs(distillation_data.texts, mined_pairs, known=train.pairs + held_out, seed=seed)
    return DistillationData(train, mined, dev)


def teachers_logits(
    teachers: Sequence[Path],
    pairs: Sequence[Pair],
    folder: Path,
    progress: Callable[[float], None] = lambda _: None,
) -> np.ndarray:
    """The mean of the teachers' log-probabilities (N, C): the logits of their product of experts.

    Args:
        teachers: model directories of fine-tuned pair classifiers.
        pairs: N pairs.
        folder: where `teacher_logits` keeps them.
        progress: called with the share that is done.
    """
    sums: list[np.ndarray] = []
    for place, directory in enumerate(teachers):
        teacher, tokenizer = mobilebert_models.load_classifier(directory), PairTokenizer.load(directory)

        def report(share: float, place: int = place) -> None:
            progress((place + share) / len(teachers))

        logits = teacher_logits(teacher, tokenizer, pairs, folder, report)
        sums.append(log_softmax(logits.astype(np.float64), axis=1))
    return np.mean(sums, axis=0)


def task_targets(distillation_data: DistillationData, logits: np.ndarray, strength: float) -> TaskTargets:
    """Targets from which `strength` of the length-divergence bias of the training pairs is taken.

    A mined pair has the teachers' belief about a pair they never saw: it is shifted, as `LengthPrior` says.
    What they say of a labelled pair is mostly memory of its label, which no shift of a few tenths moves; a
    pair of label y and category c counts (p(y) / p(y | c)) to the power of `strength` instead.

    Args:
        distillation_data: N pairs.
        logits: (N, C) of the teachers.
        strength: 0 leaves the bias as the teachers learned it; 1 is what Bayes asks for.

    Raises:
        ModelError: a strength for other than two classes.
        DataError: a category without both labels.
    """
    weights, known = np.ones(len(distillation_data.pairs)), len(distillation_data.train.pairs)
    if not strength:
        return TaskTargets(logits, weights)
    if logits.shape[1] != 2:
        raise ModelError(f"taking length bias out needs two classes, the teachers have {logits.shape[1]}")
    prior = LengthPrior.fit(*distillation_data.train)
    weights[:known] = prior.rebalancing_weights(*distillation_data.train) ** strength
    debiased = logits.copy()
    debiased[known:] = adjusted(logits[known:], prior.shift(distillation_data.mined), strength)
    return TaskTargets(debiased, weights)
