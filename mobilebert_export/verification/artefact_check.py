"""An artefact against its PyTorch model: outputs on some texts, decisions on many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from mobilebert_export import samples
from mobilebert_export.console import silenced, step
from mobilebert_export.pipeline.export_request import VERIFY_PAIRS
from mobilebert_export.pipeline.loading import load_source
from mobilebert_export.verification.decision_changes import ChangeCounter, DecisionChanges
from mobilebert_export.verification.network_outputs import AnyArtefact, Text
from mobilebert_export.verification.verify import (
    Outputs,
    Verification,
    VerificationError,
    verify,
)
from mobilebert_quantize.recipes import Tolerance
from mobilebert_runtime.card import MATCHING, read_recipe
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.matcher import Matcher
from mobilebert_runtime.tokenizer import Pair


@dataclass(frozen=True)
class Checked:
    """How an artefact compares with the PyTorch model.

    Attributes:
        result: at every sequence length.
        changes: of decisions, over many pairs; None where they were not counted.
    """

    result: Verification
    changes: DecisionChanges | None = None

    @property
    def failures(self) -> tuple[str, ...]:
        """One sentence per broken tolerance; empty when it passed."""
        return (*self.result.failures, *(self.changes.failures if self.changes else ()))

    @property
    def thin(self) -> tuple[str, ...]:
        """One sentence for each thing that is within its tolerance but has little room."""
        return self.changes.thin if self.changes else ()

    @property
    def changed_share(self) -> float:
        """Share of decisions that are others than the PyTorch model's; 0 where they were not counted."""
        return self.changes.changed_share if self.changes else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data for report.json."""
        found = self.result.to_json() | {"failures": list(self.failures), "passed": not self.failures}
        return found | {"decisions": self.changes and self.changes.to_json()}

    def require_passed(self, where: Path) -> None:
        """Raise `VerificationError` when a tolerance was broken."""
        if self.failures:
            raise VerificationError(
                f"{where}: differs from the PyTorch model on {self.result.pairs} {self.result.of}: "
                f"{'; '.join(self.failures)}"
            )


class ArtefactCheck:
    """Compares artefacts of one PyTorch model with it.

    Args:
        model: in eval mode.
        texts: pairs or single texts for `verification.verify`.
        pairs: that decisions are counted on, of matchers with integer weights.
        console: for the steps.
    """

    def __init__(self, model: Any, texts: Sequence[Text], pairs: Sequence[Pair], console: Console) -> None:
        self._model, self._texts, self._pairs, self._console = model, texts, pairs, console
        self._counter = ChangeCounter(model, pairs)
        self._known: dict[int | str, Outputs] = {}  # PyTorch is asked once, for all recipes

    def check(self, folder: Path, tolerance: Tolerance, threads: int = 1) -> Checked:
        """The comparison; decisions are not counted where outputs differ too much already.

        Raises:
            ArtefactError: the artefact is damaged.
            DataError: too few texts.
        """
        with step(self._console, f"Compare with PyTorch on {len(self._texts)} inputs"), silenced():
            artefact = AnyArtefact.load(folder, threads)
            result = verify(self._model, artefact, self._texts, tolerance, self._known)
        if artefact.card.quant == "none" or artefact.card.task != MATCHING or result.failures:
            return Checked(result)
        with step(self._console, f"Count changed decisions on {len(self._pairs):,} pairs"), silenced():
            return Checked(result, self._counter.count(Matcher.load(folder, threads), tolerance))


def verify_artefact(
    directory: Path,
    model_name: str | None,
    pairs: Sequence[Pair] | None,
    threads: int,
    console: Console,
) -> Checked:
    """Compare an existing artefact with its PyTorch model, on the tolerances in its recipe.json.

    Args:
        directory: the artefact.
        model_name: directory or name of its model; None where a shipped matcher was exported.
        pairs: to compare and to count decisions on; None: those that an export takes. Where an input is one
            text, both of a pair are.
        threads: of the artefact's runtime.
        console: for the steps.

    Raises:
        OptionError: the model is not the one the artefact was made from, or nothing says which that is.
        ArtefactError: the artefact is damaged.
        DataError: too few pairs.
    """
    with silenced():
        card = AnyArtefact.load(directory, threads).card
    made = read_recipe(directory)
    try:
        tolerance = Tolerance(**made["recipe"]["tolerance"])
    except (KeyError, TypeError) as error:
        raise ArtefactError(
            f"{directory}/recipe.json: damaged ({error}); export the artefact again"
        ) from None
    with step(console, "Load the PyTorch model"):
        model = load_source(made, directory, model_name)
    texts: Sequence[Text]
    if pairs is None:
        texts, many = samples.verification_texts(card.task, card.texts), samples.generated_pairs(VERIFY_PAIRS)
    else:
        texts = pairs if card.texts == 2 else [text for pair in pairs for text in pair]
        many = list(pairs)
    check = ArtefactCheck(model.network, texts, many, console)
    return check.check(directory, tolerance, threads)
