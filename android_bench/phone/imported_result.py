"""What an app or a page wrote of its own measurement, as a record like any other.

The result names its artefact by the hash of SHA256SUMS: the folder that was packaged or served must be at
hand, for a record holds the facts of its model too.
"""

import math
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from android_bench.measuring.latency import BenchError, Comparison
from android_bench.measuring.latency_record import Record
from android_bench.measuring.rounds import Candidate, Session
from mobilebert_runtime.card import check_checksums
from mobilebert_runtime.checked import Fields, read_json
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.files import file_sha256

LONGEST_MS = 1e7
MOST_THREADS = 1024
MOST_TOKENS = 1 << 16
# Neither sees what the rest of the device does: a result tells heat, and nothing else of this.
UNSEEN = {"others": 0.0, "steal": 0.0, "quota": 0.0, "mhz": None, "probe_ms": 1.0}


def import_record(path: Path, artefact: Path, read: Callable[[Fields], Comparison], give: str) -> Record:
    """Read a result and check that it was measured with an artefact.

    Args:
        path: the JSON file.
        artefact: the folder that was measured.
        read: reads the run; raises `BenchError` or `ArtefactError` naming the field that is wrong.
        give: what to give instead of a damaged file.

    Raises:
        BenchError: it is no such result, or one of another artefact; the message names the field.
        ArtefactError: the folder is damaged.
    """
    try:
        found = Fields(read_json(path), str(path))
        run = read(found)
        claimed = found.text("checksums")
    except ArtefactError as error:
        what = str(error).removesuffix("; export the artefact again")
        raise BenchError(f"{what}; give {give}") from None
    check_checksums(artefact)
    if claimed != file_sha256(artefact / "SHA256SUMS"):
        raise BenchError(f"{path}: was measured with another artefact than {artefact}; give that folder")
    return Record.of(run)


def read_session(found: Fields, started: str, thermal: float) -> Session:
    """The samples of the one session that a result holds; without memory, which a browser does not tell."""
    record = found.object("record")
    steady = _times(record, "steady_ms")
    if not steady:
        raise record.fault("steady_ms is empty")
    return Session(
        candidate=found.text("artefact", 255),
        started=started,
        import_ms=0.0,  # an app has its classes and a page its script from the start
        init_ms=record.number("init_ms", 0, LONGEST_MS),
        first_ms=record.number("first_ms", 0, LONGEST_MS),
        warmup_ms=_times(record, "warmup_ms"),
        converged=record.take("converged", bool),
        steady_ms=steady,
        base_mib=0.0,
        peak_mib=0.0,
        runtime=record.text("runtime"),
        machine={**UNSEEN, "thermal_events": thermal},
    )


def one_run(
    found: Fields, artefact: Path, session: Session, machine: dict[str, Any], settings: dict[str, Any]
) -> Comparison:
    """The run of that session, with what every imported run says of itself."""
    told = {
        "sessions": 1,
        "seconds": round(sum(session.steady_ms) / 1e3, 3),
        "imported": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    candidate = Candidate(session.candidate, artefact, found.integer("threads", 1, MOST_THREADS))
    return Comparison(uuid.uuid4().hex[:12], machine, (candidate,), (session,), settings | told)


def _times(record: Fields, name: str) -> tuple[float, ...]:
    values = record.take(name, list)
    if not all(_is_time(value) for value in values):
        raise record.fault(f"{name} holds what is no time in ms")
    return tuple(map(float, values))


def _is_time(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0 <= value <= LONGEST_MS
