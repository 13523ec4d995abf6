"""Minutes of load without a pause: what a phone holds when it is warm, and from when on it is slower.

Each minute is a session in a process of its own, checked like any other; between two of them the load stops
for as long as a process takes to start. Finished minutes are kept in a file beside the result, so that a run
that was killed goes on where it stopped; the report says where, for the phone has cooled meanwhile.
"""

import hashlib
import json
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from android_bench.measuring import statistics
from android_bench.measuring.latency import BenchError, Comparison
from android_bench.measuring.latency_record import Record
from android_bench.measuring.rounds import Session
from android_bench.phone.adb import Phone
from android_bench.phone.condition import THERMAL, Condition, PhoneFacts, require_abi, wait_until_fit
from android_bench.phone.phone_bench import PhoneRun, Plan, contenders, passport, session_of
from android_bench.phone.phone_session import Runner
from android_bench.runner.bundle import Bundle
from mobilebert_runtime.files import file_sha256

PART_S = 60.0
LEAST_PARTS = 3
LONGEST_S = 24 * 3600.0
# Throttled from the minute on whose median is this much above the first one's, to the end of the run.
THROTTLED = 1.10


@dataclass(frozen=True)
class Part:
    """One finished minute."""

    session: dict[str, Any]
    before: dict[str, Any]
    after: dict[str, Any]
    machine: dict[str, Any]
    resumed: bool  # the first after the run was killed


def seconds_of(text: str) -> float:
    """Seconds of "90s", "10m" or "1h"; a `BenchError` for anything else."""
    found = re.fullmatch(r"([0-9]{1,6})([smh])", text)
    total = int(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]] if found else 0
    if not 0 < total <= LONGEST_S:
        raise BenchError(f"--sustained {text!r:.40} is no time such as 90s, 10m or 1h, at most 24h")
    return float(total)


