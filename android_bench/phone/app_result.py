"""The record of what the app's instrumentation wrote, on one's own phone or on a device farm."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from android_bench.measuring.latency import BenchError, Comparison
from android_bench.measuring.latency_record import Record
from android_bench.phone.imported_result import LONGEST_MS, MOST_TOKENS, import_record, one_run, read_session
from mobilebert_runtime.checked import Fields

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

    def read(found: Fields) -> Comparison:
        if found.text("runner") != "app":
            raise BenchError(
                f"{path}: the runner is {found.data['runner']!r:.60}; give the app's result.json"
            )
        return _run(found, artefact)

    return import_record(path, artefact, read, "the result.json that the app wrote, whole")


def _run(found: Fields, artefact: Path) -> Comparison:
    record, heat = found.object("record"), found.object("after").data.get("thermal")
    session = replace(
        read_session(found, started="", thermal=float(heat) if isinstance(heat, int) else 0.0),
        base_mib=record.number("base_mib", 0, LONGEST_MS),
        peak_mib=record.number("peak_mib", 0, LONGEST_MS),
    )
    phone = found.object("phone").data
    found.integer("seq_len", 1, MOST_TOKENS)
    settings = {
        "mode": "padded",
        "runner": "app",
        "emulated": _emulated(phone),
        "sustained_performance": found.take("sustained_performance", bool),
    }
    return one_run(found, artefact, session, _machine(phone, settings["emulated"]), settings)


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
