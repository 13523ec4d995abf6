"""Interleaved latency sessions across artefact folders and runtimes.

`compare` answers "which is faster, by how much, in one run": every session is a fresh worker process, the contenders
take turns (A B B A A B B A …), all raw samples are kept in order, and the machine is watched while they run.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from android_bench import machine, statistics
from android_bench.pairs import PAIRS

Inputs = Sequence[tuple[str, str]] | Mapping[str, np.ndarray] | None

# A session is troubled when a share of one core beyond these went elsewhere (see machine.Watch) ...
LIMITS = {"others": 0.25, "steal": 0.05, "quota": 0.02}
# ... or when the processor's pulse was this much slower than the run's median.
PROBE_LIMIT = 1.15
WORKER_LIMIT_S = 600.0


class BenchError(Exception):
    """An artefact, runtime or input that cannot be measured."""

    exit_code = 2


class WorkerError(Exception):
    """A worker process failed while it measured."""

    exit_code = 1


@dataclass(frozen=True)
class Contender:
    """One thing to measure: an artefact folder on a runtime."""

    name: str
    folder: Path
    runtime: str
    threads: int
    # Another environment's interpreter, for runtimes that do not live together; the package must be installed there.
    python: str = sys.executable
    # Share of every inference burnt on top: an injected regression, to test the gate.
    slowdown: float = 0.0


@dataclass(frozen=True)
class Session:
    """One worker's record; see `android_bench.worker.session`. Times in ms, memory in MiB, samples in order."""

    contender: str
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

    @property
    def median_ms(self) -> float:
        """The session's evidence: the median steady inference."""
        return float(np.median(self.steady_ms))


@dataclass(frozen=True)
class Comparison:
    """All sessions of one interleaved run, in the order they ran."""

    run: str
    machine: dict[str, Any]
    contenders: tuple[Contender, ...]
    sessions: tuple[Session, ...]
    settings: dict[str, Any]

    def of(self, name: str) -> tuple[Session, ...]:
        """The sessions of one contender; an unknown name is a `BenchError`."""
        found = tuple(session for session in self.sessions if session.contender == name)
        if not found:
            known = ", ".join(contender.name for contender in self.contenders)
            raise BenchError(f"no contender {name!r} in this run: it has {known}")
        return found

    def medians(self, name: str) -> np.ndarray:
        """(sessions,) session medians in ms."""
        return np.array([session.median_ms for session in self.of(name)])

    def summary(self, name: str) -> dict[str, float]:
        """Latency in ms (`p50`, `p90`, `p99` of steady samples; medians of `init`, `first`) and peak memory in MiB."""
        sessions = self.of(name)
        steady = statistics.summarise(np.concatenate([session.steady_ms for session in sessions]))
        return {
            "p50_ms": steady.p50,
            "p90_ms": steady.p90,
            "p99_ms": steady.p99,
            "median_of_sessions_ms": float(np.median(self.medians(name))),
            "init_ms": float(np.median([session.init_ms for session in sessions])),
            "first_ms": float(np.median([session.first_ms for session in sessions])),
            "warmup_runs": float(np.median([len(session.warmup_ms) for session in sessions])),
            "peak_mib": max(session.peak_mib for session in sessions),
            "model_mib": max(session.peak_mib - session.base_mib for session in sessions),
            "samples": float(steady.count),
        }

    def ratio(self, base: str, candidate: str) -> float:
        """Time of candidate / time of base (Hodges–Lehmann over session medians)."""
        return float(statistics.ratio(self.medians(base), self.medians(candidate)))

    def troubles(self) -> dict[int, list[str]]:
        """Session number → why the machine did not behave while it ran; empty for a quiet run."""
        pulse = float(np.median([session.machine["probe_ms"] for session in self.sessions]))
        found = {number: trouble(session, pulse) for number, session in enumerate(self.sessions)}
        return {number: reasons for number, reasons in found.items() if reasons}

    def to_json(self) -> dict[str, Any]:
        """Plain data with every raw sample; `from_json` reads it back."""
        data = asdict(self)
        for contender in data["contenders"]:
            contender["folder"] = contender["folder"].name
            contender["python"] = Path(contender["python"]).name
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Comparison":
        """Read what `to_json` wrote; a record of another shape is a `BenchError`."""
        try:
            return cls(
                run=data["run"],
                machine=dict(data["machine"]),
                contenders=tuple(
                    Contender(**{**entry, "folder": Path(entry["folder"])}) for entry in data["contenders"]
                ),
                sessions=tuple(
                    Session(**{**entry, "warmup_ms": tuple(entry["warmup_ms"]), "steady_ms": tuple(entry["steady_ms"])})
                    for entry in data["sessions"]
                ),
                settings=dict(data["settings"]),
            )
        except (KeyError, TypeError) as error:
            raise BenchError(f"not a record of `mobilebert bench` ({error}): give its .json file") from error


