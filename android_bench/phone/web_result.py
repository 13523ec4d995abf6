"""What the page of `mobilebert web` measured in a browser, as a record like any other.

The page's JSON names its artefact by the hash of SHA256SUMS: the folder that the site was made of must be at
hand, for a record holds the facts of its model too.
"""

import hashlib
import re
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from android_bench.measuring.latency import BenchError, Comparison
from android_bench.measuring.latency_record import Record
from android_bench.measuring.rounds import Candidate, Session
from android_bench.phone.app_result import LONGEST_MS, MOST_THREADS, MOST_TOKENS, UNSEEN, read_times
from mobilebert_runtime.card import check_checksums
from mobilebert_runtime.checked import Fields, read_json
from mobilebert_runtime.errors import ArtefactError
from mobilebert_runtime.files import file_sha256

RUNNER = "web"
BACKENDS = ("wasm", "threads", "webgpu")
# The Compute Pressure API's states in which a browser's processor is slowed down.
HOT = ("serious", "critical")
_BROWSERS = re.compile(r"(Firefox|Edg|OPR|SamsungBrowser|HeadlessChrome|Chrome|Version)/(\d+)")
_NAMES = {"Edg": "Edge", "OPR": "Opera", "Version": "Safari", "HeadlessChrome": "headless Chrome"}


def is_web_result(path: Path) -> bool:
    """Did the page write this file? What is no JSON object is not the page's."""
    with suppress(ArtefactError):
        found = read_json(path)
        return isinstance(found, dict) and found.get("runner") == RUNNER
    return False


def import_web_result(path: Path, artefact: Path) -> Record:
    """Read the JSON of the page's Measure.

    Args:
        path: the file.
        artefact: the folder that the site was made of.

    Raises:
        BenchError: it is no such result, or one of another artefact; the message names the field.
        ArtefactError: the folder is damaged.
    """
    try:
        found = Fields(read_json(path), str(path))
        claimed = found.text("checksums")
        run = _run(found, artefact, _session(found))
    except ArtefactError as error:
        what = str(error).removesuffix("; export the artefact again")
        raise BenchError(f"{what}; give the JSON that the page saved, whole") from None
    check_checksums(artefact)
    if claimed != file_sha256(artefact / "SHA256SUMS"):
        raise BenchError(f"{path}: was measured with another artefact than {artefact}; give that folder")
    return Record.of(run)


def _session(found: Fields) -> Session:
    record = found.object("record")
    steady = read_times(record, "steady_ms")
    if not steady:
        raise record.fault("steady_ms is empty")
    hot = found.object("after").data.get("pressure") in HOT
    return Session(
        candidate=found.text("artefact", 255),
        started=found.text("started"),
        import_ms=0.0,  # the page has its script from the start
        init_ms=record.number("init_ms", 0, LONGEST_MS),
        first_ms=record.number("first_ms", 0, LONGEST_MS),
        warmup_ms=read_times(record, "warmup_ms"),
        converged=record.take("converged", bool),
        steady_ms=steady,
        base_mib=0.0,  # a browser does not tell what a worker holds
        peak_mib=0.0,
        runtime=record.text("runtime"),
        machine={**UNSEEN, "thermal_events": float(hot)},
    )


def _run(found: Fields, artefact: Path, session: Session) -> Comparison:
    backend = found.text("backend")
    if backend not in BACKENDS:
        raise found.fault(f"backend {backend!r} is none of {', '.join(BACKENDS)}")
    tokens = found.integer("seq_len", 1, MOST_TOKENS)
    settings = {
        "sessions": 1,
        "seconds": round(sum(session.steady_ms) / 1e3, 3),
        "mode": f"{tokens}-token browser",
        "runner": RUNNER,
        "backend": backend,
        "cross_origin_isolated": found.take("cross_origin_isolated", bool),
        "before": dict(found.object("before").data),
        "after": dict(found.object("after").data),
        "imported": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    candidate = Candidate(session.candidate, artefact, found.integer("threads", 1, MOST_THREADS))
    machine = _machine(found.object("browser").data)
    return Comparison(uuid.uuid4().hex[:12], machine, (candidate,), (session,), settings)


def _machine(browser: Mapping[str, Any]) -> dict[str, Any]:
    """The browser and its device in the fields of a machine; the browser's version is not part of its id."""
    agent = str(browser.get("user_agent", ""))[:300]
    name = next((found for found in _BROWSERS.findall(agent) if found[0] != "Version"), None)
    name = name or next(iter(_BROWSERS.findall(agent)), ("unknown browser", "?"))
    product = _NAMES.get(name[0], name[0])
    device = " ".join(str(browser.get(part, ""))[:60] for part in ("platform", "model")).strip()
    cores = browser.get("cores")
    memory = browser.get("memory_gib")
    seen = repr((product, device, cores, memory, browser.get("architecture")))
    return {
        "id": hashlib.sha256(seen.encode()).hexdigest()[:12],
        "cpu": f"{product} on {device or 'an unnamed device'}",
        "cores": cores if isinstance(cores, int) else 0,
        "memory_gib": memory if isinstance(memory, (int, float)) else 0,
        "architecture": str(browser.get("architecture", "not told"))[:30],
        "system": product,
        "kernel": name[1],
        "flags": ["timed by the page itself"],
        "browser": {key: value for key, value in browser.items() if isinstance(value, (str, int, float))},
    }
