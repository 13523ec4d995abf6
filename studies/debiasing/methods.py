"""Ways to train a matcher on biased pairs without its learning the length-divergence bias.

Every method is the same training loop over another `DebiasedTrainingSet`, and one loss serves them all:

    L = − 1/B Σᵢ wᵢ Σ_y tᵢ(y) log softmax(zᵢ + eᵢ)(y)

with logits z, targets t, example weights w and an expert's log-probabilities e. `METHODS` says what each
method puts there. The length-only model p_length(y | pair) that some of them work against is the label's
frequency in the pair's category, CAT1 to CAT4, not a regression on lengths: then all methods aim to remove
the same thing, the one that down-sampling removes and the adversarial test measures, and there is nothing to
tune or to overfit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_expit, softmax
from torch import Tensor
from torch.nn import functional as F

from mobilebert_matching.data.labelled_pairs import LabelledPairs
from mobilebert_matching.length_bias.debiased_sets import level
from mobilebert_matching.length_bias.length_divergence import CATEGORIES, pairwise, word_counts
from mobilebert_matching.length_bias.length_prior import LengthPrior, adjusted
from mobilebert_runtime.errors import OptionError

# (1 − p_length)^γ times the frequency p_length leaves the log-odds of a category (1 − γ) times what they are:
# 1 levels every category exactly; 2, the usual value of focal losses, would turn the bias round.
FOCAL_GAMMA = 1.0


@dataclass(frozen=True)
class DebiasingInput:
    """What a method may draw on."""

    labelled: LabelledPairs  # N biased pairs, labels 0 and 1
    seed: int = 0
    teacher_logits: np.ndarray | None = None  # (N, 2) of a model trained on the biased distribution
    extra: LabelledPairs | None = None  # further pairs, labelled by a teacher

    @cached_property
    def prior(self) -> LengthPrior:
        """What lengths say about the labels at hand."""
        return LengthPrior.fit(*self.labelled)


@dataclass(frozen=True)
class DebiasedTrainingSet:
    """M pairs, and the terms of the loss for each."""

    labelled: LabelledPairs
    targets: np.ndarray  # (M, 2) distribution over the labels
    weights: np.ndarray  # (M,)
    expert: np.ndarray  # (M, 2) log-probabilities, added to the logits in training only


@dataclass(frozen=True)
class Method:
    """A row of the table: what it changes of ordinary training, None where nothing."""

    summary: str
    pairs: Callable[[DebiasingInput], LabelledPairs] | None = None
    targets: Callable[[DebiasingInput], np.ndarray] | None = None  # of the labelled pairs, (N, 2)
    weights: Callable[[DebiasingInput], np.ndarray] | None = None  # of the labelled pairs, (N,)
    expert: Callable[[DebiasingInput], np.ndarray] | None = None  # of the labelled pairs, (N, 2)
    trained_as: str | None = None  # another method, whose model this one takes
    needs_teacher: bool = False  # to label the pairs at hand
    needs_extra: bool = False  # further pairs, which a teacher labels
    shift: float = 0.0  # how much of `LengthPrior.shift` is added to the trained model's logits


def debiased_training_set(name: str, debiasing_input: DebiasingInput) -> DebiasedTrainingSet:
    """What a method trains on.

    Raises:
        OptionError: an unknown method, or one that needs a teacher or further pairs and has none.
        DataError: a category without both labels; or down-sampling would leave nothing.
    """
    method = find_method(name)
    if method.trained_as is not None:
        return debiased_training_set(method.trained_as, debiasing_input)
    chosen = method.pairs(debiasing_input) if method.pairs else debiasing_input.labelled
    count = len(chosen.pairs)
    return DebiasedTrainingSet(
        chosen,
        targets=method.targets(debiasing_input) if method.targets else np.eye(2)[chosen.labels],
        weights=method.weights(debiasing_input) if method.weights else np.ones(count),
        expert=method.expert(debiasing_input) if method.expert else np.zeros((count, 2)),
    )


def debiasing_loss(logits: Tensor, targets: Tensor, weights: Tensor, expert: Tensor) -> Tensor:
    """The loss at the head of this file: a mean over the batch, also of a batch whose weights are small.

    Args:
        logits: (B, 2).
        targets: (B, 2), rows sum to 1.
        weights: (B,).
        expert: (B, 2).
    """
    log_probability = F.log_softmax(logits + expert, dim=1)
    return -(weights * (targets * log_probability).sum(dim=1)).mean()


def find_method(name: str) -> Method:
    """Look up a method.

    Raises:
        OptionError: no method has this name.
    """
    if name not in METHODS:
        raise OptionError(f"debiasing method {name!r} is unknown; expected one of {', '.join(METHODS)}")
    return METHODS[name]


def rebalancing_weights(debiasing_input: DebiasingInput) -> np.ndarray:
    """`LengthPrior.rebalancing_weights` of the labelled pairs, (N,)."""
    return debiasing_input.prior.rebalancing_weights(*debiasing_input.labelled)


def teacher_weights(debiasing_input: DebiasingInput) -> np.ndarray:
    """The same for pairs whose label a teacher's distribution stands for, (N,): see `LengthPrior.weight`."""
    return debiasing_input.prior.weight(debiasing_input.labelled.pairs, _teacher(debiasing_input))


