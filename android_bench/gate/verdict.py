"""The latency regression gate: red, green, or "this measurement says nothing".

Two kinds of evidence. Time: at least 7 + 7 interleaved session medians on a machine that behaved, judged by
`statistics.verdict`. Facts: bytes, multiply–accumulates, delegated operators, counted instructions, which no
noise can touch. Red if either kind shows a regression; green only if time was measured soundly and shows
none.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from android_bench.measuring import statistics
from android_bench.measuring.latency import (
    BenchError,
    Comparison,
    Inputs,
    Progress,
    measure,
    name_candidates,
    with_slowdown,
)
from android_bench.measuring.latency_record import ARM_CORES, Record, check_architecture
from android_bench.measuring.rounds import Candidate
from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_runtime.errors import CheckError

MIN_SESSIONS = 7
BASE, CANDIDATE = "base", "candidate"


class GateError(CheckError):
    """The gate is not green: a regression, or nothing could be concluded."""


@dataclass(frozen=True)
class Side:
    """One artefact's sessions inside a record."""

    record: Record
    name: str

    @classmethod
    def read(cls, reference: str) -> "Side":
        """A side of a recorded run: "RUN.json#NAME"; the name may be left out where the run has only one."""
        path, _, name = reference.partition("#")
        record = Record.read(Path(path))
        names = record.comparison.names
        if (name or names[0]) not in names or (not name and len(names) > 1):
            raise BenchError(
                f"{reference}: say which of this run: {', '.join(f'{path}#{one}' for one in names)}"
            )
        return cls(record, name or names[0])

    @property
    def candidate(self) -> Candidate:
        """What was measured under this name."""
        return next(one for one in self.record.comparison.candidates if one.name == self.name)

    @property
    def medians(self) -> np.ndarray:
        """(sessions,) session medians in ms."""
        return self.record.comparison.medians(self.name)


@dataclass(frozen=True)
class Timing:
    """The signed-rank test on the rounds' pairs of session medians."""

    base_ms: float
    candidate_ms: float
    ratio: float
    interval: tuple[float, float] | None  # 98%, of the ratio; None from too few sessions
    p: float
    sessions: tuple[int, int]
    verdict: str

    def __str__(self) -> str:
        """The change in words."""
        change = f"{self.ratio - 1:+.1%}"
        if not self.interval:
            return f"{change} (too few sessions for an interval)"
        low, high = self.interval
        return f"{change} (98% interval {low - 1:+.1%} to {high - 1:+.1%}), p = {self.p:.2g}"


@dataclass(frozen=True)
class FactChange:
    """A deterministic figure of both artefacts; `limit` is the growth (or, for shares, the loss) allowed."""

    what: str
    base: float
    candidate: float
    limit: float
    verdict: str


