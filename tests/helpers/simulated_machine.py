"""A noisy machine to try the gate on: what real phones and shared servers do to latencies, in NumPy."""

import numpy as np

from android_bench.measuring.statistics import interleaved


def session_medians(
    runs: int,
    *,
    slowdown: float,
    seed: int,
    sessions: int = 7,
    iterations: int = 25,
    pooled: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Latencies of two interleaved artefacts, the second `slowdown` slower, in many independent runs.

    Each session has its own level (2% noise; one in fifty has a bad neighbour, +5 to +15%); a run drifts by
    up to 4% and a slow wave of 1%; inferences inside a session follow an AR(1) process (coefficient 0.7, 2%),
    and one in thirty is an outlier, 1.3 to 4 times as long.

    Returns:
        Two arrays (runs, sessions) of session medians; with `pooled`, (runs, sessions × iterations)
        latencies.
    """
    generator = np.random.default_rng(seed)
    count = 2 * sessions
    when = np.linspace(0, 1, count)
    drift = generator.uniform(-0.04, 0.04, (runs, 1)) * when
    wave = 0.01 * np.sin(
        2 * np.pi * (generator.uniform(0.5, 3, (runs, 1)) * when + generator.uniform(size=(runs, 1)))
    )
    level = 0.02 * generator.normal(size=(runs, count)) + drift + wave
    level += (generator.random((runs, count)) < 0.02) * generator.uniform(0.05, 0.15, (runs, count))

    noise = np.empty((iterations, runs, count))
    noise[0] = generator.normal(size=(runs, count))
    for step in range(1, iterations):
        noise[step] = 0.7 * noise[step - 1] + np.sqrt(1 - 0.7**2) * generator.normal(size=(runs, count))
    latency = 30 * np.exp(level + 0.02 * noise)  # (I, R, 2 S) in ms
    spikes = generator.random(latency.shape) < 1 / 30
    latency *= np.where(spikes, generator.uniform(1.3, 4, latency.shape), 1)

    order = np.array(interleaved(2, sessions))
    base, candidate = latency[..., order == 0], (1 + slowdown) * latency[..., order == 1]
    if pooled:
        return tuple(np.moveaxis(part, 0, -1).reshape(runs, -1) for part in (base, candidate))
    return np.median(base, axis=0), np.median(candidate, axis=0)
