"""A device run in the JSON that androidx.benchmark writes, so that tools made for that read ours too.

Theirs: `context` (the device) and `benchmarks` (nanoseconds, per name: minimum, maximum, median, runs;
percentiles of the sampled). Ours beside them: everything of the `Record`, the raw samples in order,
conditions, versions.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from android_bench.phone.phone_bench import PhoneRun

CLASS_NAME = "mobilebert.bench.Session"


def to_json(run: PhoneRun) -> dict[str, Any]:
    """The whole document; `Record.from_json` reads its own part of it back."""
    extra = {
        "emulated": run.emulated,
        "runner": run.record.comparison.settings["runner"],
        "serial": run.phone.serial,
        "bundle": run.bundle,
        "before": [asdict(condition) for condition in run.before],
        "after": [asdict(condition) for condition in run.after],
    }
    names = run.record.comparison.names
    return {
        "context": context(run),
        "benchmarks": [benchmark(run, name) for name in names],
        "mobilebert": extra,
        **run.record.to_json(),
    }


def context(run: PhoneRun) -> dict[str, Any]:
    """The device under the names androidx.benchmark uses."""
    phone = run.phone
    governors = {name for condition in run.before for name in condition.governors}
    build = {
        "brand": phone.brand,
        "device": phone.device,
        "fingerprint": phone.fingerprint,
        "id": phone.build_id,
        "model": phone.model,
        "type": phone.build_type,
        "version": {"codename": phone.codename, "sdk": phone.sdk},
    }
    return {
        "build": build,
        "cpuCoreCount": phone.cores,
        "cpuLocked": governors in ({"performance"}, {"userspace"}),
        "cpuMaxFreqHz": 1000 * max(phone.max_khz) if phone.max_khz else -1,
        "memTotalBytes": phone.memory_bytes,
        # An app's setting; a program started from a shell has none.
        "sustainedPerformanceModeEnabled": False,
    }


def benchmark(run: PhoneRun, name: str) -> dict[str, Any]:
    """One artefact: session figures as metrics, steady inferences as a sampled metric."""
    sessions = run.record.comparison.of(name)
    candidate = next(one for one in run.record.comparison.candidates if one.name == name)
    settings = run.record.comparison.settings
    runs = [[_ns(ms) for ms in session.steady_ms] for session in sessions]
    steady = np.concatenate(runs)
    total = sum(
        session.init_ms + session.first_ms + sum(session.warmup_ms) + sum(session.steady_ms)
        for session in sessions
    )
    return {
        "name": name,
        "params": {"threads": str(candidate.threads), "cores": settings["cores"], "mode": settings["mode"]},
        "className": CLASS_NAME,
        "totalRunTimeNs": _ns(total),
        "metrics": {
            "initNs": _metric([_ns(session.init_ms) for session in sessions]),
            "firstNs": _metric([_ns(session.first_ms) for session in sessions]),
            "timeNs": _metric([_ns(session.median_ms) for session in sessions]),
            "memoryPeakBytes": _metric([int(session.peak_mib * 2**20) for session in sessions]),
        },
        "sampledMetrics": {
            "inferenceNs": {
                **{f"P{q}": float(np.percentile(steady, q)) for q in (50, 90, 95, 99)},
                "runs": runs,
            }
        },
        "warmupIterations": max(len(session.warmup_ms) for session in sessions),
        "repeatIterations": sum(len(session.steady_ms) for session in sessions),
        "thermalThrottleSleepSeconds": round(run.cooling_s),
        "profilerOutputs": [],
    }


def _metric(values: list[int]) -> dict[str, Any]:
    return {
        "minimum": min(values),
        "maximum": max(values),
        "median": float(np.median(values)),
        "runs": values,
    }


def _ns(milliseconds: float) -> int:
    return round(1e6 * milliseconds)
