"""What a trained decision is worth on pairs that it was not trained on, and the settings fitted to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from mobilebert_matching.data.labelled_pairs import LabelledPairs
from mobilebert_matching.evaluation.score_calibration import (
    fit_debiased_settings,
    fit_settings,
    probabilities,
)
from mobilebert_matching.length_bias.length_prior import LengthPrior, too_few
from mobilebert_models import MatcherSettings
from mobilebert_models.networks.embedding_matcher import EmbeddingMatcher, PairDecision
from mobilebert_runtime.tokenizer import Pair, PairTokenizer
from recipes.general_matchers.decision.natural_pairs import NaturalPair, natural_pairs, unused_sentences
from recipes.general_matchers.decision.pairs import DomainPair, Embed, development_pairs
from recipes.general_matchers.decision.thresholds import by_domain, equal_error
from recipes.general_matchers.heads import distinct_texts, head_logits, token_states

DRAWS = 8  # of a near pair's label, to which the length shift is fitted
JUDGED, NATURAL = 600, 300  # pairs of held-out intents; minimal pairs, and as many paraphrases


def pairs_for_choices(
    shared: Path | None, texts: Sequence[str], held: int, embed: Embed, seed: int
) -> list[DomainPair]:
    """Pairs of domains with both labels, of which the decision learns nothing.

    Args:
        shared: folder with data/ and corpora/; without it there are natural pairs of held texts, if any.
        texts: all of the pool.
        held: first texts, of which the decision learns nothing.
        embed: texts → unit vectors.
        seed: of the training's pairs.
    """
    if shared is None:
        found: list[DomainPair] = []
        natural = natural_pairs(texts[:held], NATURAL, seed + 1)
    else:
        found = development_pairs(shared / "data", embed, JUDGED, seed)
        unused = unused_sentences(shared / "corpora", texts, seed + 1)
        natural = natural_pairs(unused, NATURAL, seed + 1)
    found += [as_domain(pair) for pair in natural]
    both = {pair.domain for pair in found if pair.label} & {pair.domain for pair in found if not pair.label}
    return [pair for pair in found if pair.domain in both]


def as_domain(pair: NaturalPair) -> DomainPair:
    """A natural pair as one of its domain."""
    return DomainPair("natural", pair.label, (pair.left, pair.right))


def measure(
    matcher: EmbeddingMatcher,
    head: PairDecision,
    tokenizer: PairTokenizer,
    pairs: Sequence[DomainPair],
    near: tuple[Sequence[Pair], np.ndarray],
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """AUC by domain of the vectors' cosine, the present decision and the new one; thresholds that travel.

    `accuracy`: of each domain at the equal-error threshold of the *other* domains, beside the best possible;
    `near`: Spearman's correlation with the teacher's cosines on near pairs.

    Returns:
        These figures, and the new decision's logits of N pairs, (N,), and of M near ones, (M,).
    """
    texts, places = distinct_texts([*(pair.texts for pair in pairs), *near[0]])
    states = token_states(matcher, tokenizer, texts)
    labels, domains = labels_of(pairs), domains_of(pairs)
    left, right = (np.stack([states[k].vector for k in side]) for side in places.T)
    record: dict[str, Any] = {}
    learned = head_logits(head, states, *places.T)
    for name, scores in (
        ("cosine", (left * right).sum(1)),
        ("present", head_logits(matcher.head, states, *places.T)),
        ("learned", learned),
    ):
        record[name] = by_domain(scores[: len(pairs)], labels, domains)
        order = spearmanr(scores[len(pairs) :], near[1]).statistic
        record[name]["near"] = round(float(order), 4)
    return record, learned[: len(pairs)], learned[len(pairs) :]


def near_settings(
    near: Sequence[Pair],
    logits: np.ndarray,
    log_odds: np.ndarray,
    say: Callable[[str], None] = lambda _: None,
) -> MatcherSettings:
    """The length shift, temperature and threshold of near texts.

    How a difference in length goes with sameness is a matter of how people write; domains made by rule have a
    habit of their own there. So labels of near pairs are drawn from what the teacher's cosine says of them.
    Too few of them give no length shift, which `say` is told.

    Args:
        near: M pairs.
        logits: (M,), the decision's.
        log_odds: (M,), as the teacher's cosines give them.
        say: called where there is no length shift.
    """
    labels = drawn_labels(log_odds)
    likely = LabelledPairs([*near] * DRAWS, labels)
    both = np.tile(two_classes(logits), (DRAWS, 1))
    if reason := too_few(*once_each(likely, len(near))):
        say(f"the matcher is not debiased by length: of near texts {reason}")
        settings = fit_settings(both, labels, offset=True)
    else:
        prior = LengthPrior.fit(*likely)
        settings = fit_debiased_settings(both, likely, prior, offset=True, equal_recall=True)
    return settings


def across_domains(
    settings: MatcherSettings, pairs: Sequence[DomainPair], logits: np.ndarray
) -> MatcherSettings:
    """The same settings with the threshold of equal error over the domains of N pairs, logits (N,)."""
    scores = scores_of(pairs, logits, settings)
    return replace(settings, threshold=equal_error(scores, labels_of(pairs), domains_of(pairs)))


def accuracies(
    pairs: Sequence[DomainPair], logits: np.ndarray, settings: MatcherSettings
) -> dict[str, float]:
    """Share of each domain's pairs, logits (N,), that are decided rightly at the matcher's own threshold."""
    scores = scores_of(pairs, logits, settings)
    right, domains = (scores >= settings.threshold) == labels_of(pairs), domains_of(pairs)
    return {name: round(float(right[domains == name].mean()), 4) for name in np.unique(domains).tolist()}


def scores_of(pairs: Sequence[DomainPair], logits: np.ndarray, settings: MatcherSettings) -> np.ndarray:
    """Probabilities (N,) of N pairs by their logits (N,)."""
    return probabilities(two_classes(logits), settings, [pair.texts for pair in pairs])


def two_classes(logits: np.ndarray) -> np.ndarray:
    """(N,) logits of "same" as (N, 2) of different and same, as an embedding matcher gives them."""
    return np.stack([-logits / 2, logits / 2], 1)


def labels_of(pairs: Sequence[DomainPair]) -> np.ndarray:
    """(N,), 0 or 1."""
    return np.array([pair.label for pair in pairs])


def domains_of(pairs: Sequence[DomainPair]) -> np.ndarray:
    """(N,) names."""
    return np.array([pair.domain for pair in pairs])


def once_each(drawn: LabelledPairs, count: int) -> LabelledPairs:
    """Each of `count` pairs once with every label it was drawn with: a pair is one, however often drawn."""
    which = np.stack([np.arange(len(drawn.labels)) % count, drawn.labels], 1)
    _, kept = np.unique(which, axis=0, return_index=True)
    return LabelledPairs([drawn.pairs[k] for k in kept], drawn.labels[kept])


def drawn_labels(log_odds: np.ndarray, draws: int = DRAWS) -> np.ndarray:
    """Labels (draws · N,) of N pairs, drawn by their log-odds (N,), one draw after the other."""
    chance = np.tile(1 / (1 + np.exp(-log_odds)), draws)
    return (np.random.default_rng(0).random(len(chance)) < chance).astype(np.int64)
