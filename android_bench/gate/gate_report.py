"""Gate verdicts and self-tests as files: JSON, a Markdown page with the verdict first, a PNG."""

from pathlib import Path
from typing import Any

import numpy as np

from android_bench.gate.verdict import Timing, Verdict
from android_bench.measuring.latency_record import Record
from android_bench.measuring.latency_report import bench_markdown, made_at, plot, pyplot, table, write_files


def write_gate(record: Record, verdict: Verdict, stem: Path, *, force: bool = False) -> list[Path]:
    """Write a gate run: its verdict beside the record it judged."""
    data = {**record.to_json(), "gate": verdict.to_json()}
    page = gate_markdown(verdict) + "\n" + bench_markdown(record)
    return write_files(stem, data, page, lambda path: plot(record, path), force=force)


def write_self_test(result: dict[str, Any], stem: Path, *, force: bool = False) -> list[Path]:
    """Write what `gate.self_test` found."""
    return write_files(
        stem, result, self_test_markdown(result), lambda path: plot_self_test(result, path), force=force
    )


def gate_markdown(verdict: Verdict) -> str:
    """The verdict first, then its evidence."""
    lines = [f"# Gate: {verdict.verdict}", "", *(f"- {reason}" for reason in verdict.reasons)]
    if verdict.reasons:
        lines.append("")
    rows = [_timing_row(one) for one in (verdict.timing, verdict.first) if one]
    for fact in verdict.facts:
        change = f"{fact.candidate / fact.base - 1:+.2%}" if fact.base else ""
        rows.append(
            (fact.what, f"{fact.base:,}", f"{fact.candidate:,}", change, f"{fact.limit:.0%}", fact.verdict)
        )
    return "\n".join([*lines, *table(("", "base", "candidate", "change", "allowed", ""), rows)])


def self_test_markdown(result: dict[str, Any]) -> str:
    """Each run of the self-test: what was expected, what the gate said."""
    rows = [
        (run["title"], run["expected"], run["verdict"], run["change"], "; ".join(run["reasons"]))
        for run in result["runs"]
    ]
    settings, machine = result["settings"], result["machine"]
    how = (
        f"`{result['artefact']}` against itself, and against itself with {settings['slowdown']:.0%} of every "
        f"inference burnt on top; {settings['sessions']} + {settings['sessions']} sessions of "
        f"{settings['seconds']:g} s, {result['threads']} thread(s), {result['runtime']}. "
        f"{made_at(result['commit'], result['date'])}. "
        f"Machine {machine['id']}: {machine['cpu']}, {machine['cores']} cores."
    )
    title = f"# Gate self-test: {'as expected' if result['as_expected'] else 'NOT as expected'}"
    header = ("run", "expected", "verdict", "change", "reasons")
    return "\n".join([title, "", how, "", *table(header, rows)])


def plot_self_test(result: dict[str, Any], path: Path) -> None:
    """Session medians of each run relative to its base's median, base and candidate side by side."""
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
    for position, run in enumerate(result["runs"]):
        base, candidate = run["medians_ms"]["base"], run["medians_ms"]["candidate"]
        level = float(np.median(base))
        for shift, medians, colour in ((-0.12, base, "C0"), (0.12, candidate, "C1")):
            axis.plot(
                [position + shift] * len(medians),
                np.array(medians) / level,
                "o",
                ms=4,
                alpha=0.7,
                color=colour,
            )
    axis.set_xticks(
        range(len(result["runs"])), [f"{run['title']}\n{run['verdict']}" for run in result["runs"]]
    )
    axis.axhline(1, color="grey", lw=0.8)
    axis.set(ylabel="session median / base's median", title="base (blue) and candidate (orange)")
    figure.savefig(path, dpi=110, format="png")
    plt.close(figure)


def _timing_row(timing: Timing) -> tuple[str, ...]:
    what = f"{timing.what} in ms, {timing.sessions[0]} + {timing.sessions[1]} sessions"
    limit = f"{timing.limit:.0%}"
    return what, f"{timing.base_ms:.3f}", f"{timing.candidate_ms:.3f}", str(timing), limit, timing.verdict
