"""Promise of matching/calibration: temperature and threshold are the best on the data they are fitted to."""

import numpy as np
import pytest
from scipy.special import softmax

from matching.calibration import fit_settings, fit_temperature, fit_threshold


def overconfident(count=4000, factor=3.0, seed=0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(count, 2))
    labels = (rng.random(count) < softmax(logits, axis=1)[:, 1]).astype(int)
    return logits * factor, labels


def test_temperature_undoes_overconfidence():
    logits, labels = overconfident()
    assert fit_temperature(logits, labels) == pytest.approx(3.0, rel=0.1)


def test_temperature_is_the_minimum_of_a_grid():
    logits, labels = overconfident(seed=1)
    grid = np.geomspace(0.2, 10, 400)
    nll = [-np.log(softmax(logits / t, axis=1)[np.arange(len(labels)), labels]).mean() for t in grid]
    assert fit_temperature(logits, labels) == pytest.approx(grid[np.argmin(nll)], rel=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_threshold_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 200)
    scores = np.round(np.clip(0.3 * labels + rng.random(200) * 0.7, 0, 1), 2)  # with ties
    best = max(((scores >= t) == labels).mean() for t in np.linspace(-0.001, 1.001, 5001))
    assert ((scores >= fit_threshold(scores, labels)) == labels).mean() == best


def test_threshold_of_separable_scores_lies_between_them():
    threshold = fit_threshold(np.array([0.1, 0.2, 0.7, 0.9]), np.array([0, 0, 1, 1]))
    assert 0.2 < threshold < 0.7


def test_settings_of_three_classes_have_no_threshold_of_their_own():
    rng = np.random.default_rng(0)
    settings = fit_settings(rng.normal(size=(50, 3)), rng.integers(0, 3, 50))
    assert settings.labels == ("class 0", "class 1", "class 2")
    assert settings.threshold == 0.5
