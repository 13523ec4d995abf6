"""Does the artefact say what the PyTorch model says? Asked on real padded pairs, in the real runtime."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from mobilebert_export import samples
from mobilebert_export.console import silenced, step
from mobilebert_export.loading import load_source
from mobilebert_runtime.card import INPUT_NAMES, ArtefactCard, read_recipe
from mobilebert_runtime.errors import CheckError, DataError
from mobilebert_runtime.matcher import Matcher, positive_probability
from mobilebert_runtime.tokenizer import Pair
from quantize.recipes import Tolerance

MINIMUM_PAIRS = 200


class VerificationError(CheckError):
    """The artefact and the PyTorch model differ by more than the recipe allows."""


@dataclass(frozen=True)
class Verification:
    """What was compared and how far apart the two are."""

    pairs: int
    max_abs_logit: float  # largest |Δlogit| over pairs and labels
    label_agreement: float  # share of pairs that get the same label
    rank_agreement: float  # Spearman correlation of the positive label's probability
    tolerance: Tolerance
    failures: tuple[str, ...]  # one sentence per broken tolerance; empty when it passed
    # The same figures of each sequence length, where several were compared; those above are then the worst.
    by_seq_len: tuple[tuple[int, "Verification"], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data for report.json."""
        data = asdict(self) | {"passed": not self.failures}
        kept = ("max_abs_logit", "label_agreement", "rank_agreement")
        data["by_seq_len"] = {
            str(length): {name: getattr(one, name) for name in kept} for length, one in self.by_seq_len
        }
        return data


def verify(model: Any, matcher: Matcher, pairs: Sequence[Pair], tolerance: Tolerance) -> Verification:
    """Run the PyTorch model and the artefact on the same pairs and compare, at every sequence length.

    Every length gets all pairs, truncated where they are longer; the tolerance holds for each by itself.

    Args:
        model: pair classifier in eval mode.
        matcher: the artefact, loaded in its runtime.
        pairs: text pairs.
        tolerance: what the recipe allows.

    Raises:
        DataError: fewer than `MINIMUM_PAIRS` pairs.
    """
    if len(pairs) < MINIMUM_PAIRS:
        raise DataError(
            f"{len(pairs)} pairs to verify on; at least {MINIMUM_PAIRS} are needed, give a larger file"
        )
    found, shift = [], matcher.card.shift(pairs)
    for bucket in matcher.card.buckets:
        encoded = matcher.tokenizer.encode(pairs, bucket.seq_len)
        expected = reference_logits(model, encoded)
        found.append(compare(expected, matcher.logits_of(encoded), matcher.card, tolerance, shift))
    return worst_of(tuple(zip((bucket.seq_len for bucket in matcher.card.buckets), found, strict=True)))


def worst_of(by_seq_len: tuple[tuple[int, Verification], ...]) -> Verification:
    """One result for several sequence lengths: the worst of each figure, every failure with its length."""
    (_, only), *others = by_seq_len
    if not others:
        return only
    results = [result for _, result in by_seq_len]
    return replace(
        only,
        max_abs_logit=max(result.max_abs_logit for result in results),
        label_agreement=min(result.label_agreement for result in results),
        rank_agreement=min(result.rank_agreement for result in results),
        failures=tuple(f"{length} tokens: {one}" for length, result in by_seq_len for one in result.failures),
        by_seq_len=by_seq_len,
    )


