"""A device run for people (Markdown) and for programs (JSON), and the samples drawn."""

from pathlib import Path

from android_bench.measuring.latency_report import bench_markdown, plot, write_files
from android_bench.phone import sustained
from android_bench.phone.androidx import to_json
from android_bench.phone.condition import THERMAL, Condition
from android_bench.phone.estimate import Estimate
from android_bench.phone.phone_bench import PhoneRun

EMULATED = "**emulated: no latency claim.** The program ran, its answers are checked; its times mean nothing."


def markdown(run: PhoneRun, estimate: Estimate | None = None) -> str:
    """What was measured, on what, in which condition; an emulated run says so first."""
    phone, settings = run.phone, run.record.comparison.settings
    lines = [EMULATED, ""] if run.emulated else []
    versions = ", ".join(f"{name} {version}" for name, version in run.bundle.items())
    lines += [
        f"Device: {phone.brand} {phone.model} ({phone.device}), API {phone.sdk}, {phone.fingerprint}.",
        f"Started from a {settings['runner']}, {settings['cores']} cores; not to be compared with the app.",
        f"Runner: {versions}.",
        "",
        bench_markdown(run.record),
        *(estimate.table(run.record.comparison, _quants(run)) if estimate else ()),
        *(sustained.table(run) if settings.get("sustained") else ()),
        "| session | battery | thermal status before → after | governor |",
        "| --- | --- | --- | --- |",
    ]
    for number, (before, after) in enumerate(zip(run.before, run.after, strict=True), 1):
        name = run.record.comparison.sessions[number - 1].candidate
        lines.append(
            f"| {number} {name} | {_battery(before)} | {_heat(before)} → {_heat(after)} | "
            f"{', '.join(before.governors) or 'hidden'} |"
        )
    return "\n".join([*lines, "", f"Waited {run.cooling_s:.0f} s for the device to cool.", ""])


def _quants(run: PhoneRun) -> dict[str, str]:
    return {name: str(facts["quant"]) for name, facts in run.record.facts.items()}


def write(run: PhoneRun, stem: Path, estimate: Estimate | None = None) -> list[Path]:
    """Write stem.json, stem.md and stem.png; files that are there are replaced."""
    page = markdown(run, estimate)
    return write_files(stem, to_json(run), page, lambda path: plot(run.record, path), force=True)


def _battery(condition: Condition) -> str:
    if condition.battery_percent is None:
        return "unknown"
    heat = "" if condition.battery_celsius is None else f", {condition.battery_celsius:.1f} °C"
    return f"{condition.battery_percent}%{heat}{', plugged' if condition.plugged else ''}"


def _heat(condition: Condition) -> str:
    return "unknown" if condition.thermal is None else THERMAL[condition.thermal]
