"""Scores pairs with a PyTorch model or an artefact through one interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mobilebert_runtime.card import CARD_FILE
from mobilebert_runtime.errors import DataError, OptionError
from mobilebert_runtime.tokenizer import Pair

Figures = Mapping[str, Any]  # as `mobilebert_matching.evaluation.pair_evaluation.evaluate` gives them
PART = 256  # pairs between two reports of progress


@dataclass(frozen=True)
class Scorer:
    """Probabilities of the positive label, and the threshold that goes with them."""

    score: Callable[[Sequence[Pair]], np.ndarray]  # N pairs → (N,) in [0, 1]
    threshold: float
    runtime: str

    def score_all(self, pairs: Sequence[Pair], progress: Callable[[int, int], None]) -> np.ndarray:
        """`score` of many pairs, (N,); `progress` is called with (pairs done, pairs in all)."""
        parts = []
        for start in range(0, len(pairs), PART):
            parts.append(self.score(pairs[start : start + PART]))
            progress(min(start + PART, len(pairs)), len(pairs))
        return np.concatenate(parts)


@dataclass(frozen=True)
class Evaluation:
    """How good a matcher is on labelled pairs."""

    matcher: str
    runtime: str
    symmetric: bool
    data: str  # the file's name and its folder's
    quartiles_from: str | None  # what cut CAT1 to CAT4, named as `data`; None: the data itself
    seen_in_training: int | None  # pairs that are training pairs, in either order; None: those are not known
    figures: Figures  # all of them: with intervals, by length divergence, without length bias

    @property
    def pairs(self) -> int:
        """How many pairs were scored."""
        return int(self.figures["pairs"])

    @property
    def accuracy(self) -> float:
        """Share of pairs that are labelled right."""
        return float(self.figures["accuracy"])

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall of matches; None where neither is defined."""
        value: float | None = self.figures["f1"]
        return value

    @property
    def auc(self) -> float | None:
        """Area under the ROC curve; None of one class."""
        value: float | None = self.figures["auc"]
        return value

    @property
    def ece(self) -> float:
        """Expected calibration error of the probabilities."""
        return float(self.figures["ece"])

    def to_json(self) -> dict[str, Any]:
        """Plain data: one record."""
        head = {name: value for name, value in vars(self).items() if name != "figures"}
        return head | dict(self.figures)


def open_scorer(
    matcher: str, threads: int, *, symmetric: bool = False, positive: str | None = None
) -> Scorer:
    """Open 'shipped', a model directory or an artefact folder.

    Args:
        matcher: which.
        threads: CPU threads.
        symmetric: average the probabilities of both orders of a pair; twice the time.
        positive: class of a model directory that means a match, where its name does not say so.

    Raises:
        ArtefactError: a damaged artefact.
        OptionError: `positive` is no class, or is needed and missing.
        ModelError: neither an artefact nor a pair classifier.
    """
    if (Path(matcher) / CARD_FILE).is_file():
        from mobilebert_runtime.matcher import Matcher

        artefact = Matcher.load(matcher, threads)
        card = artefact.card
        if positive not in (None, card.labels[card.positive]):
            raise OptionError(
                f"--positive {positive!r}: {matcher} was made for {card.labels[card.positive]!r}"
            )
        return Scorer(
            lambda pairs: artefact.score(pairs, symmetric=symmetric),
            card.threshold,
            f"{card.target} {card.quant}, {artefact.backend.name}",
        )
    return _open_model(matcher, threads, symmetric, positive)


def _open_model(matcher: str, threads: int, symmetric: bool, positive: str | None) -> Scorer:
    import torch

    import mobilebert_models
    from mobilebert_matching.evaluation.score_calibration import probabilities
    from mobilebert_training.finetuning.matchers import load_matcher

    torch.set_num_threads(threads)
    directory = mobilebert_models.find_directory(matcher)
    network = load_matcher(directory)
    settings = mobilebert_models.MatcherSettings.load(directory, positive)
    count = getattr(network, "num_labels", len(settings.labels))
    if len(settings.labels) != count:
        raise mobilebert_models.ModelError(
            f"{directory}: matcher.json names {len(settings.labels)} labels, the network has {count}"
        )

    def score(pairs: Sequence[Pair]) -> np.ndarray:
        return probabilities(network.predict(pairs), settings, pairs)

    def score_both(pairs: Sequence[Pair]) -> np.ndarray:
        return (score(pairs) + score([(b, a) for a, b in pairs])) / 2

    return Scorer(score_both if symmetric else score, settings.threshold, f"PyTorch {torch.__version__}")


def evaluate(
    matcher: str | Path,
    data: str | Path,
    train: str | Path | None = None,
    *,
    threads: int = 2,
    symmetric: bool = False,
    positive: str | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Evaluation:
    """Every figure of a matcher on labelled pairs: overall, by length divergence, without length bias.

    Args:
        matcher: a model directory, an artefact folder, or the name of a shipped matcher.
        data: labelled pairs.
        train: training pairs, whose length divergences cut CAT1 to CAT4 (default: those of the data itself);
            or an earlier report (.json).
        threads: CPU threads.
        symmetric: mean over both orders of a pair; twice the time.
        positive: class that means a match, where the model's class names do not say so.
        progress: called with (pairs done, pairs in all).

    Raises:
        DataError: damaged pairs, or labels of more than two classes; nothing was scored.
        UserError: see `open_scorer`.
    """
    from mobilebert_matching.data.labelled_pairs import read_labelled, require_known_labels
    from mobilebert_matching.evaluation import pair_evaluation
    from mobilebert_matching.length_bias.bias_audit import load_quartiles

    data = Path(data)
    pairs, labels = read_labelled(data)
    require_known_labels(labels, 2, data)
    quartiles = load_quartiles(Path(train), "pairwise") if train else None
    scorer = open_scorer(str(matcher), threads, symmetric=symmetric, positive=positive)
    scores = scorer.score_all(pairs, progress)
    figures = pair_evaluation.evaluate(pairs, labels, scores, scorer.threshold, quartiles)
    head = record_head(str(matcher), scorer, data, symmetric=symmetric)
    return Evaluation(
        **head,
        quartiles_from=_short(Path(train)) if train else None,
        seen_in_training=_seen(pairs, matcher, train),
        figures=figures,
    )


def _seen(pairs: Sequence[Pair], matcher: str | Path, train: str | Path | None) -> int | None:
    """How many pairs are in the training file, or among those that the run of the matcher's folder kept."""
    from mobilebert_matching.data.pairs import read_text_pairs
    from mobilebert_matching.data.repeated_pairs import TRAINING_PAIRS, pair_hashes, seen_in_training

    kept = Path(matcher).resolve().parent / TRAINING_PAIRS
    if train is not None and Path(train).suffix != ".json":
        return seen_in_training(pairs, pair_hashes(read_text_pairs(train)))
    if not (Path(matcher).is_dir() and kept.is_file()):
        return None
    try:
        return seen_in_training(pairs, np.load(kept, allow_pickle=False))
    except ValueError as error:
        raise DataError(f"{kept}: is damaged ({error}); delete it") from error


def record_head(matcher: str, scorer: Scorer, data: Path, *, symmetric: bool) -> dict[str, Any]:
    """What every record of a matcher on a file of pairs begins with.

    An absolute path says where one machine keeps a matcher; its name does not.
    """
    return {
        "matcher": Path(matcher).name if Path(matcher).is_absolute() else matcher,
        "runtime": scorer.runtime,
        "symmetric": symmetric,
        "data": _short(data),
    }


def _short(path: Path) -> str:
    """A file's name and its folder's."""
    return "/".join(path.parts[-2:])
