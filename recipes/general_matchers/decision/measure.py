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
) -> dict[str, Any]:
    """AUC by domain of the vectors' cosine, the present decision and the new one; thresholds that travel.

    `accuracy`: of each domain at the equal-error threshold of the *other* domains, beside the best possible;
    `near`: Spearman's correlation with the teacher's cosines on near pairs.
    """
    texts, places = distinct_texts([*(pair.texts for pair in pairs), *near[0]])
    states = token_states(matcher, tokenizer, texts)
    labels, domains = labels_of(pairs), domains_of(pairs)
    left, right = (np.stack([states[k].vector for k in side]) for side in places.T)
    record: dict[str, Any] = {}
    for name, scores in (
        ("cosine", (left * right).sum(1)),
        ("present", head_logits(matcher.head, states, *places.T)),
        ("learned", head_logits(head, states, *places.T)),
    ):
        record[name] = by_domain(scores[: len(pairs)], labels, domains)
        order = spearmanr(scores[len(pairs) :], near[1]).statistic
        record[name]["near"] = round(float(order), 4)
    return record


def fitted_settings(
    head: PairDecision,
    matcher: EmbeddingMatcher,
    tokenizer: PairTokenizer,
    pairs: Sequence[DomainPair],
    near: tuple[Sequence[Pair], np.ndarray],
    slope: float,
    offset: float,
    say: Callable[[str], None] = lambda _: None,
) -> MatcherSettings:
    """The length shift and temperature of near texts, and then the threshold of equal error over the domains.

    How a difference in length goes with sameness is a matter of how people write; domains made by rule have a
    habit of their own there. So labels of near pairs are drawn from what the teacher's cosine says of them.
    Too few of them give no length shift, which `say` is told. Where there are no `pairs`, the threshold is
    that of near texts: pairs made by rule alone would put it far too high for texts as people write them.
    """

    def logits(given: Sequence[Pair]) -> np.ndarray:
        texts, places = distinct_texts(given)
        found = head_logits(head, token_states(matcher, tokenizer, texts), *places.T)
        return np.stack([-found / 2, found / 2], 1)

    labels = drawn_labels(slope * near[1] + offset)
    likely = LabelledPairs([*near[0]] * DRAWS, labels)
    both = np.tile(logits(near[0]), (DRAWS, 1))
    if reason := too_few(*once_each(likely, len(near[0]))):
        say(f"the matcher is not debiased by length: of near texts {reason}")
        settings = fit_settings(both, labels, offset=True)
    else:
        prior = LengthPrior.fit(*likely)
        settings = fit_debiased_settings(both, likely, prior, offset=True, equal_recall=True)
    if not pairs:
        return settings
    given = [pair.texts for pair in pairs]
    scores = probabilities(logits(given), settings, given)
    return replace(settings, threshold=equal_error(scores, labels_of(pairs), domains_of(pairs)))


def accuracies(
    decided: EmbeddingMatcher,
    settings: MatcherSettings,
    tokenizer: PairTokenizer,
    pairs: Sequence[DomainPair],
) -> dict[str, float]:
    """Share of each domain's pairs that are decided rightly at the matcher's own threshold."""
    given = [pair.texts for pair in pairs]
    texts, places = distinct_texts(given)
    found = head_logits(decided.head, token_states(decided, tokenizer, texts), *places.T)
    scores = probabilities(np.stack([-found / 2, found / 2], 1), settings, given)
    right, domains = (scores >= settings.threshold) == labels_of(pairs), domains_of(pairs)
    return {name: round(float(right[domains == name].mean()), 4) for name in np.unique(domains).tolist()}


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
