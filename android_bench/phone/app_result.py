"""What the app's instrumentation wrote, on one's own phone or on a device farm, as a record like any other.

The app's result.json names its artefact by the hash of SHA256SUMS: the folder that was packaged must be at
hand, for a record holds the facts of its model too.
"""

import hashlib
import math
import uuid
from collections.abc import Mapping
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
# An app does not see what the rest of the phone does: its result tells heat, and nothing else of this.
UNSEEN = {"others": 0.0, "steal": 0.0, "quota": 0.0, "mhz": None, "probe_ms": 1.0}
PHONE = ("brand", "model", "device", "fingerprint", "build_id", "build_type", "codename")


def import_result(path: Path, artefact: Path) -> Record:
    """Read a result.json of `BenchInstrumentation`.

    Args:
        path: the file.
        artefact: the folder that was packaged with the app.

    Raises:
        BenchError: it is no such result, or one of another artefact; the message names the field.
        ArtefactError: the folder is damaged.
    """
    try:
        found = Fields(read_json(path), str(path))
        if found.text("runner") != "app":
            raise BenchError(
                f"{path}: the runner is {found.data['runner']!r:.60}; give the app's result.json"
            )
        claimed = found.text("checksums")
        session = _session(found)
        run = _run(found, artefact, session)
    except ArtefactError as error:
        what = str(error).removesuffix("; export the artefact again")
        raise BenchError(f"{what}; give the result.json that the app wrote, whole") from None
    check_checksums(artefact)
    if claimed != file_sha256(artefact / "SHA256SUMS"):
        raise BenchError(f"{path}: was measured with another artefact than {artefact}; give that folder")
    return Record.of(run)


def _session(found: Fields) -> Session:
    record = found.object("record")
    steady = read_times(record, "steady_ms")
    if not steady:
        raise record.fault("steady_ms is empty")
    heat = found.object("after").data.get("thermal")
    return Session(
        candidate=found.text("artefact", 255),
        started="",
        import_ms=0.0,  # an app has its classes from the start
        init_ms=record.number("init_ms", 0, LONGEST_MS),
        first_ms=record.number("first_ms", 0, LONGEST_MS),
        warmup_ms=read_times(record, "warmup_ms"),
        converged=record.take("converged", bool),
        steady_ms=steady,
        base_mib=record.number("base_mib", 0, LONGEST_MS),
        peak_mib=record.number("peak_mib", 0, LONGEST_MS),
        runtime=record.text("runtime"),
        machine={**UNSEEN, "thermal_events": float(heat) if isinstance(heat, int) else 0.0},
    )


def read_times(record: Fields, name: str) -> tuple[float, ...]:
    """A list of times in ms; an `ArtefactError` names the member that is not one."""
    values = record.take(name, list)
    if not all(_is_time(value) for value in values):
        raise record.fault(f"{name} holds what is no time in ms")
    return tuple(map(float, values))


def _is_time(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0 <= value <= LONGEST_MS


def _run(found: Fields, artefact: Path, session: Session) -> Comparison:
    phone = found.object("phone").data
    threads = found.integer("threads", 1, MOST_THREADS)
    found.integer("seq_len", 1, MOST_TOKENS)
    settings = {
        "sessions": 1,
        "seconds": round(sum(session.steady_ms) / 1e3, 3),
        "mode": "padded",
        "runner": "app",
        "emulated": _emulated(phone),
        "sustained_performance": found.take("sustained_performance", bool),
        "imported": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    machine = _machine(phone, settings["emulated"])
    candidate = Candidate(session.candidate, artefact, threads)
    return Comparison(uuid.uuid4().hex[:12], machine, (candidate,), (session,), settings)


def _machine(phone: Mapping[str, Any], emulated: object) -> dict[str, Any]:
    """The phone in the fields of a machine; its id is not that of the same phone measured from a shell."""
    said = {name: str(phone.get(name, ""))[:200] for name in PHONE}
    name = hashlib.sha256(repr((sorted(said.items()), "app", emulated)).encode()).hexdigest()[:12]
    cores = phone.get("cores")
    return {
        "id": name,
        "cpu": f"{said['brand']} {said['model']}".strip() or "unnamed phone",
        "cores": cores if isinstance(cores, int) else 0,
        "memory_gib": 0,
        "architecture": "arm64-v8a",
        "system": "Android",
        "kernel": f"API {phone.get('sdk')}",
        "flags": ["emulated: no latency claim"] if emulated else [],
        "phone": dict(phone),
    }


def _emulated(phone: Mapping[str, Any]) -> bool:
    """Google's emulators name themselves in the fingerprint or the device."""
    told = f"{phone.get('fingerprint', '')} {phone.get('device', '')} {phone.get('model', '')}".lower()
    return any(word in told for word in ("generic", "emulator", "sdk_gphone", "ranchu", "goldfish"))
