"""Every recorded run over commits as one static page: inline SVG, no script, no request to anywhere."""

import html
import math
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from android_bench.measuring.latency import BenchError
from android_bench.measuring.latency_record import Record

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 760, 240, 56, 44, 14


@dataclass(frozen=True)
class Point:
    """One artefact in one record."""

    date: str
    commit: str
    p50_ms: float
    p90_ms: float
    troubled: bool


@dataclass(frozen=True, order=True)
class Series:
    """What must be equal for two points to be comparable: a line of the page."""

    artefact: str
    quant: str
    runtime: str
    threads: int
    mode: str
    seq_len: int
    machine: str
    cpu: str

    @property
    def title(self) -> str:
        """Heading of the line's chart."""
        thread = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        what = f"{self.artefact} · {self.quant} · {self.seq_len} tokens · {self.mode}"
        return f"{what} · {self.runtime} · {thread} · {self.cpu} ({self.machine})"


def write_history(folder: Path, out: Path, *, force: bool = False) -> Path:
    """Draw all records of a folder into one HTML file.

    Raises:
        BenchError: no record in the folder, a damaged one, or an existing page without `force`.
    """
    if out.exists() and not force:
        raise BenchError(f"{out} exists; choose another --out or give --force")
    files = sorted(folder.glob("*.json"))
    if not files:
        raise BenchError(f"{folder}: no records; `mobilebert bench ARTEFACT --out {folder}/NAME` writes one")
    page = render([_drawable(file) for file in files])
    out.parent.mkdir(parents=True, exist_ok=True)
    building = out.with_name(f".{os.getpid()}-{out.name}")
    building.write_text(page, encoding="utf-8")
    building.replace(out)
    return out


def _drawable(file: Path) -> Record:
    """A record whose every session and fact can be drawn; `BenchError` names the file of another."""
    record = Record.read(file)
    memory = record.comparison.settings.get("runner") != "web"
    faults = [fault for session in record.comparison.sessions for fault in session.faults(memory=memory)]
    try:
        if not faults:
            render([record])
            return record
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        faults = [f"{type(error).__name__}: {error}"]
    raise BenchError(f"{file}: is damaged ({faults[0]:.200}); delete it, or measure again")


def collect(records: Sequence[Record]) -> dict[Series, list[Point]]:
    """Group the artefacts of all records into comparable series, each in order of date."""
    lines: dict[Series, list[Point]] = defaultdict(list)
    for record in sorted(records, key=lambda one: one.date):
        run = record.comparison
        disturbed = {run.sessions[number].candidate for number in run.troubles()}
        for candidate in run.candidates:
            facts, summary = record.facts[candidate.name], run.summary(candidate.name)
            series = Series(
                artefact=candidate.name,
                quant=facts["quant"],
                runtime=run.of(candidate.name)[0].runtime,
                threads=candidate.threads,
                mode=run.settings["mode"],
                seq_len=facts["seq_len"],
                machine=run.machine["id"],
                cpu=run.machine["cpu"],
            )
            point = Point(
                date=record.date,
                commit=record.commit or "no commit",
                p50_ms=summary["median_of_sessions_ms"],
                p90_ms=summary["p90_ms"],
                troubled=candidate.name in disturbed,
            )
            lines[series].append(point)
    return dict(sorted(lines.items()))


def render(records: Sequence[Record]) -> str:
    """The whole page."""
    sections = [
        f"<section><h2>{html.escape(series.title)}</h2>{chart(points)}</section>"
        for series, points in collect(records).items()
    ]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Latency over commits</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 15px/1.4 system-ui, sans-serif; color: #222; }}
body {{ max-width: 800px; margin: 2em auto; padding: 0 1em; }}
h2 {{ font-size: 15px; font-weight: 600; margin: 2em 0 0.4em; }}
svg {{ width: 100%; height: auto; }} svg text {{ font-size: 11px; fill: #555; }}
.grid {{ stroke: #ddd; }} .line {{ fill: none; stroke: #1f6fb4; stroke-width: 2; }}
.dot {{ fill: #1f6fb4; }} .troubled {{ fill: #fff; stroke: #1f6fb4; stroke-width: 1.5; }}
.p90 {{ stroke: #9cc3e3; }}
</style></head><body>
<h1>Latency over commits</h1>
<p>Dots: median of session medians; the bar above: 90th percentile of all inferences; a hollow dot: the
machine was troubled in some session. The axis does not start at 0. Only runs on the same machine, runtime
and settings share a line.</p>
{"".join(sections)}
</body></html>
"""


def chart(points: Sequence[Point]) -> str:
    """One line over its runs as an SVG element; each dot's tooltip tells commit, date and figures."""
    # From 15% below the fastest: a change of 8% must be seen, so the axis does not start at 0.
    low, top = 0.85 * min(point.p50_ms for point in points), 1.05 * max(point.p90_ms for point in points)
    right, base = WIDTH - 20, HEIGHT - BOTTOM
    step = (right - LEFT - 40) / max(len(points) - 1, 1)

    def x(number: int) -> float:
        return LEFT + 20 + number * step

    def y(ms: float) -> float:
        return base - (ms - low) / (top - low) * (base - TOP)

    grid = [
        f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y(ms):.1f}" y2="{y(ms):.1f}"/>'
        f'<text x="{LEFT - 6}" y="{y(ms) + 4:.1f}" text-anchor="end">{ms:g}</text>'
        for ms in _ticks(low, top)
    ]
    path = " ".join(f"{x(number):.1f},{y(point.p50_ms):.1f}" for number, point in enumerate(points))
    marks = []
    every = -(-len(points) // 9)  # as many commit labels as fit
    for number, point in enumerate(points):
        here = f"{x(number):.1f}"
        told = f"{point.commit} · {point.date} · p50 {point.p50_ms:.2f} ms · p90 {point.p90_ms:.2f} ms"
        kind = "troubled" if point.troubled else "dot"
        median, high = f"{y(point.p50_ms):.1f}", f"{y(point.p90_ms):.1f}"
        marks.append(
            f'<line class="p90" x1="{here}" x2="{here}" y1="{median}" y2="{high}"/>'
            f'<circle class="{kind}" cx="{here}" cy="{median}" r="4">'
            f"<title>{html.escape(told)}</title></circle>"
        )
        if number % every == 0:
            label, day = html.escape(point.commit[:7]), html.escape(point.date[:10])
            marks.append(f'<text x="{here}" y="{base + 16}" text-anchor="middle">{label}</text>')
            marks.append(f'<text x="{here}" y="{base + 30}" text-anchor="middle">{day}</text>')
    unit = f'<text x="{LEFT - 6}" y="{TOP - 2}" text-anchor="end">ms</text>'
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="latency in ms over commits">'
        f'{unit}{"".join(grid)}<polyline class="line" points="{path}"/>{"".join(marks)}</svg>'
    )


def _ticks(low: float, high: float) -> list[float]:
    """Four to ten round figures (1, 2 or 5 times a power of ten apart) between two values."""
    wanted = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(wanted))
    size = next(factor * power for factor in (5, 2, 1) if factor * power <= wanted)
    return [round(number * size, 10) for number in range(math.ceil(low / size), math.floor(high / size) + 1)]
