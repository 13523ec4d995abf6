"""The latency regression gate: red, green, or "this measurement says nothing".

Two kinds of evidence. What a user waits for: a pass over inputs of many lengths and the first answer after
loading, from at least 7 + 7 interleaved sessions on a machine that behaved, judged by `statistics.verdict`.
And figures without noise: peak memory, bytes, multiply–accumulates, delegated operators, instructions.
Red if either kind shows a regression; green only if everything was measured soundly and shows none. A figure
that is missing, or that can't be compared, is never green.
"""

import math
from collections.abc import Callable, Iterator, Mapping
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
from android_bench.measuring.rounds import Candidate, Session, is_number
from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_runtime.errors import CheckError

MIN_SESSIONS = 7
# Loading and the first inference happen once a session and vary more than a median does.
READY_EFFECT, READY_BLIND = 0.15, 1.0
# Peak memory may grow by this share, and by this much (MiB) whatever the share: an allocator's own doing.
MEMORY_LIMIT, MEMORY_MIB = 0.05, 2.0
BASE, CANDIDATE = "base", "candidate"
BYTES, XNNPACK = "bytes", "share of operators in XNNPACK"
MOST_FAULTS = 5  # that are told


class GateError(CheckError):
    """The gate is not green: a regression, or nothing could be concluded."""


@dataclass(frozen=True)
class Limits:
    """What a candidate may be worse by, as shares.

    Attributes:
        slower: of the median time. A pass rules out five points more.
        larger: of the model file's bytes.
    """

    slower: float = statistics.EFFECT_LIMIT
    larger: float = 0.02

    @property
    def blind(self) -> float:
        """The slowdown that a pass rules out."""
        return self.slower + statistics.BLIND_LIMIT - statistics.EFFECT_LIMIT


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
    def sessions(self) -> tuple[Session, ...]:
        """Its sessions, one a round."""
        return self.record.comparison.of(self.name)

    @property
    def faults(self) -> list[str]:
        """Figures that are missing or can't be."""
        return [
            f"{self.name}, session {number}: {fault}"
            for number, session in enumerate(self.sessions, 1)
            for fault in session.faults()
        ]


