"""Does a difference hold over seeds?"""

from __future__ import annotations

from collections.abc import Sequence
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
