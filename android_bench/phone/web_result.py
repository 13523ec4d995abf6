"""The record of what the page of `mobilebert web` measured in a browser."""

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from android_bench.measuring.latency import Comparison
from android_bench.measuring.latency_record import Record
from android_bench.phone.imported_result import MOST_TOKENS, import_record, one_run, read_session
from mobilebert_runtime.checked import Fields, read_json
from mobilebert_runtime.errors import ArtefactError

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
    return import_record(
        path, artefact, lambda found: _run(found, artefact), "the JSON that the page saved, whole"
    )


def _run(found: Fields, artefact: Path) -> Comparison:
    after = found.object("after").data
    session = read_session(found, found.text("started"), float(after.get("pressure") in HOT))
    backend = found.text("backend")
    if backend not in BACKENDS:
        raise found.fault(f"backend {backend!r} is none of {', '.join(BACKENDS)}")
    settings = {
        "mode": f"{found.integer('seq_len', 1, MOST_TOKENS)}-token browser",
        "runner": RUNNER,
        "backend": backend,
        "cross_origin_isolated": found.take("cross_origin_isolated", bool),
        "before": dict(found.object("before").data),
        "after": dict(after),
    }
    return one_run(found, artefact, session, _machine(found.object("browser").data), settings)


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
