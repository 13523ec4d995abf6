"""Interleaved latency sessions across artefact folders and runtimes.

`compare` answers "which is faster, and by how much" in one run: every session is a fresh worker process, a
session of each candidate makes a round (`android_bench.measuring.rounds`), raw samples stay in order, and
the machine is watched meanwhile.
"""

import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from android_bench.measuring import machine, statistics
from android_bench.measuring.external_model import ExternalModel, describe
from android_bench.measuring.rounds import Candidate, Session, clock_probe_ms, noise_reasons, run_round
from android_bench.measuring.sample_pairs import PAIRS
from mobilebert_runtime.artefact import read_tokenizer
from mobilebert_runtime.artefact_files import read_files
from mobilebert_runtime.card import ArtefactCard
from mobilebert_runtime.errors import UserError
from mobilebert_runtime.tokenizer import PairTokenizer

# Pairs in a mix of lengths, beside one for each bucket: a pass over them takes as long as so many inferences.
MIXED = 8
Pairs = Sequence[tuple[str, str]]
Inputs = Pairs | Mapping[str, np.ndarray]
Mode = Literal["padded", "mix", "text"]
Progress = Callable[[int, int], None]


class BenchError(UserError):
    """An artefact, record or input that cannot be measured or compared."""


@dataclass(frozen=True)
class Comparison:
    """All sessions of one interleaved run, in the order they ran."""

    run: str
    machine: dict[str, Any]
    candidates: tuple[Candidate, ...]
    sessions: tuple[Session, ...]
    settings: dict[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """The candidates' names, as given."""
        return tuple(candidate.name for candidate in self.candidates)

    def of(self, name: str) -> tuple[Session, ...]:
        """The sessions of one candidate; an unknown name is a `BenchError`."""
        if name not in self.names:
            raise BenchError(f"no candidate {name!r} in this run: it has {', '.join(self.names)}")
        return tuple(session for session in self.sessions if session.candidate == name)

    def medians(self, name: str) -> np.ndarray:
        """(sessions,) session medians in ms."""
        return np.array([session.median_ms for session in self.of(name)])

    def summary(self, name: str) -> dict[str, float]:
        """Steady latency over all samples and the other phases' medians, in ms; peak memory in MiB."""
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
        """Time of candidate / time of base (Hodges–Lehmann over the rounds' pairs of session medians)."""
        return float(statistics.ratio(self.medians(base), self.medians(candidate)))

    def troubles(self) -> dict[int, list[str]]:
        """Session number → why the machine did not behave while it ran; empty for a quiet run."""
        count = len(self.candidates)
        found: dict[int, list[str]] = {}
        for start in range(0, len(self.sessions), count):
            one_round = self.sessions[start : start + count]
            usual = clock_probe_ms(one_round)
            found |= {start + turn: noise_reasons(session, usual) for turn, session in enumerate(one_round)}
        return {number: reasons for number, reasons in found.items() if reasons}

    def to_json(self) -> dict[str, Any]:
        """Plain data with every raw sample and no path of this machine; `from_json` reads it back."""
        data = asdict(self)
        for candidate in data["candidates"]:
            candidate["folder"] = candidate["folder"].name
            candidate["python"] = Path(candidate["python"]).name
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Comparison":
        """Read what `to_json` wrote; a record of another shape is a `BenchError`."""
        try:
            # "contenders" in records before 2026-11.
            entries = data["candidates"] if "candidates" in data else data["contenders"]
            candidates = [Candidate(**{**entry, "folder": Path(entry["folder"])}) for entry in entries]
            sessions = [Session.of(entry) for entry in data["sessions"]]
            return cls(
                data["run"], dict(data["machine"]), tuple(candidates), tuple(sessions), dict(data["settings"])
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BenchError(f"not a record of `mobilebert bench` ({error}); give its .json file") from error


def compare(
    artefact_dirs: Sequence[Path],
    *,
    sessions: int = 2,
    seconds: float = 1.0,
    threads: int = 1,
    inputs: Inputs = PAIRS,
    progress: Progress | None = None,
) -> Comparison:
    """Measure artefact folders in one interleaved run; with the defaults, two of them take about ten seconds.

    Args:
        artefact_dirs: folders that `mobilebert export` wrote; a folder may come twice.
        sessions: worker processes per folder.
        seconds: steady measurement per session, after warm-up.
        threads: runtime threads.
        inputs: text pairs, padded to each artefact's own sequence length, or encoded int32 (N, S) by name.
        progress: called with (sessions done, sessions in all).

    Raises:
        BenchError: nothing to measure, or inputs that do not fit.
        ArtefactError: a folder is no artefact (`mobilebert_export.pipeline.artefact_folder`).
        MeasurementError: a worker failed.
    """
    found = name_candidates(artefact_dirs, threads)
    return measure(found, sessions=sessions, seconds=seconds, inputs=inputs, progress=progress)


def name_candidates(
    artefact_dirs: Sequence[str | Path],
    threads: int = 1,
    *,
    seq_len: int | None = None,
    pythons: Sequence[str] = (),
) -> list[Candidate]:
    """A candidate per folder, named after it; a name that comes again gets a number (`int8`, `int8#2`).

    Args:
        artefact_dirs: artefact folders.
        threads: runtime threads.
        seq_len: refuse artefacts made for another sequence length.
        pythons: interpreters of other environments; each adds every folder once more (`int8@ENVIRONMENT`).
    """
    if threads < 1:
        raise BenchError(f"threads is {threads}; give at least 1")
    found: list[Candidate] = []
    for folder in map(Path, artefact_dirs):
        length = describe(folder).seq_len
        if seq_len and length != seq_len:
            raise BenchError(
                f"{folder}: made for {length} tokens, not {seq_len}; export it with --seq-len {seq_len}"
            )
        name = folder.resolve().name
        again = sum(other.name.split("#")[0] == name for other in found)
        found.append(Candidate(f"{name}#{again + 1}" if again else name, folder, threads))
    for python in pythons:
        if not shutil.which(python):
            raise BenchError(f"{python}: no such program; give the Python of an environment")
    elsewhere = [
        replace(one, name=f"{one.name}@{Path(python).absolute().parent.parent.name}", python=python)
        for python in pythons
        for one in found
    ]
    return found + elsewhere


def measure(
    candidates: Sequence[Candidate],
    *,
    sessions: int,
    seconds: float,
    inputs: Inputs = PAIRS,
    mode: str = "padded",
    retries: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Run `sessions` interleaved sessions of each candidate; see `compare`.

    Mode "padded" times the network on inputs padded to its sequence length; "mix" a pass over inputs of many
    lengths, each in the bucket that it runs in (`mixed_inputs`); "text" all of a call that starts from two
    strings. A round in a troubled time is thrown away and repeated after a pause, at most
    `retries` times: decided by the machine's counters, never by the latency.
    """
    if mode not in get_args(Mode):
        raise BenchError(f"mode {mode!r}: expected {' or '.join(get_args(Mode))}")
    if not candidates or sessions < 1 or seconds < 0 or not inputs:
        raise BenchError(
            f"nothing to measure: {len(candidates)} artefacts, {sessions} sessions of {seconds} s"
        )
    order = statistics.interleaved(len(candidates), sessions)
    done: list[Session] = []
    repeated = 0
    with tempfile.TemporaryDirectory() as scratch:
        tasks = []
        for number, candidate in enumerate(candidates):
            given = mixed_inputs([one.folder for one in candidates], inputs) if mode == "mix" else inputs
            prepared = _prepare(candidate.folder, given, mode, Path(scratch) / f"{number}.npz")
            tasks.append({"mode": mode, "inputs": prepared})
        while len(done) < len(order):
            turn = order[len(done) : len(done) + len(candidates)]
            for attempt in range(retries + 1):
                one_round = run_round([candidates[n] for n in turn], [tasks[n] for n in turn], seconds)
                usual = clock_probe_ms(one_round)
                if attempt == retries or not any(noise_reasons(session, usual) for session in one_round):
                    break
                time.sleep(2.0**attempt)
                repeated += len(turn)
            done += one_round
            if progress:
                progress(len(done), len(order))
    settings = {"sessions": sessions, "seconds": seconds, "mode": mode, "repeated_sessions": repeated}
    return Comparison(uuid.uuid4().hex[:12], machine.describe(), tuple(candidates), tuple(done), settings)


def mixed_inputs(folders: Sequence[Path], inputs: Inputs) -> list[tuple[tuple[str, str], int]]:
    """Pairs with the tokens to cut each to: what applications send, and what fills each bucket of any folder.

    Pairs of many lengths show what buckets save; a full bucket shows what each of them costs.
    """
    if isinstance(inputs, Mapping):
        raise BenchError("a mix of lengths needs text pairs; got encoded arrays")
    cards = [describe(folder) for folder in folders]
    most = min(card.seq_len for card in cards)
    lengths = {one.seq_len for card in cards if isinstance(card, ArtefactCard) for one in card.buckets}
    by_length = sorted(inputs, key=lambda pair: len(pair[0]) + len(pair[1]))
    chosen = by_length[:: -(-len(by_length) // MIXED)]
    a, b = (text.split() or [text] for text in by_length[-1])
    long = (" ".join(a * most), " ".join(b * most))
    return [(pair, most) for pair in chosen] + [
        (long, length) for length in sorted(lengths) if length <= most
    ]


def encode_mix(folder: Path, mix: Sequence[tuple[tuple[str, str], int]]) -> list[dict[str, np.ndarray]]:
    """Each input as the folder's model is fed it, (1, S) by input name, S its bucket."""
    card = describe(folder)
    if isinstance(card, ExternalModel):
        other = PairTokenizer.load(folder)
        return [
            card.feed(other.pad(other.ids([pair], min(length, card.seq_len)), card.seq_len))
            for pair, length in mix
        ]
    tokenizer, found = read_tokenizer(read_files(folder)), []
    for pair, length in mix:
        rows = tokenizer.ids([pair[0] if card.texts == 1 else pair], length)
        arrays = tokenizer.pad(rows, card.bucket(len(rows[0][0])).seq_len)
        found.append({name: arrays[name] for name in card.inputs})
    return found


def encode(folder: Path, inputs: Inputs) -> dict[str, np.ndarray]:
    """What a model is fed, (N, S) by input name: text tokenised and padded, or the given arrays checked.

    Of a pair, a network that reads one text gets the first.
    """
    card = describe(folder)
    if isinstance(inputs, Mapping):
        arrays = dict(inputs)
    else:
        texts: list[Any] = list(inputs)
        if isinstance(card, ArtefactCard):
            tokenizer = read_tokenizer(read_files(folder))
            texts = [first for first, _ in inputs] if card.texts == 1 else texts
        else:
            tokenizer = PairTokenizer.load(folder)
        arrays = tokenizer.pad(tokenizer.ids(texts, card.seq_len), card.seq_len)
        if isinstance(card, ArtefactCard):
            arrays = {name: arrays[name] for name in card.inputs}
    shapes = {name: array.shape for name, array in arrays.items()}
    if not shapes or any(len(shape) != 2 or shape[1] != card.seq_len for shape in shapes.values()):
        raise BenchError(f"{folder}: its inputs are (N, {card.seq_len}); got {shapes}")
    encoded = {name: np.ascontiguousarray(array, np.int32) for name, array in arrays.items()}
    return card.feed(encoded) if isinstance(card, ExternalModel) else encoded


def with_slowdown(candidate: Candidate, share: float) -> Candidate:
    """The same candidate with `share` of every inference burnt on top, under a name that says so."""
    return replace(candidate, name=f"{candidate.name}+{share:.0%}", slowdown=share)


def _prepare(folder: Path, inputs: Any, mode: str, path: Path) -> str | list[Any]:
    """What a worker's task carries: the text pairs themselves, or the name of a file of encoded ones."""
    if mode == "mix":
        rows = encode_mix(folder, inputs)
        np.savez(path, **{f"{n}/{name}": array for n, row in enumerate(rows) for name, array in row.items()})  # type: ignore[arg-type]
        return str(path)
    if mode == "text":
        if isinstance(inputs, Mapping):
            raise BenchError("text mode measures text pairs; got encoded arrays")
        return list(inputs)
    np.savez(path, **encode(folder, inputs))  # type: ignore[arg-type]
    return str(path)
