"""The threshold of equal error over domains, and what it is worth in a domain that it was not fitted on."""

from __future__ import annotations

from typing import Any

import numpy as np

from mobilebert_matching.evaluation.metrics import auc


def by_domain(scores: np.ndarray, labels: np.ndarray, domains: np.ndarray) -> dict[str, Any]:
    """AUC of each domain, accuracy at the threshold of the others, and the best accuracy of any threshold.

    A single domain has no others, and so no such accuracy.
    """
    record: dict[str, Any] = {}
    for domain in np.unique(domains).tolist():
        own = domains == domain
        found = {"auc": auc(labels[own], scores[own])}
        if not own.all():
            threshold = equal_error(scores[~own], labels[~own], domains[~own])
            found["accuracy"] = float(((scores[own] >= threshold) == labels[own]).mean())
        found["best"] = best_accuracy(scores[own], labels[own])
        record[domain] = {name: round(figure, 4) for name, figure in found.items()}
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
