"""Compares an artefact with the PyTorch model on real padded texts in the real runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mobilebert_export.verification.agreement import Agreement, agree
from mobilebert_export.verification.decision_changes import DecisionChanges
from mobilebert_export.verification.network_outputs import (
    AnyArtefact,
    Outputs,
    Text,
    network_inputs,
    reference_outputs,
)
from mobilebert_quantize.recipes import Tolerance
from mobilebert_runtime.card import (
    CLASSIFICATION,
    EMBEDDING,
    MATCHING,
    OUTPUT_NAME,
    PACKED_SIGNATURE,
    ArtefactCard,
)
from mobilebert_runtime.errors import CheckError, DataError
from mobilebert_runtime.tokenizer import Pair

if TYPE_CHECKING:
    from torch import nn

MINIMUM_TEXTS = 200
RANKED = 32  # texts that one query is ranked against
# Figures of which the smallest, and the largest, of several sequence lengths is the worst.
_HIGHER_IS_BETTER = ("label_agreement", "rank_agreement", "min_cosine")
_LOWER_IS_BETTER = ("max_abs_logit", "expected_loss")


class VerificationError(CheckError):
    """The artefact and the PyTorch model differ by more than the recipe allows."""


@dataclass(frozen=True)
class Verification:
    """What was compared and how far apart the two are; None where the task has no such figure."""

    pairs: int  # or single texts
    max_abs_logit: float  # largest |Δ| of an output over all inputs
    label_agreement: float | None  # share of pairs, texts, tokens or answers that get the same label or place
    # Share of right answers that changed labels lose if the PyTorch model's probabilities are right.
    expected_loss: float | None
    rank_agreement: float | None  # Spearman correlation of the scores; of vectors, of pairs' cosines
    tolerance: Tolerance
    failures: tuple[str, ...]  # one sentence per broken tolerance; empty when it passed
    # The same figures of each sequence length, where several were compared; those above are then the worst.
    # "packed" are pairs with the same first text that ran together.
    by_seq_len: tuple[tuple[int | str, Verification], ...] = ()
    min_cosine: float | None = None  # of the two vectors of a text, the worst text
    of: str = "pairs"  # or "texts"
    decisions: DecisionChanges | None = None  # over many pairs; None where they were not counted

    @property
    def passed(self) -> bool:
        """Whether every tolerance holds."""
        return not self.failures

    @property
    def thin(self) -> tuple[str, ...]:
        """One sentence for each thing that is within its tolerance but has little room."""
        return self.decisions.thin if self.decisions else ()

    @property
    def changed_share(self) -> float:
        """Share of decisions that differ from the PyTorch model's; 0 where they were not counted."""
        return self.decisions.changed_share if self.decisions else 0.0

    def with_decisions(self, counted: DecisionChanges) -> Verification:
        """The same with what counting decisions found, failures included."""
        return replace(self, decisions=counted, failures=(*self.failures, *counted.failures))

    def require_passed(self, where: Path) -> None:
        """Raise `VerificationError` when a tolerance was broken."""
        if self.failures:
            raise VerificationError(
                f"{where}: differs from the PyTorch model on {self.pairs} {self.of}: "
                f"{'; '.join(self.failures)}"
            )

    def to_json(self) -> dict[str, object]:
        """Plain data for report.json."""
        data = asdict(self) | {"passed": self.passed}
        data["failures"] = list(self.failures)
        data["decisions"] = self.decisions and self.decisions.to_json()
        data["by_seq_len"] = {
            str(length): {name: getattr(one, name) for name in (*_LOWER_IS_BETTER, *_HIGHER_IS_BETTER)}
            for length, one in self.by_seq_len
        }
        return data


def verify(
    model: nn.Module,
    artefact: AnyArtefact,
    texts: Sequence[Text],
    tolerance: Tolerance,
    known: dict[int | str, Outputs] | None = None,
) -> Verification:
    """Run the PyTorch model and the artefact on the same texts and compare, at every sequence length.

    Every length gets all texts, truncated where they are longer; the tolerance holds for each by itself, and
    for pairs that run packed.

    Args:
        model: in eval mode.
        artefact: in its runtime.
        texts: pairs, or single texts of which two that follow each other are a pair.
        tolerance: what the recipe allows.
        known: the model's outputs on these texts by sequence length and "packed", as far as they were asked
            for before; the others are added.

    Raises:
        DataError: fewer than `MINIMUM_TEXTS` of them.
    """
    if len(texts) < MINIMUM_TEXTS:
        raise DataError(
            f"{len(texts)} pairs to verify on; at least {MINIMUM_TEXTS} are needed, give a larger file"
        )
    card = artefact.card
    shift = card.shift([one for one in texts if not isinstance(one, str)]) if card.task == MATCHING else []
    known = {} if known is None else known
    found: list[tuple[int | str, Verification]] = []
    for bucket in card.buckets:
        encoded = network_inputs(texts, artefact.tokenizer, bucket.seq_len, card.inputs)
        if bucket.seq_len not in known:
            known[bucket.seq_len] = reference_outputs(model, encoded, tuple(card.outputs(bucket.seq_len)))
        outputs = artefact.all_outputs(encoded)
        one = compare(known[bucket.seq_len], outputs, card, tolerance, shift, encoded["attention_mask"])
        found.append((bucket.seq_len, one))
    if artefact.backend.packed is not None:
        pairs = [one for one in texts if not isinstance(one, str)]
        if packed := _verify_packed(model, artefact, pairs, tolerance, known):
            found.append((PACKED_SIGNATURE, packed))
    return worst_of(tuple(found))


