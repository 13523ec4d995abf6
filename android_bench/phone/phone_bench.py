"""Interleaved sessions of artefacts on a device, as the same `Record` that `mobilebert bench` writes here."""

import hashlib
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from android_bench.measuring import statistics
from android_bench.measuring.latency import BenchError, Comparison, name_candidates
from android_bench.measuring.latency_record import Record
from android_bench.measuring.rounds import Candidate, Session
from android_bench.measuring.sample_pairs import PAIRS
from android_bench.phone.adb import Phone, PhoneRunError
from android_bench.phone.condition import Condition, PhoneFacts, require_abi, wait_until_fit
from android_bench.phone.phone_session import Runner
from android_bench.runner.bundle import Bundle
from mobilebert_runtime.card import read_card

CORES = ("all", "fast")
MODES = ("padded", "text")


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    artefacts: tuple[Path, ...]
    sessions: int = 7
    seconds: float = 5.0
    threads: int = 4
    cores: str = "all"
    mode: str = "padded"
    pairs: tuple[tuple[str, str], ...] = PAIRS
    retries: int = 2


@dataclass(frozen=True)
class PhoneRun:
    """A record with the device it was made on and its condition around each session."""

    record: Record
    phone: PhoneFacts
    emulated: bool  # by us, or a virtual device: its latencies say nothing about a phone
    before: tuple[Condition, ...]
    after: tuple[Condition, ...]
    cooling_s: float
    total_s: float
    bundle: dict[str, str]


def bench(
    phone: Phone,
    plan: Plan,
    bundle: Bundle,
    *,
    told: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> PhoneRun:
    """Measure artefacts on a device in A B B A order, waiting before each session until it is cool.

    A session that heated the device is thrown away and repeated, at most `plan.retries` times in all; of one
    that is kept though hot, the conditions tell.

    Raises:
        BenchError, PhoneError: a plan or a device that does not fit.
        PhoneRunError, PhoneRunError: the device was lost, did not cool, or its result can't be trusted.
    """
    candidates = contenders(plan, bundle)
    facts = PhoneFacts.of(phone)
    require_abi(facts, bundle.abi)
    told(f"installing the runner on {facts.model or phone.serial}")
    runner = Runner(phone, bundle)
    order = statistics.interleaved(len(candidates), plan.sessions)
    sessions: list[Session] = []
    before: list[Condition] = []
    after: list[Condition] = []
    machine: dict[str, Any] = {}
    start, cooling, repeated = time.monotonic(), 0.0, 0
    while len(sessions) < len(order):
        candidate = candidates[order[len(sessions)]]
        fit, waited = wait_until_fit(phone, told, sleep)
        cooling += waited
        told(f"session {len(sessions) + 1} of {len(order)}: {candidate.name}")
        started = datetime.now(UTC).isoformat(timespec="seconds")
        result = runner.run(
            candidate.folder,
            plan.pairs,
            action="session",
            mode=plan.mode,
            seconds=plan.seconds,
            threads=plan.threads,
            cores=plan.cores,
        )
        now = Condition.of(phone)
        if now.thermal and repeated < plan.retries:
            repeated += 1
            continue
        sessions.append(session_of(candidate.name, started, result))
        before.append(fit)
        after.append(now)
        machine = result["device"]
    emulated = facts.emulator or facts.machine != bundle.machine
    settings = {
        "sessions": plan.sessions,
        "seconds": plan.seconds,
        "mode": plan.mode,
        "repeated_sessions": repeated,
        "cores": plan.cores,
        "runner": "shell",
        "emulated": emulated,
    }
    described = passport(machine, facts, settings)
    run = Comparison(uuid.uuid4().hex[:12], described, tuple(candidates), tuple(sessions), settings)
    return PhoneRun(
        Record.of(run),
        facts,
        emulated,
        tuple(before),
        tuple(after),
        cooling,
        time.monotonic() - start,
        bundle.versions,
    )


def match(
    phone: Phone,
    artefact: Path,
    pairs: Sequence[tuple[str, str]],
    bundle: Bundle,
    *,
    threads: int = 4,
    told: Callable[[str], None],
) -> dict[str, Any]:
    """Score pairs on a device: `scores`, `labels` and `logits`, in the order of the pairs."""
    _require_target(artefact, bundle)
    require_abi(PhoneFacts.of(phone), bundle.abi)
    told("installing the runner")
    runner = Runner(phone, bundle)
    told(f"scoring {len(pairs):,} pairs")
    result = runner.run(artefact, pairs, action="match", threads=threads, cores="all")
    if len(result["scores"]) != len(pairs):
        raise PhoneRunError(f"{phone.serial}: {len(result['scores'])} scores for {len(pairs)} pairs")
    return result


def contenders(plan: Plan, bundle: Bundle) -> list[Candidate]:
    """The artefacts of a plan, if it and the bundle fit them; else a `BenchError`."""
    for value, known, flag in ((plan.cores, CORES, "--cores"), (plan.mode, MODES, "--mode")):
        if value not in known:
            raise BenchError(f"{flag} {value!r} is none of {', '.join(known)}")
    if plan.sessions < 1 or plan.seconds < 0 or not plan.artefacts or not plan.pairs:
        raise BenchError(f"nothing to measure: {plan.sessions} sessions of {plan.seconds:g} s")
    for artefact in plan.artefacts:
        _require_target(artefact, bundle)
    return name_candidates([str(path) for path in plan.artefacts], plan.threads, pythons=())


def _require_target(artefact: Path, bundle: Bundle) -> None:
    if (target := read_card(artefact).target) != bundle.target:
        raise BenchError(
            f"{artefact}: a {target} artefact, but the bundle runs {bundle.target}; give another --bundle"
        )


def session_of(candidate: str, started: str, result: dict[str, Any]) -> Session:
    """The session that a device's result holds; a `PhoneRunError` where it does not fit."""
    record = {**result["record"], "candidate": candidate, "started": started}
    record |= {key: tuple(record[key]) for key in ("warmup_ms", "steady_ms")}
    try:
        return Session(**record)
    except TypeError as error:
        raise PhoneRunError(f"the runner's record does not fit ({error}); make the bundle again") from None


def passport(machine: dict[str, Any], facts: PhoneFacts, settings: dict[str, Any]) -> dict[str, Any]:
    """The device's description; its id tells shell from app and emulated from real: no gate mixes them."""
    stable = (machine["id"], facts.model, facts.fingerprint, settings["runner"], settings["emulated"])
    name = hashlib.sha256(repr(stable).encode()).hexdigest()[:12]
    model = f"{facts.brand} {facts.model}".strip() or machine["cpu"]
    return {**machine, "id": name, "cpu": model, "phone": asdict(facts)}
