"""Does a difference hold over seeds?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import t


def verdict(gains: Sequence[float]) -> dict[str, Any]:
    """Mean of paired differences, its 95% interval by Student's t, and what the interval says.

    A claim "holds" where the interval is above zero, "fails" where it is below, and is "undecided" else; of
    one seed there is no interval.
    """
    mean = float(np.mean(gains))
    if len(gains) < 2:
        return {"difference": mean, "interval": None, "verdict": "one seed"}
    half = float(t.ppf(0.975, len(gains) - 1) * np.std(gains, ddof=1) / np.sqrt(len(gains)))
    said = "holds" if mean - half > 0 else "fails" if mean + half < 0 else "undecided"
    return {"difference": mean, "interval": [mean - half, mean + half], "verdict": said}


def paired(better: Mapping[int, float], worse: Mapping[int, float]) -> dict[str, Any]:
    """The verdict on one row's lead over another, seed by seed, with the seeds that both have; {} of none.

    Args:
        better: figure by seed, more is better, of the row that a paper has ahead.
        worse: of the other one.
    """
    seeds = sorted(better.keys() & worse.keys())
    return {"seeds": seeds} | verdict([better[seed] - worse[seed] for seed in seeds]) if seeds else {}