def focal_weights(debiasing_input: DebiasingInput, gamma: float = FOCAL_GAMMA) -> np.ndarray:
    """(1 − p_length(y | c))^γ for each pair, (N,): Mahabadi et al. 2020, debiased focal loss."""
    pairs, labels = debiasing_input.labelled
    return np.exp(gamma * log_expit(-(2.0 * labels - 1.0) * debiasing_input.prior.of(pairs)))


def length_expert(debiasing_input: DebiasingInput) -> np.ndarray:
    """Log-probabilities p_length of both labels, (N, 2): what the matcher then has no gain from learning.

    A product of experts (Hinton 2002) of which one is frozen and left out at test time (Clark et al. 2019).
    """
    odds = debiasing_input.prior.of(debiasing_input.labelled.pairs)
    return np.stack([log_expit(-odds), log_expit(odds)], axis=1)


def down_sampled(debiasing_input: DebiasingInput) -> LabelledPairs:
    """The paper's way: of each category's surplus label so many are dropped that the ratios are level."""
    pairs, labels = debiasing_input.labelled
    divergence = pairwise(*(word_counts(side) for side in zip(*pairs, strict=True)))
    kept, _ = level(divergence, labels == 1, seed=debiasing_input.seed)
    return LabelledPairs([pairs[row] for row in kept], labels[kept])


def augmented(debiasing_input: DebiasingInput) -> LabelledPairs:
    """All pairs, and of the extra ones so many of each category's rarer label that the ratios are level.

    Where there are not enough extra pairs of a category and label, all of them are taken.
    """
    pairs, labels = debiasing_input.labelled
    if debiasing_input.extra is None:
        raise OptionError("augmentation needs further labelled pairs; give a teacher to label them")
    prior, rng = debiasing_input.prior, np.random.default_rng(debiasing_input.seed)
    own, other = prior.category(pairs), prior.category(debiasing_input.extra.pairs)
    taken = []
    for category in CATEGORIES:
        label, missing = missing_label(labels[own == category], prior.overall)
        free = np.flatnonzero((other == category) & (debiasing_input.extra.labels == label))
        taken.append(rng.permutation(free)[: round(missing)])
    rows = np.concatenate(taken)
    return LabelledPairs(
        [*pairs, *(debiasing_input.extra.pairs[row] for row in rows)],
        np.concatenate([labels, debiasing_input.extra.labels[rows]]),
    )


def missing_label(labels: np.ndarray, overall_log_odds: float) -> tuple[int, float]:
    """Which label a category lacks for the overall ratio, and how many pairs of it.

    Args:
        labels: (N,) 0 or 1, of the category.
        overall_log_odds: of label 1.
    """
    negatives, positives = np.bincount(labels, minlength=2)
    missing = np.exp(overall_log_odds) * negatives - positives
    return (1, float(missing)) if missing > 0 else (0, float(-missing / np.exp(overall_log_odds)))


def soft_labels(debiasing_input: DebiasingInput) -> np.ndarray:
    """The teacher's distribution, (N, 2), with the bias it has learned."""
    return softmax(_teacher(debiasing_input), axis=1)


def shifted_soft_labels(debiasing_input: DebiasingInput) -> np.ndarray:
    """The teacher's distribution turned into that of level categories, (N, 2): see `LengthPrior`."""
    shift = debiasing_input.prior.shift(debiasing_input.labelled.pairs)
    return softmax(adjusted(_teacher(debiasing_input), shift), axis=1)


def _teacher(debiasing_input: DebiasingInput) -> np.ndarray:
    if debiasing_input.teacher_logits is None:
        raise OptionError("soft labels need a teacher's logits; give a teacher")
    return debiasing_input.teacher_logits.astype(np.float64)


METHODS: dict[str, Method] = {
    "original": Method("the biased pairs as they are"),
    "adjusted": Method(
        "soft labels of a teacher, shifted to level categories",
        targets=shifted_soft_labels,
        needs_teacher=True,
    ),
    "distilled": Method(
        "soft labels of a teacher as they are: what `adjusted` has to beat",
        targets=soft_labels,
        needs_teacher=True,
    ),
    "adjusted-re-weighted": Method(
        "`adjusted`, each pair weighted by how much more often level categories hold it",
        targets=shifted_soft_labels,
        weights=teacher_weights,
        needs_teacher=True,
    ),
    "re-weighted": Method("weighted until every category has the overall ratio", weights=rebalancing_weights),
    "down-sampled": Method("pairs dropped until every category has the overall ratio", pairs=down_sampled),
    "product-of-experts": Method("a length-only model's word is added in training", expert=length_expert),
    "focal": Method("pairs that lengths alone get right count less", weights=focal_weights),
    "augmented": Method(
        "pairs mined and labelled by a teacher are added until ratios are level",
        pairs=augmented,
        needs_extra=True,
    ),
    "shifted": Method("`original`, its scores shifted afterwards", trained_as="original", shift=1.0),
    "half-shifted": Method(
        "`original`, its scores shifted afterwards by half as much", trained_as="original", shift=0.5
    ),
}