def _verify_packed(
    model: nn.Module,
    artefact: AnyArtefact,
    pairs: Sequence[Pair],
    tolerance: Tolerance,
    known: dict[int | str, Outputs],
) -> Verification | None:
    """Queries ranked against several texts, as they run packed, and each pair alone in PyTorch.

    Arguments as those of `verify`; the queries are first texts, every `RANKED`th of them. None where the
    pairs are so long that no two run packed.
    """
    card, names = artefact.card, artefact.card.inputs
    ranked = [
        (pairs[start][0], b)
        for start in range(0, len(pairs), RANKED)
        for _, b in pairs[start : start + RANKED]
    ]
    rows = artefact.tokenizer.ids(ranked, card.seq_len)
    logits = artefact.run_packed(rows)
    places = sorted(logits)
    if not places:
        return None
    if PACKED_SIGNATURE not in known:
        encoded = network_inputs(ranked, artefact.tokenizer, card.seq_len, names)
        known[PACKED_SIGNATURE] = reference_outputs(model, encoded, (OUTPUT_NAME,))
    expected = {OUTPUT_NAME: known[PACKED_SIGNATURE][OUTPUT_NAME][places]}
    found = {OUTPUT_NAME: np.stack([logits[place] for place in places])}
    # The packed graph returns no vectors.
    only_logits = replace(card, embedding=None)
    return compare(expected, found, only_logits, tolerance, card.shift([ranked[place] for place in places]))


def worst_of(by_seq_len: tuple[tuple[int | str, Verification], ...]) -> Verification:
    """One result for several sequence lengths: the worst of each figure, every failure with its length."""
    (_, only), *others = by_seq_len
    if not others:
        return only
    results = [result for _, result in by_seq_len]
    worst = {
        name: of(value for result in results if (value := getattr(result, name)) is not None)
        for of, names in ((min, _HIGHER_IS_BETTER), (max, _LOWER_IS_BETTER))
        for name in names
        if getattr(only, name) is not None
    }
    return replace(
        only,
        failures=tuple(
            f"{length if isinstance(length, str) else f'{length} tokens'}: {one}"
            for length, result in by_seq_len
            for one in result.failures
        ),
        by_seq_len=by_seq_len,
        **worst,
    )


def compare(
    expected: Outputs,
    found: Outputs,
    card: ArtefactCard,
    tolerance: Tolerance,
    shift: Sequence[float],
    mask: NDArray[np.int32] | None = None,
) -> Verification:
    """Agreement of two sets of outputs, float32 (N, …) by name, for the decisions the card defines.

    `shift` is `card.shift` of N pairs, `mask` (N, S) is 1 at real tokens; all are where none is given.
    """
    of = "pairs" if card.texts == 2 else "texts"
    count = len(next(iter(found.values())))
    wrong = [(~np.isfinite(values)).reshape(count, -1).any(axis=1) for values in found.values()]
    if damaged := int(np.any(wrong, axis=0).sum()):
        broken = f"{damaged} {of} have an output that is not a number"
        return Verification(count, float("inf"), 0.0, 1.0, 0.0, tolerance, (broken,), of=of)
    real = np.ones((count, card.seq_len), np.int32) if mask is None else mask
    agreement = agree(expected, found, card, shift, real)
    return Verification(
        pairs=count,
        max_abs_logit=agreement.max_abs_logit,
        label_agreement=agreement.label_agreement,
        expected_loss=agreement.expected_loss,
        rank_agreement=agreement.rank_agreement,
        tolerance=tolerance,
        failures=tuple(_failures(agreement, tolerance, card)),
        min_cosine=agreement.min_cosine,
        of=of,
    )


def _failures(agreement: Agreement, tolerance: Tolerance, card: ArtefactCard) -> list[str]:
    graded = card.task == EMBEDDING or (card.task == CLASSIFICATION and card.activation == "identity")
    rank = tolerance.min_cosine_rank if graded else tolerance.min_rank_agreement
    failures = []
    difference, limit = agreement.max_abs_logit, tolerance.max_abs_logit
    if limit is not None and difference > limit:
        failures.append(f"max |Δlogit| {difference:.2e} is above {limit:.0e}")
    loss, most = agreement.expected_loss, tolerance.max_expected_loss
    if loss is not None and loss > most:
        failures.append(f"expected to lose {100 * loss:.2f} points of accuracy, above {100 * most:.2f}")
    for what, value, least, digits in (
        ("label agreement", agreement.label_agreement, tolerance.min_label_agreement, 4),
        ("rank agreement", agreement.rank_agreement, rank, 5),
        ("cosine", agreement.min_cosine, tolerance.min_cosine, 6),
    ):
        if value is not None and least is not None and value < least:
            failures.append(f"{what} {value:.{digits}f} is below {least}")
    return failures
