"""Compares an artefact with its PyTorch model: outputs on some texts, decisions on many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mobilebert_export.console import Progress, silenced
from mobilebert_export.verification.decision_changes import ChangeCounter
from mobilebert_export.verification.network_outputs import AnyArtefact, Outputs, Text
from mobilebert_export.verification.verify import Verification, verify
from mobilebert_quantize.recipes import Tolerance
from mobilebert_runtime.card import MATCHING
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.tokenizer import Pair

if TYPE_CHECKING:
    from torch import nn


class ArtefactCheck:
    """Compares artefacts of one PyTorch model with it; the model is asked once for all of them.

    Args:
        model: in eval mode.
        texts: pairs or single texts for `verification.verify`.
        pairs: that decisions are counted on, of matchers with integer weights.
        progress: told of each step.
    """

    def __init__(
        self, model: nn.Module, texts: Sequence[Text], pairs: Sequence[Pair], progress: Progress
    ) -> None:
        self._model, self._texts, self._pairs, self._progress = model, texts, pairs, progress
        self._counter = ChangeCounter(model, pairs)
        self._known: dict[int | str, Outputs] = {}

    def check(self, folder: Path, tolerance: Tolerance, threads: int = 1) -> Verification:
        """The comparison; decisions are not counted where outputs differ too much already.

        Raises:
            ArtefactError: the artefact is damaged.
            DataError: too few texts.
        """
        self._progress(f"Compare with PyTorch on {len(self._texts)} inputs")
        with silenced():
            artefact = AnyArtefact.load(folder, threads)
            found = verify(self._model, artefact, self._texts, tolerance, self._known)
        if artefact.card.quant == "none" or artefact.card.task != MATCHING or found.failures:
            return found
        self._progress(f"Count changed decisions on {len(self._pairs):,} pairs")
        with silenced():
            return found.with_decisions(self._counter.count(Matcher.load(folder, threads), tolerance))