def reference_logits(model: Any, encoded: Mapping[str, NDArray[np.int32]]) -> NDArray[np.float32]:
    """Logits of the PyTorch model: int32 (N, S) by input name → float32 (N, labels).

    Pairs of like length go through together, cut to the longest of them, so an artefact that lets padding
    into its answer is found out; it also takes a third of the time.
    """
    import torch

    lengths = encoded["attention_mask"].sum(axis=1)
    order = np.argsort(lengths, kind="stable")
    rows: dict[int, NDArray[np.float32]] = {}
    with torch.inference_mode():
        for batch in np.array_split(order, -(-len(order) // 16)):
            width = int(lengths[batch].max())
            logits = model(*(torch.from_numpy(encoded[name][batch, :width]) for name in INPUT_NAMES))
            rows.update(zip(batch.tolist(), logits.numpy(), strict=True))
    return np.stack([rows[row] for row in range(len(order))])


def compare(
    expected: NDArray[np.float32],
    found: NDArray[np.float32],
    card: ArtefactCard,
    tolerance: Tolerance,
    shift: Sequence[float],
) -> Verification:
    """Agreement of two sets of logits, float32 (N, labels), for the decisions the card defines.

    `shift` is `card.shift` of the N pairs.
    """
    from scipy.stats import rankdata

    if not np.isfinite(found).all():
        broken = f"{int((~np.isfinite(found)).any(axis=1).sum())} pairs have a logit that is not a number"
        return Verification(len(found), float("inf"), 0.0, 0.0, tolerance, (broken,))
    difference = float(np.abs(expected - found).max())
    agreement = float((decisions(expected, card, shift) == decisions(found, card, shift)).mean())
    ranks = [rankdata(positive_log_odds(logits, card.positive)) for logits in (expected, found)]
    # Constant ranks have no order to agree on: then only two constants agree.
    constant = [np.ptp(rank) == 0 for rank in ranks]
    rank_agreement = float(all(constant)) if any(constant) else float(np.corrcoef(ranks)[0, 1])
    failures = []
    if tolerance.max_abs_logit is not None and difference > tolerance.max_abs_logit:
        failures.append(f"max |Δlogit| {difference:.2e} is above {tolerance.max_abs_logit:.0e}")
    if agreement < tolerance.min_label_agreement:
        failures.append(f"label agreement {agreement:.4f} is below {tolerance.min_label_agreement}")
    if rank_agreement < tolerance.min_rank_agreement:
        failures.append(f"rank agreement {rank_agreement:.5f} is below {tolerance.min_rank_agreement}")
    return Verification(len(found), difference, agreement, rank_agreement, tolerance, tuple(failures))


def positive_log_odds(logits: NDArray[np.float32], positive: int) -> NDArray[np.float64]:
    """Log p/(1 − p) of the positive label, (N, labels) → (N,): ordered as the probability, not saturated."""
    rest = np.delete(logits.astype(np.float64), positive, axis=1)
    highest = rest.max(axis=1, keepdims=True)
    return logits[:, positive] - (highest[:, 0] + np.log(np.exp(rest - highest).sum(axis=1)))


def decisions(logits: NDArray[np.float32], card: ArtefactCard, shift: Sequence[float]) -> NDArray[np.int64]:
    """The decision a user would see: two labels by the threshold, more by the largest logit."""
    if len(card.labels) == 2:
        called = positive_probability(logits, card, shift) >= card.threshold
        return np.where(called, card.positive, 1 - card.positive)
    return logits.argmax(axis=1)


def require_passed(result: Verification, where: Path) -> None:
    """Raise `VerificationError` when a tolerance was broken."""
    if result.failures:
        raise VerificationError(
            f"{where}: differs from the PyTorch model on {result.pairs} pairs: {'; '.join(result.failures)}"
        )


def verify_artefact(
    directory: Path,
    model_name: str | None,
    pairs: list[Pair] | None,
    threads: int,
    console: Console,
) -> Verification:
    """Compare an existing artefact with its PyTorch model, on the tolerances in its recipe.json.

    Raises:
        OptionError: the model is not the one the artefact was made from, or nothing says which that is.
        ArtefactError: the artefact is damaged.
    """
    with silenced():
        matcher = Matcher.load(directory, threads)
    made = read_recipe(directory)
    pairs = samples.verification_pairs() if pairs is None else pairs
    with step(console, "Load the PyTorch model"):
        model = load_source(made, directory, model_name)
    tolerance = Tolerance(**made["recipe"]["tolerance"])
    with step(console, f"Compare with PyTorch on {len(pairs)} pairs"), silenced():
        return verify(model.network, matcher, pairs, tolerance)
