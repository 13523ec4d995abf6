"""From logits to decisions: temperature and threshold, fitted on development pairs."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from models import MatcherSettings


def fit_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """The T > 0 whose softmax(logits / T) has the least negative log-likelihood (Guo et al. 2017).

    Args:
        logits: (N, C).
        labels: (N,) class indices.
    """
    rows = np.arange(len(labels))

    def nll(log_temperature: float) -> float:
        return -float(log_softmax(logits / np.exp(log_temperature), axis=1)[rows, labels].mean())

    return float(np.exp(minimize_scalar(nll, bounds=(-3.0, 3.0), method="bounded").x))


def fit_threshold(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The threshold with the highest accuracy; of equally good ones the one nearest to 0.5.

    Args:
        probabilities: (N,) of the positive class.
        labels: (N,) of 0 and 1.
    """
    order = np.argsort(probabilities, kind="stable")
    ranked, truth = probabilities[order].astype(np.float64), labels[order]
    # With the cut before position i, everything from i on is called positive.
    correct = np.concatenate([[0], np.cumsum(truth == 0)]) + np.concatenate(
        [np.cumsum(truth[::-1])[::-1], [0]]
    )
    cuts = np.concatenate([[0.0], (ranked[:-1] + ranked[1:]) / 2, [1.0]])
    # Between equal probabilities there is no cut.
    possible = np.concatenate([[True], np.diff(ranked) > 0, [True]])
    best = possible & (correct == correct[possible].max())
    return float(cuts[best][np.argmin(np.abs(cuts[best] - 0.5))])


def fit_settings(logits: np.ndarray, labels: np.ndarray) -> MatcherSettings:
    """Decision settings of a two-class matcher; of more classes the temperature alone."""
    logits, labels = logits.astype(np.float64), np.asarray(labels, np.int64)
    temperature = fit_temperature(logits, labels)
    if logits.shape[1] != 2:
        names = tuple(f"class {i}" for i in range(logits.shape[1]))
        return MatcherSettings(labels=names, temperature=temperature)
    probabilities = softmax(logits / temperature, axis=1)[:, 1]
    return MatcherSettings(temperature=temperature, threshold=fit_threshold(probabilities, labels))
