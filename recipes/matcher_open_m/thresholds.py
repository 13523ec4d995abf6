"""Where thresholds lie: of equal error over domains, and of a domain of which only unlike pairs are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mobilebert_matching.evaluation.metrics import auc
from mobilebert_matching.evaluation.unlabelled_calibration import UnlikeScores, fit_place, nearest_others
from mobilebert_runtime.tokenizer import Pair
from recipes.matcher_open_m.decision_pairs import DomainPair

Decide = Callable[[Sequence[Pair]], np.ndarray]
DRAWS = 6  # of one utterance an intent


def by_domain(scores: np.ndarray, labels: np.ndarray, domains: np.ndarray) -> dict[str, Any]:
    """AUC of each domain, accuracy at the threshold of the others, and the best accuracy of any threshold."""
    record: dict[str, Any] = {}
    for domain in np.unique(domains).tolist():
        own = domains == domain
        threshold = equal_error(scores[~own], labels[~own], domains[~own])
        record[domain] = {
            "auc": round(auc(labels[own], scores[own]), 4),
            "accuracy": round(float(((scores[own] >= threshold) == labels[own]).mean()), 4),
            "best": round(best_accuracy(scores[own], labels[own]), 4),
        }
    return record


def equal_error(scores: np.ndarray, labels: np.ndarray, domains: np.ndarray) -> float:
    """The threshold at which the two error rates, each a mean over domains, are nearest to equal.

    Args:
        scores: (N,).
        labels: (N,) 0 or 1; every domain has both.
        domains: (N,) names.
    """
    cuts = np.quantile(scores, np.linspace(0, 1, 1001))
    missed, wrong = np.zeros(len(cuts)), np.zeros(len(cuts))
    names = np.unique(domains)
    for domain in names:
        own = domains == domain
        same, other = np.sort(scores[own & (labels == 1)]), np.sort(scores[own & (labels == 0)])
        missed += np.searchsorted(same, cuts) / len(same)
        wrong += 1 - np.searchsorted(other, cuts) / len(other)
    return float(cuts[np.abs(missed - wrong).argmin()])


def best_accuracy(scores: np.ndarray, labels: np.ndarray) -> float:
    """Of any threshold."""
    truth = labels[np.argsort(-scores, kind="stable")]
    right = (
        np.concatenate([[0], np.cumsum(truth)])
        + (labels == 0).sum()
        - np.concatenate([[0], np.cumsum(1 - truth)])
    )
    return float(right.max() / len(labels))


def stored_texts(pairs: Sequence[DomainPair], draws: int = DRAWS) -> dict[str, list[list[str]]]:
    """What somebody might store of each domain: texts of which each means something else.

    Of intents that is one utterance of each, several times over; elsewhere the first texts of the pairs.
    """
    found: dict[str, list[list[str]]] = {}
    for domain in dict.fromkeys(pair.domain for pair in pairs):
        own = [pair for pair in pairs if pair.domain == domain]
        by_topic: dict[str, list[str]] = {}
        for pair in own:
            by_topic.setdefault(pair.topic or pair.texts[0], []).append(pair.texts[0])
        count = draws if own[0].topic else 1
        found[domain] = [[texts[k % len(texts)] for texts in by_topic.values()] for k in range(count)]
    return found


def unlike_scores(
    stored: Sequence[Sequence[str]], embed: Callable[[Sequence[str]], np.ndarray], decide: Decide
) -> np.ndarray:
    """Logits of each stored text and the nearest other one.

    Args:
        stored: sets of texts.
        embed: texts → unit vectors.
        decide: pairs of texts → logits.
    """
    pairs = [(texts[a], texts[b]) for texts in stored for a, b in nearest_others(embed(texts)).tolist()]
    return decide(pairs)


def places(
    scores: np.ndarray, labels: np.ndarray, domains: np.ndarray, unlike: Mapping[str, np.ndarray]
) -> tuple[float, dict[str, Any]]:
    """The place of thresholds over all domains, and what the others' place is worth in each.

    Args:
        scores: (N,) logits.
        labels: (N,) 0 or 1.
        domains: (N,) names.
        unlike: of each domain the logits of its stored texts' pairs.

    Returns:
        The place, and by domain its own place and the accuracy at the place of the others.
    """
    known = {d: (unlike[d], equal_error(*_of(d, scores, labels, domains))) for d in unlike}
    record = {}
    for domain, (own, threshold) in known.items():
        place = fit_place([pair for other, pair in known.items() if other != domain])
        one = domains == domain
        same = scores[one] >= UnlikeScores.of(own).at(place)
        record[domain] = {
            "place": round(UnlikeScores.of(own).place_of(threshold), 3),
            "accuracy": round(float((same == labels[one]).mean()), 4),
        }
    return fit_place(list(known.values())), record


def _of(domain: str, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The part of one domain; the last of the arrays names it."""
    own = arrays[-1] == domain
    return tuple(array[own] for array in arrays)
