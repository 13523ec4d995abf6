"""One way to score pairs, whether the matcher is a PyTorch model or an artefact in its runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matching.wordpiece import Pair
from mobilebert_export.artefact import CARD_FILE


@dataclass(frozen=True)
class Scorer:
    """Probabilities of the positive label, and the threshold that goes with them."""

    score: Callable[[Sequence[Pair]], np.ndarray]  # N pairs → (N,) in [0, 1]
    threshold: float
    runtime: str


def open_scorer(matcher: str, threads: int) -> Scorer:
    """Open 'shipped', a model directory or an artefact folder.

    Raises:
        ArtefactError: a damaged artefact.
        ModelFileError: neither an artefact nor a pair classifier.
    """
    if (Path(matcher) / CARD_FILE).is_file():
        from mobilebert_export.runtime import Matcher

        artefact = Matcher.load(matcher, threads)
        card = artefact.card
        return Scorer(artefact.score, card.threshold, f"{card.target} {card.quant}, {artefact.backend.name}")
    return _open_model(matcher, threads)


def _open_model(matcher: str, threads: int) -> Scorer:
    import torch
    from scipy.special import softmax

    import models
    from matching.matchers import load_matcher

    torch.set_num_threads(threads)
    directory = models.shipped_directory() if matcher == "shipped" else Path(matcher)
    network = load_matcher(directory)
    settings = models.MatcherSettings.load(directory)

    def score(pairs: Sequence[Pair]) -> np.ndarray:
        logits = network.predict(pairs).astype(np.float64)
        return softmax(logits / settings.temperature, axis=1)[:, settings.positive]

    return Scorer(score, settings.threshold, f"PyTorch {torch.__version__}")