@dataclass(frozen=True)
class Timing:
    """The signed-rank test on the rounds' pairs of one figure of a session."""

    what: str
    base_ms: float
    candidate_ms: float
    ratio: float
    interval: tuple[float, float] | None  # 98%, of the ratio; None from too few sessions
    p: float
    sessions: tuple[int, int]
    limit: float  # slowdown that is allowed
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
    """A figure of both artefacts without noise; `limit` is the growth (or, for shares, the loss) allowed."""

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
    timing: Timing | None  # of the median; None where it can't be judged
    first: Timing | None  # of the first answer after loading
    facts: tuple[FactChange, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def require_pass(self) -> None:
        """Raise `GateError` with the reasons unless the verdict is "pass"."""
        if self.verdict != "pass":
            raise GateError(f"{self.verdict}: {'; '.join(self.reasons)}")


def gate(base: Side, candidate: Side, limits: Limits | None = None) -> Verdict:
    """Judge recorded sessions; nothing is measured here.

    Args:
        base: sessions of the artefact to compare with.
        candidate: sessions of the new one, from the same interleaved run.
        limits: what is allowed, 3% of time and 2% of bytes by default.

    Returns:
        A verdict with every reason. Different machines, runs that were not interleaved, fewer than 7
        sessions, troubled sessions, figures that are missing or can't be, and an interval that still holds
        a slowdown of 8% are "inconclusive", never "pass".
    """
    limits = limits or Limits()
    faults = [*base.faults, *candidate.faults]
    doubts = [*faults[:MOST_FAULTS], *_doubts(base, candidate)] if faults else list(_doubts(base, candidate))
    facts, unknown = compare_facts(
        base.record.facts.get(base.name), candidate.record.facts.get(candidate.name), limits
    )
    timing = first = None
    if not faults and base.sessions and len(base.sessions) == len(candidate.sessions):
        timing = _timing("median latency", base, candidate, _median, (limits.slower, limits.blind))
        first = _timing("first answer", base, candidate, _ready, (READY_EFFECT, READY_BLIND))
        facts = (*facts, _memory(base, candidate))
    regressions = [
        f"{fact.what} {fact.base:,} → {fact.candidate:,}" for fact in facts if fact.verdict == "regression"
    ]
    if not doubts:
        for one, blind in ((timing, limits.blind), (first, READY_BLIND)):
            if one is None:
                doubts.append("the times can't be compared")
            elif one.verdict == "regression":
                regressions.append(f"{one.what} {one}")
            elif one.verdict != "pass":
                doubts.append(f"{one.what} {one}: a slowdown of {blind:.0%} is not ruled out")
    doubts += unknown
    if regressions:
        return Verdict("regression", (*regressions, *doubts), timing, first, facts)
    if doubts:
        return Verdict("inconclusive", tuple(doubts), timing, first, facts)
    return Verdict("pass", (), timing, first, facts)


def run_gate(
    base: Candidate,
    candidate: Candidate,
    *,
    sessions: int = MIN_SESSIONS,
    seconds: float = 2.0,
    inputs: Inputs = PAIRS,
    retries: int = 2,
    instructions: str | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> tuple[Record, Verdict]:
    """Measure two candidates in one interleaved run on a mix of lengths, and judge them.

    When the sessions behaved but cannot rule out a slowdown, the run is extended once by as many sessions
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
            mode="mix",
            retries=retries,
            progress=progress,
        )

    def judged(record: Record) -> Verdict:
        return gate(Side(record, BASE), Side(record, CANDIDATE), limits)

    comparison = stage()
    found = judged(Record(comparison, {}, None, ""))
    unclear = any(one and one.verdict == "inconclusive" for one in (found.timing, found.first))
    if unclear and sessions >= MIN_SESSIONS and not comparison.troubles():
        more = stage()
        settings = comparison.settings | {"sessions": 2 * sessions, "extended": True}
        comparison = replace(comparison, sessions=comparison.sessions + more.sessions, settings=settings)
    record = Record.of(comparison, instructions=instructions)
    return record, judged(record)


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


def compare_facts(
    base: Any, candidate: Any, limits: Limits | None = None
) -> tuple[tuple[FactChange, ...], list[str]]:
    """Facts of both artefacts judged one by one, and why others can't be; see `LIMITS`.

    A fact that neither has was not asked for, but for the bytes, which every file has.
    """
    limits = limits or Limits()
    if not isinstance(base, Mapping) or not isinstance(candidate, Mapping):
        return (), ["the facts of an artefact are missing"]
    changes, unknown = [], []
    for what, read, limit, more_is_worse in LIMITS:
        allowed = limits.larger if what == BYTES else limit
        try:
            before, after = read(base), read(candidate)
        except (KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
            unknown.append(f"{what} can't be read ({type(error).__name__}: {error})")
            continue
        if before is None and after is None and what != BYTES:
            continue
        if what == XNNPACK and base.get("target") != candidate.get("target"):
            continue  # only one of the two runtimes delegates
        least = 0 if what == XNNPACK else math.ulp(0)
        if not (is_number(before) and is_number(after) and before >= least and after >= least):
            unknown.append(f"{what} can't be compared ({before!r:.40} and {after!r:.40})")
            continue
        fine = after <= before * (1 + allowed) if more_is_worse else after >= before - allowed
        changes.append(FactChange(what, before, after, allowed, "pass" if fine else "regression"))
    return tuple(changes), unknown


def _delegated_share(facts: Mapping[str, Any]) -> float | None:
    found = facts.get("xnnpack")
    if found is None:
        return None
    some, whole = found["delegated_operators"], found["all_operators"]
    if not (is_number(some) and is_number(whole) and 0 <= some <= whole):
        raise TypeError(f"{some!r:.40} of {whole!r:.40} operators")
    return round(some / whole, 4)


def _instructions(facts: Mapping[str, Any]) -> float | None:
    found = facts.get("instructions")
    return None if found is None else found["inference"]


def _arm_instructions(processor: str) -> Callable[[Mapping[str, Any]], float | None]:
    """Reads the instructions counted on an emulated processor."""

    def read(facts: Mapping[str, Any]) -> float | None:
        found = facts.get("arm_instructions", {}).get(processor)
        return None if found is None else found["inference"]

    return read


# What, how to read it, the change allowed (a share of the base; points for a share), whether more is worse.
LIMITS: tuple[tuple[str, Callable[[Mapping[str, Any]], float | None], float, bool], ...] = (
    (BYTES, lambda facts: facts.get("bytes"), 0.02, True),
    ("multiply–accumulates", lambda facts: facts.get("macs"), 0.01, True),
    ("instructions per inference", _instructions, 0.02, True),
    *(
        (f"instructions per inference on {core}", _arm_instructions(name), 0.02, True)
        for name, core in ARM_CORES.items()
    ),
    (XNNPACK, _delegated_share, 0.01, False),
)


def _median(session: Session) -> float:
    return session.median_ms


def _ready(session: Session) -> float:
    return session.ready_ms


def _timing(
    what: str,
    base: Side,
    candidate: Side,
    figure: Callable[[Session], float],
    limits: tuple[float, float],
) -> Timing:
    before, after = (np.array([figure(one) for one in side.sessions]) for side in (base, candidate))
    low, high = statistics.ratio_interval(before, after)
    return Timing(
        what=what,
        base_ms=float(np.median(before)),
        candidate_ms=float(np.median(after)),
        ratio=float(statistics.ratio(before, after)),
        interval=(float(low), float(high)) if np.isfinite(high) else None,
        p=float(statistics.signed_rank_test(before, after)),
        sessions=(len(before), len(after)),
        limit=limits[0],
        verdict=str(statistics.verdict(before, after, *limits)),
    )


def _doubts(base: Side, candidate: Side) -> Iterator[str]:
    """Why the sessions' times prove nothing; empty when they may be judged."""
    first, second = base.record.comparison, candidate.record.comparison
    machines = first.machine.get("id"), second.machine.get("id")
    if None in machines or machines[0] != machines[1]:
        yield f"two machines: {first.machine.get('cpu')} and {second.machine.get('cpu')}"
    if first.run != second.run or not _interleaved(first, base.name, candidate.name):
        yield "the sessions were not interleaved in one run"
    if base.candidate.threads != candidate.candidate.threads:
        yield f"{base.candidate.threads} and {candidate.candidate.threads} threads"
    modes = first.settings.get("mode"), second.settings.get("mode")
    if modes[0] != modes[1]:
        yield f"one measured {modes[0]} inputs, one {modes[1]}"
    lengths = [side.record.facts.get(side.name, {}).get("buckets") for side in (base, candidate)]
    if "padded" in modes and (None in lengths or lengths[0] != lengths[1]):
        yield f"padded inputs measure the longest bucket alone, and these have {lengths[0]} and {lengths[1]}"
    counts = len(base.sessions), len(candidate.sessions)
    if min(counts) < MIN_SESSIONS:
        yield f"{counts[0]} + {counts[1]} sessions; {MIN_SESSIONS} + {MIN_SESSIONS} are needed"
    if any(session.faults() for side in (first, second) for session in side.sessions):
        return  # whether the machine behaved is among the figures
    for side in (base, candidate):
        comparison = side.record.comparison
        mine = [n for n, session in enumerate(comparison.sessions) if session.candidate == side.name]
        why = [reasons[0] for number, reasons in comparison.troubles().items() if number in mine]
        if why:
            yield f"{side.name}: machine troubled in {len(why)} of {len(mine)} sessions ({why[0]})"


def _memory(base: Side, candidate: Side) -> FactChange:
    before, after = (
        round(float(np.median([one.model_mib for one in side.sessions])), 1) for side in (base, candidate)
    )
    fine = after <= max(before * (1 + MEMORY_LIMIT), before + MEMORY_MIB)
    return FactChange("peak memory in MiB", before, after, MEMORY_LIMIT, "pass" if fine else "regression")


def _interleaved(comparison: Comparison, base: str, candidate: str) -> bool:
    """Do the two take turns: one session of each in every round?"""
    order = [one.candidate for one in comparison.sessions if one.candidate in (base, candidate)]
    rounds = [set(order[start : start + 2]) for start in range(0, len(order), 2)]
    return all(one_round == {base, candidate} for one_round in rounds)
