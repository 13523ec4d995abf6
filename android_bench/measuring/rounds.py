"""One round: a session of every candidate, their workers alive side by side and measuring in turns.

A shared machine changes its speed by tens of per cent from one second to the next. Sessions that run one
after the other see different machines; workers that take turns every quarter of a second see the same one,
and the ratio of their medians stays. Only one of them runs at a time; the others wait for a line on standard
input.
"""

import json
import math
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from android_bench.measuring.worker import MIN_STEADY
from mobilebert_runtime.errors import CheckError

# A turn is about this long (s): short beside changes of the machine's speed, long beside one inference.
TURN_S = 0.25
# A worker that does not answer a line within this time (s) is stopped.
ANSWER_LIMIT_S = 600.0

# A session is troubled when more than this share of one core went elsewhere (see machine.Watch) ...
LIMITS = {"others": 0.25, "steal": 0.05, "quota": 0.02}
# ... or when the clock probe during its turns was this much slower than during another's of its round.
PROBE_LIMIT = 1.15


class MeasurementError(CheckError):
    """A worker process failed while it measured."""


def run_program(command: Sequence[str], environment: Mapping[str, str], what: str, limit_s: float) -> str:
    """Run a program and return what it printed.

    Args:
        command: program and arguments.
        environment: of the program.
        what: it is called in messages.
        limit_s: seconds that it may take.

    Raises:
        MeasurementError: it failed or took longer; the message has its last line.
    """
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"{what} took more than {limit_s:.0f} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["nothing on standard error"]
        raise MeasurementError(f"{what} stopped with {done.returncode}: {said[-1]}")
    return done.stdout


@dataclass(frozen=True)
class Candidate:
    """One thing to measure: a folder that `measuring.external_model` can describe, in an environment."""

    name: str
    folder: Path
    threads: int = 1
    # Another environment's interpreter, with this package installed: some runtimes cannot live together.
    python: str = sys.executable
    # Share of every inference burnt on top: an injected regression, to test the gate.
    slowdown: float = 0.0


@dataclass(frozen=True)
class Session:
    """One worker's record (`measuring.worker`): times in ms, memory in MiB, samples in order."""

    candidate: str
    started: str
    import_ms: float
    init_ms: float
    first_ms: float
    warmup_ms: tuple[float, ...]
    converged: bool
    steady_ms: tuple[float, ...]
    base_mib: float
    peak_mib: float
    runtime: str
    machine: dict[str, Any]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Session":
        """From plain data; a record with other fields is a `TypeError` or `KeyError`."""
        given = {**record, **{key: tuple(record[key]) for key in ("warmup_ms", "steady_ms")}}
        if "contender" in given:  # the field's name in records before 2026-11
            given["candidate"] = given.pop("contender")
        return cls(**given)

    @property
    def median_ms(self) -> float:
        """The session's evidence: the median steady inference."""
        return float(np.median(self.steady_ms))

    @property
    def ready_ms(self) -> float:
        """From the start of loading to the first answer."""
        return self.init_ms + self.first_ms

    @property
    def model_mib(self) -> float:
        """Peak memory above what the process took before the model."""
        return self.peak_mib - self.base_mib

    def faults(self, *, memory: bool = True) -> list[str]:
        """Figures that are missing or can't be: times and memory above zero, shares from zero.

        Args:
            memory: was it measured? No browser tells it.
        """
        above = {
            "init_ms": [self.init_ms],
            "first_ms": [self.first_ms],
            "steady_ms": self.steady_ms,
            "base_mib": [self.base_mib],
            "peak_mib": [self.peak_mib],
            "probe_ms": [self.machine.get("probe_ms")],
        }
        shares = {name: [self.machine.get(name)] for name in (*LIMITS, "thermal_events")}
        if not memory:
            del above["base_mib"], above["peak_mib"]
        found = [
            f"{name} is {value!r:.40}"
            for figures, least in ((above, math.ulp(0)), (shares, 0.0))
            for name, values in figures.items()
            for value in (values or [None])
            if not (is_number(value) and least <= value)
        ]
        if memory and not found and not self.model_mib > 0:
            found.append(f"peak_mib is {self.peak_mib:g}, base_mib {self.base_mib:g}")
        return found if self.converged in (True, False) else [*found, f"converged is {self.converged!r:.40}"]