@dataclass(frozen=True)
class Verdict:
    """The gate's answer: "pass", "regression" or "inconclusive", and why."""

    verdict: str
    reasons: tuple[str, ...]
    timing: Timing | None
    facts: tuple[FactChange, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def require_pass(self) -> None:
        """Raise `GateError` with the reasons unless the verdict is "pass"."""
        if self.verdict != "pass":
            raise GateError(f"{self.verdict}: {'; '.join(self.reasons)}")


def gate(base: Side, candidate: Side) -> Verdict:
    """Judge recorded sessions; nothing is measured here.

    Args:
        base: sessions of the artefact to compare with.
        candidate: sessions of the new one, from the same interleaved run.

    Returns:
        A verdict with every reason. Different machines, runs that were not interleaved, fewer than 7
        sessions, troubled sessions and an interval that still holds a slowdown of 8% are "inconclusive",
        never "pass".
    """
    doubts = list(_doubts(base, candidate))
    timing = _timing(base, candidate) if min(len(base.medians), len(candidate.medians)) else None
    facts = compare_facts(
        base.record.facts.get(base.name, {}), candidate.record.facts.get(candidate.name, {})
    )
    regressions = [
        f"{fact.what} {fact.base:,} → {fact.candidate:,}" for fact in facts if fact.verdict == "regression"
    ]
    if timing and not doubts:
        if timing.verdict == "regression":
            regressions.append(f"median latency {timing}")
        if timing.verdict == "inconclusive":
            limit = f"{statistics.BLIND_LIMIT:.0%}"
            doubts.append(f"median latency {timing}: a slowdown of {limit} is not ruled out")
    if regressions:
        return Verdict("regression", (*regressions, *doubts), timing, facts)
    if doubts:
        return Verdict("inconclusive", tuple(doubts), timing, facts)
    return Verdict("pass", (), timing, facts)


def run_gate(
    base: Candidate,
    candidate: Candidate,
    *,
    sessions: int = MIN_SESSIONS,
    seconds: float = 2.0,
    inputs: Inputs = PAIRS,
    retries: int = 2,
    instructions: str | None = None,
    progress: Progress | None = None,
) -> tuple[Record, Verdict]:
    """Measure two candidates in one interleaved run and judge them.

    When the sessions behaved but cannot rule out an 8% slowdown, the run is extended once by as many sessions
    again; the sum is judged once more (error rates of both stages together: test_statistics.py).
    """
    both = replace(base, name=BASE), replace(candidate, name=CANDIDATE)
    if instructions:
        check_architecture(instructions, [one.folder for one in both])

    def stage() -> Comparison:
        return measure(
            both,
            sessions=sessions,
            seconds=seconds,
            inputs=inputs,
            retries=retries,
            progress=progress,
        )

    comparison = stage()
    verdict = statistics.verdict(comparison.medians(BASE), comparison.medians(CANDIDATE))
    if verdict == "inconclusive" and sessions >= MIN_SESSIONS and not comparison.troubles():
        more = stage()
        settings = comparison.settings | {"sessions": 2 * sessions, "extended": True}
        comparison = replace(comparison, sessions=comparison.sessions + more.sessions, settings=settings)
    record = Record.of(comparison, instructions=instructions)
    return record, gate(Side(record, BASE), Side(record, CANDIDATE))


def self_test(
    folder: Path,
    *,
    rounds: int = 5,
    slowdown: float = 0.08,
    threads: int = 1,
    sessions: int = MIN_SESSIONS,
    seconds: float = 2.0,
    retries: int = 2,
    progress: Callable[[str], Progress] | None = None,
) -> dict[str, Any]:
    """Prove the gate on this machine: `rounds` runs of an artefact against itself, one against itself slowed.

    Args:
        folder: an artefact.
        rounds: how many A/A runs.
        slowdown: share of each inference burnt on top in the last run.
        threads: runtime threads.
        sessions: per side and run.
        seconds: steady measurement per session.
        retries: repetitions of a session in a troubled time.
        progress: given a run's title, returns the function that is told of finished sessions.

    Returns:
        `as_expected` (every A/A run passed and the slow one was red), `machine`, `runtime`, and per run its
        title, `expected` and found verdict, reasons, timing (and as `change` in words) and session medians.
    """
    (base,) = name_candidates([folder], threads)
    plan = [(f"A/A {number + 1}", base, "pass") for number in range(rounds)]
    plan.append((f"A/B +{slowdown:.0%}", with_slowdown(base, slowdown), "regression"))
    runs: list[dict[str, Any]] = []
    for title, candidate, expected in plan:
        told = progress(title) if progress else None
        record, verdict = run_gate(
            base, candidate, sessions=sessions, seconds=seconds, retries=retries, progress=told
        )
        medians = {name: record.comparison.medians(name).round(4).tolist() for name in (BASE, CANDIDATE)}
        found = {"title": title, "expected": expected, "change": str(verdict.timing), **verdict.to_json()}
        runs.append({**found, "medians_ms": medians})
    return {
        "as_expected": all(run["verdict"] == run["expected"] for run in runs),
        "artefact": folder.resolve().name,
        "facts": record.facts[BASE],
        "runtime": record.comparison.sessions[0].runtime,
        "threads": threads,
        "commit": record.commit,
        "date": record.date,
        "machine": record.comparison.machine,
        "settings": {"sessions": sessions, "seconds": seconds, "slowdown": slowdown},
        "runs": runs,
    }


def compare_facts(base: dict[str, Any], candidate: dict[str, Any]) -> tuple[FactChange, ...]:
    """Facts known of both artefacts, judged one by one; see `LIMITS`."""
    changes = []
    for what, read, limit, more_is_worse in LIMITS:
        before, after = read(base), read(candidate)
        if before is None or after is None:
            continue
        worse = after > before * (1 + limit) if more_is_worse else after < before - limit
        changes.append(FactChange(what, before, after, limit, "regression" if worse else "pass"))
    return tuple(changes)


def _delegated_share(facts: dict[str, Any]) -> float | None:
    found = facts.get("xnnpack")
    return found and round(found["delegated_operators"] / found["all_operators"], 4)


def _instructions(facts: dict[str, Any]) -> float | None:
    found = facts.get("instructions")
    return found and found["inference"]


def _arm_instructions(processor: str) -> Callable[[dict[str, Any]], float | None]:
    """Reads the instructions counted on an emulated processor."""

    def read(facts: dict[str, Any]) -> float | None:
        found = facts.get("arm_instructions", {}).get(processor)
        return found and found["inference"]

    return read


# What, how to read it, the change allowed (a share of the base; points for a share), whether more is worse.
LIMITS: tuple[tuple[str, Callable[[dict[str, Any]], float | None], float, bool], ...] = (
    ("bytes", lambda facts: facts.get("bytes"), 0.02, True),
    ("multiply–accumulates", lambda facts: facts.get("macs"), 0.01, True),
    ("instructions per inference", _instructions, 0.02, True),
    *(
        (f"instructions per inference on {core}", _arm_instructions(name), 0.02, True)
        for name, core in ARM_CORES.items()
    ),
    ("share of operators in XNNPACK", _delegated_share, 0.01, False),
)


def _timing(base: Side, candidate: Side) -> Timing:
    before, after = base.medians, candidate.medians
    low, high = statistics.ratio_interval(before, after)
    return Timing(
        base_ms=float(np.median(before)),
        candidate_ms=float(np.median(after)),
        ratio=float(statistics.ratio(before, after)),
        interval=(float(low), float(high)) if np.isfinite(high) else None,
        p=float(statistics.signed_rank_test(before, after)),
        sessions=(len(before), len(after)),
        verdict=str(statistics.verdict(before, after)),
    )


def _doubts(base: Side, candidate: Side) -> Iterator[str]:
    """Why the sessions' times prove nothing; empty when they may be judged."""
    first, second = base.record.comparison, candidate.record.comparison
    if first.machine["id"] != second.machine["id"]:
        yield f"two machines: {first.machine['cpu']} and {second.machine['cpu']}"
    if first.run != second.run or not _interleaved(first, base.name, candidate.name):
        yield "the sessions were not interleaved in one run"
    if base.candidate.threads != candidate.candidate.threads:
        yield f"{base.candidate.threads} and {candidate.candidate.threads} threads"
    if first.settings["mode"] != second.settings["mode"]:
        yield f"one measured {first.settings['mode']} inputs, one {second.settings['mode']}"
    counts = len(base.medians), len(candidate.medians)
    if min(counts) < MIN_SESSIONS:
        yield f"{counts[0]} + {counts[1]} sessions; {MIN_SESSIONS} + {MIN_SESSIONS} are needed"
    for side in (base, candidate):
        comparison = side.record.comparison
        mine = [n for n, session in enumerate(comparison.sessions) if session.candidate == side.name]
        why = [reasons[0] for number, reasons in comparison.troubles().items() if number in mine]
        if why:
            yield f"{side.name}: machine troubled in {len(why)} of {len(mine)} sessions ({why[0]})"


def _interleaved(comparison: Comparison, base: str, candidate: str) -> bool:
    """Do the two take turns: one session of each in every round?"""
    order = [one.candidate for one in comparison.sessions if one.candidate in (base, candidate)]
    rounds = [set(order[start : start + 2]) for start in range(0, len(order), 2)]
    return all(one_round == {base, candidate} for one_round in rounds)