def sustain(
    phone: Phone,
    plan: Plan,
    bundle: Bundle,
    total_s: float,
    out: Path,
    *,
    told: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> PhoneRun:
    """Load a device for a time, the artefacts taking turns by the minute.

    Args:
        phone: the device.
        plan: its sessions and retries do not count.
        bundle: what runs there.
        total_s: seconds of load; less than three minutes are three equal parts.
        out: stem of the result; finished parts are kept beside it until `forget`.
        told: hears what goes on.
        sleep: waits for the device to cool before the first part.

    Raises:
        BenchError, PhoneError, PhoneRunError: as `phone_bench.bench`.
    """
    candidates = contenders(plan, bundle)
    facts = PhoneFacts.of(phone)
    require_abi(facts, bundle.abi)
    runner = Runner(phone, bundle)
    count = max(LEAST_PARTS, round(total_s / PART_S)) * len(candidates)
    each = total_s * len(candidates) / count
    kept = _Kept(out, _key(plan, bundle, facts, total_s))
    parts = kept.read()
    resumed = bool(parts)
    if not parts:
        wait_until_fit(phone, told, sleep)
    order = statistics.interleaved(len(candidates), -(-count // len(candidates)))[:count]
    start = time.monotonic()
    while len(parts) < count:
        candidate = candidates[order[len(parts)]]
        told(f"part {len(parts) + 1} of {count}: {candidate.name}")
        started, before = datetime.now(UTC).isoformat(timespec="seconds"), Condition.of(phone)
        task = {"action": "session", "mode": plan.mode, "threads": plan.threads, "cores": plan.cores}
        result = runner.run(candidate.folder, plan.pairs, seconds=each, **task)
        session = asdict(session_of(candidate.name, started, result))
        conditions = asdict(before), asdict(Condition.of(phone))
        parts.append(Part(session, *conditions, result["device"], resumed))
        resumed = False
        kept.add(parts[-1])
    run = _run(parts, facts, bundle, plan, each)
    comparison = Comparison(uuid.uuid4().hex[:12], run[0], tuple(candidates), *run[1:])
    return PhoneRun(
        Record.of(comparison),
        facts,
        comparison.settings["emulated"],
        tuple(_condition(part.before) for part in parts),
        tuple(_condition(part.after) for part in parts),
        0.0,
        time.monotonic() - start,
        bundle.versions,
    )


def forget(out: Path) -> None:
    """Remove the finished parts: the result that was written has them all."""
    _parts_file(out).unlink(missing_ok=True)


def _parts_file(out: Path) -> Path:
    return out.with_name(f".{out.name}.parts.jsonl")


def table(run: PhoneRun) -> list[str]:
    """Throughput and latency by part, when it slowed down, ranks, battery; Markdown lines."""
    sessions, settings = run.record.comparison.sessions, run.record.comparison.settings
    lines = [
        "| part | artefact | inferences a second | p50 ms | p90 ms | thermal status after | battery |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for number, (session, after) in enumerate(zip(sessions, run.after, strict=True), 1):
        found = statistics.summarise(list(session.steady_ms))
        heat = "unknown" if after.thermal is None else THERMAL[after.thermal]
        battery = "unknown" if after.battery_percent is None else f"{after.battery_percent}%"
        mark = ", resumed" if number - 1 in settings["resumed_before"] else ""
        rate = 1e3 * len(session.steady_ms) / sum(session.steady_ms)
        lines.append(
            f"| {number}{mark} | {session.candidate} | {rate:.1f} | {found.p50:.2f} | {found.p90:.2f} | "
            f"{heat} | {battery} |"
        )
    names = run.record.comparison.names
    lines += ["", *(f"{name}: {_onset(run, name)}." for name in names)]
    if len(names) > 1:
        first, last = (" < ".join(_ranks(run, at)) for at in (0, -1))
        lines.append(f"Fastest first, at the start: {first}; at the end: {last}.")
    return [*lines, _drain(run), ""]


def _onset(run: PhoneRun, name: str) -> str:
    """From which of its parts on an artefact stayed slower than in its first one."""
    medians = run.record.comparison.medians(name)
    slow = medians > THROTTLED * medians[0]
    if not slow[-1]:
        return f"at the end within {THROTTLED - 1:.0%} of its first part"
    onset = max(number for number, one in enumerate(slow) if not one) + 2  # the first part is not
    end = medians[-1] / medians[0] - 1
    return f"slower by more than {THROTTLED - 1:.0%} from its part {onset} on, {end:.0%} at the end"


def _ranks(run: PhoneRun, part: int) -> list[str]:
    comparison = run.record.comparison
    return sorted(comparison.names, key=lambda name: comparison.medians(name)[part])


def _drain(run: PhoneRun) -> str:
    levels = [one.battery_percent for one in (*run.before[:1], *run.after[-1:])]
    if None in levels or run.before[0].plugged or run.after[-1].plugged:
        return "Battery: not told, or charging: no drain can be given."
    runs = sum(len(session.steady_ms) for session in run.record.comparison.sessions)
    drained = (levels[0] or 0) - (levels[1] or 0)
    return f"Battery: {drained}% for {runs:,} inferences, {1e3 * drained / runs:.3f}% for 1,000."


def _run(
    parts: list[Part], facts: PhoneFacts, bundle: Bundle, plan: Plan, each: float
) -> tuple[dict[str, Any], tuple[Session, ...], dict[str, Any]]:
    emulated = facts.emulator or facts.machine != bundle.machine
    settings = {
        "sessions": len(parts),
        "seconds": each,
        "mode": f"{plan.mode} sustained",  # no line of the history page joins it with runs of a cool phone
        "repeated_sessions": 0,
        "cores": plan.cores,
        "runner": "shell",
        "emulated": emulated,
        "sustained": True,
        "resumed_before": [number for number, part in enumerate(parts) if part.resumed],
    }
    sessions = tuple(Session.of(part.session) for part in parts)
    return passport(parts[-1].machine, facts, settings), sessions, settings


def _condition(data: dict[str, Any]) -> Condition:
    return Condition(**{**data, "governors": tuple(data["governors"])})


def _key(plan: Plan, bundle: Bundle, facts: PhoneFacts, total_s: float) -> str:
    """What must be equal for a run to go on: artefacts, device, runner and settings."""
    sums = [file_sha256(folder / "SHA256SUMS") for folder in plan.artefacts]
    settings = (plan.threads, plan.cores, plan.mode, plan.pairs, total_s)
    return hashlib.sha256(repr((sums, bundle.sha256, facts.serial, settings)).encode()).hexdigest()


class _Kept:
    """Finished parts in a file: the key, then a part a line; a line that was cut short does not count."""

    def __init__(self, out: Path, key: str) -> None:
        self.path = _parts_file(out)
        self.key = key

    def read(self) -> list[Part]:
        """The parts of a run with this key; the file of another one is begun anew."""
        parts: list[Part] = []
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            lines = []
        if lines[:1] == [self.key]:
            for line in lines[1:]:
                try:
                    parts.append(Part(**json.loads(line)))
                except ValueError:
                    break
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = [self.key, *(json.dumps(asdict(part)) for part in parts)]
        self.path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
        return parts

    def add(self, part: Part) -> None:
        """Keep one more."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(part)) + "\n")