def is_number(value: Any) -> TypeGuard[float]:
    """A finite number, which true and false are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def run_round(
    candidates: Sequence[Candidate], tasks: Sequence[Mapping[str, Any]], seconds: float
) -> list[Session]:
    """One session of each candidate, in the order given; `seconds` of steady measurement each.

    Args:
        candidates: what to measure.
        tasks: of each, `mode` and `inputs` as `android_bench.measuring.worker.Measurement` reads them.
        seconds: cut into an even number of turns, taken forwards and backwards (A B B A …).

    Raises:
        MeasurementError: a worker failed or fell silent; its message is the last line it wrote.
    """
    turns = 2 * max(1, math.ceil(seconds / TURN_S / 2))
    turn = {"seconds": seconds / turns, "runs": math.ceil(MIN_STEADY / turns)}
    workers: list[_Worker] = []
    try:
        for candidate, task in zip(candidates, tasks, strict=True):
            workers.append(_Worker(candidate))
            workers[-1].ask(task)
        for number in range(turns):
            for worker in workers if number % 2 == 0 else reversed(workers):
                worker.ask(turn)
        return [worker.finish() for worker in workers]
    finally:
        for worker in workers:
            worker.stop()


def noise_reasons(session: Session, pulse_ms: float) -> list[str]:
    """Why the machine did not behave during a session; `pulse_ms` is the best probe time of its round."""
    facts = session.machine
    reasons = [
        f"{key} took {facts[key]:.0%} of a core" for key, limit in LIMITS.items() if facts[key] > limit
    ]
    if facts["thermal_events"]:
        reasons.append(f"{facts['thermal_events']:.0f} thermal events")
    if facts["probe_ms"] > PROBE_LIMIT * pulse_ms:
        reasons.append(f"processor {facts['probe_ms'] / pulse_ms - 1:.0%} slower than for the others")
    if not session.converged:
        reasons.append("warm-up did not settle")
    return reasons


def clock_probe_ms(sessions: Sequence[Session]) -> float:
    """The processor's probe time (ms) in the luckiest session of a round."""
    return float(min(session.machine["probe_ms"] for session in sessions))


class _Worker:
    """A process of `android_bench.measuring.worker`: a JSON line in, a JSON line out."""

    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (lives as long as the process)
        # -P: a file of the current folder must not shadow a module in the worker.
        self.process = subprocess.Popen(
            [candidate.python, "-P", "-m", "android_bench.measuring.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            text=True,
        )

    def ask(self, task: Mapping[str, Any]) -> Any:
        """The answer to one line; the first task also gets what the candidate says of itself."""
        candidate = self.candidate
        whole = {
            "folder": str(candidate.folder.resolve()),
            "threads": candidate.threads,
            "slowdown": candidate.slowdown,
            **task,
        }
        return self._answer(json.dumps(whole))

    def finish(self) -> Session:
        """The record, when all turns are over."""
        record = self._answer("null")
        return Session.of({"candidate": self.candidate.name, "started": self.started, **record})

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.process.kill()
        self.process.communicate()
        self.said.close()

    def _answer(self, line: str) -> Any:
        silent = threading.Timer(ANSWER_LIMIT_S, self.process.kill)
        silent.start()
        try:
            if self.process.stdin is None or self.process.stdout is None:
                raise MeasurementError(f"{self.candidate.name}: its worker has no pipes")
            with suppress(BrokenPipeError):  # it died before it read; what it said is told below
                self.process.stdin.write(line + "\n")
                self.process.stdin.flush()
            answer = self.process.stdout.readline()
        finally:
            late = not silent.is_alive()
            silent.cancel()
        if answer:
            return json.loads(answer)
        if late:
            raise MeasurementError(f"{self.candidate.name}: no answer within {ANSWER_LIMIT_S:.0f} s")
        code = self.process.wait()
        self.said.seek(0)
        said = self.said.read().strip().splitlines() or ["nothing on standard error"]
        raise MeasurementError(f"{self.candidate.name}: its worker stopped with {code}: {said[-1]}")