def compare(
    artefact_dirs: Sequence[Path],
    sessions: int = 2,
    seconds: float = 1.0,
    threads: int = 1,
    inputs: Inputs = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Measure artefact folders in one interleaved run; with the defaults two of them take about ten seconds.

    Args:
        artefact_dirs: folders with io.json, the model file and (for text inputs) the tokenizer; a folder may come twice.
        sessions: worker processes per folder.
        seconds: steady measurement per session, after warm-up.
        threads: runtime threads.
        inputs: text pairs, or encoded arrays (N, S) by input name; default: the project's own pairs. Text is padded
            to the artefact's own sequence length.
        progress: called with (sessions done, sessions in all).

    Raises:
        BenchError: a folder that is no artefact, a runtime that is not installed, inputs that do not fit.
        WorkerError: a worker failed.
    """
    return measure(contenders(artefact_dirs, threads), sessions, seconds, inputs, progress=progress)


def contenders(artefact_dirs: Sequence[Path], threads: int = 1, runtime: str | None = None) -> list[Contender]:
    """A contender per folder, on the given runtime or the one its io.json asks for; equal names get a number."""
    names: list[str] = []
    found = []
    for folder in map(Path, artefact_dirs):
        name = folder.resolve().name
        name = name if name not in names else f"{name}#{sum(other.split('#')[0] == name for other in names) + 1}"
        names.append(name)
        found.append(Contender(name, folder, runtime or _runtime_for(read_io(folder), folder), threads))
    return found


def measure(
    contenders: Sequence[Contender],
    sessions: int,
    seconds: float,
    inputs: Inputs = None,
    retries: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Run `sessions` interleaved sessions of each contender; see `compare`.

    A session in a troubled time is thrown away and repeated after a pause, at most `retries` times: decided by the
    machine's counters, never by the latency.
    """
    if not contenders or sessions < 1 or seconds < 0:
        raise BenchError(f"nothing to measure: {len(contenders)} artefacts, {sessions} sessions of {seconds} s")
    order = statistics.interleaved(len(contenders), sessions)
    done: list[Session] = []
    repeated = 0
    with tempfile.TemporaryDirectory() as scratch:
        files = [_write_inputs(one, inputs, Path(scratch) / f"{number}.npz") for number, one in enumerate(contenders)]
        for turn, number in enumerate(order):
            record = run_session(contenders[number], files[number], seconds)
            for attempt in range(retries):
                if not trouble(record, record.machine["probe_ms"]):
                    break
                time.sleep(2.0**attempt)
                repeated += 1
                record = run_session(contenders[number], files[number], seconds)
            done.append(record)
            if progress:
                progress(turn + 1, len(order))
    settings = {"sessions": sessions, "seconds": seconds, "interleaved": True, "repeated_sessions": repeated}
    return Comparison(uuid.uuid4().hex[:12], machine.describe(), tuple(contenders), tuple(done), settings)


def run_session(contender: Contender, inputs: Path, seconds: float) -> Session:
    """One session in a fresh worker process; `inputs` is an .npz of encoded pairs. `WorkerError` if it fails."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    task = {
        **{"folder": str(contender.folder.resolve()), "runtime": contender.runtime, "threads": contender.threads},
        **{"seconds": seconds, "inputs": str(inputs), "slowdown": contender.slowdown},
    }
    # -P: a file of this folder must not shadow a module of the standard library in the worker.
    command = [contender.python, "-P", "-m", "android_bench.worker"]
    try:
        worker = subprocess.run(
            command, input=json.dumps(task), capture_output=True, text=True, timeout=WORKER_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise WorkerError(f"{contender.name}: no answer within {WORKER_LIMIT_S:.0f} s; the model hangs") from error
    if worker.returncode:
        said = worker.stderr.strip().splitlines() or ["nothing on standard error"]
        raise WorkerError(f"{contender.name} on {contender.runtime}: worker exit {worker.returncode}: {said[-1]}")
    record = json.loads(worker.stdout)
    record |= {"warmup_ms": tuple(record["warmup_ms"]), "steady_ms": tuple(record["steady_ms"])}
    return Session(contender=contender.name, started=started, **record)


def trouble(session: Session, pulse_ms: float) -> list[str]:
    """Why the machine did not behave during a session; `pulse_ms` is the machine's usual probe time."""
    facts = session.machine
    reasons = [f"{key} {facts[key]:.0%} of a core" for key, limit in LIMITS.items() if facts[key] > limit]
    if facts["thermal_events"]:
        reasons.append(f"{facts['thermal_events']:.0f} thermal events")
    if facts["probe_ms"] > PROBE_LIMIT * pulse_ms:
        reasons.append(f"processor {facts['probe_ms'] / pulse_ms - 1:.0%} slower than in the run's median session")
    if not session.converged:
        reasons.append("warm-up did not settle")
    return reasons


def read_io(folder: Path) -> dict[str, Any]:
    """io.json of an artefact folder; `BenchError` when it or the model file is missing or unreadable."""
    path = folder / "io.json"
    try:
        io = json.loads(path.read_text(encoding="utf-8"))
        model = folder / io["model_file"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchError(f"{folder} is not an artefact folder: {path.name} unreadable ({error})") from error
    if not model.is_file():
        raise BenchError(f"{folder}: io.json names {model.name}, which is not there; export again")
    return io


def encode(folder: Path, inputs: Inputs) -> dict[str, np.ndarray]:
    """Inputs of an artefact by name, int32 (N, S): text pairs tokenised and padded, or the given arrays checked."""
    io = read_io(folder)
    names, seq_len = [entry["name"] for entry in io["inputs"]], int(io["seq_len"])
    if isinstance(inputs, Mapping):
        arrays = dict(inputs)
    else:
        from matching.wordpiece import PairTokenizer

        arrays = PairTokenizer.load(folder).encode(list(inputs or PAIRS), seq_len, pad_to="seq_len")
    for name in names:
        if name not in arrays or arrays[name].ndim != 2 or arrays[name].shape[1] != seq_len:
            raise BenchError(f"{folder}: input {name!r} must be (N, {seq_len}); got {sorted(arrays)}")
    return {name: np.ascontiguousarray(arrays[name], np.int32) for name in names}


def with_slowdown(contender: Contender, share: float) -> Contender:
    """The same contender with `share` of every inference burnt on top, under a name that says so."""
    return replace(contender, name=f"{contender.name}+{share:.0%}", slowdown=share)


def _write_inputs(contender: Contender, inputs: Inputs, path: Path) -> Path:
    np.savez(path, **encode(contender.folder, inputs))  # type: ignore[arg-type]
    return path


def _runtime_for(io: Mapping[str, Any], folder: Path) -> str:
    """The runtime that is installed here for the artefact's target."""
    choices = {
        "tflite": (("litert", "ai_edge_litert"), ("tflite-runtime", "tflite_runtime")),
        "onnx": (("onnxruntime", "onnxruntime"),),
    }.get(io.get("target", ""))
    if choices is None:
        raise BenchError(f"{folder}: io.json has target {io.get('target')!r}; expected tflite or onnx")
    for name, module in choices:
        if importlib.util.find_spec(module):
            return name
    raise BenchError(f"{folder}: no runtime for {io['target']}: pip install {choices[0][1].replace('_', '-')}")
